package collector

import (
	"path"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// tuned reads "tuned-adm active": "Current active profile: network-throughput".
func tuned(r *reading, s *section) error {
	for _, l := range s.lines {
		if profile, ok := strings.CutPrefix(strings.TrimSpace(l.text), "Current active profile:"); ok {
			r.manager("tuned", "profile "+strings.TrimSpace(profile))
		}
	}
	return nil
}

// processes are the names of running programs that set tunables. TuneD without a
// profile sets none.
func processes(r *reading, s *section) error {
	for _, l := range s.lines {
		if name := strings.TrimSpace(l.text); name == "bpftune" {
			r.manager(name, "buffers and congestion control")
		}
	}
	return nil
}

// maxSets bounds how many tunables of one file are named.
const maxSets = 20

// sysctlFiles reads lines of sysctl.d(5) files and their like on BSD, each with
// its file before it: "/etc/sysctl.d/10-net.conf:net.core.rmem_max = 4194304".
// Those that set a tunable of the catalogue are its managers; a dash before the
// name means that its failure is not an error.
func sysctlFiles(r *reading, s *section) error {
	var files []string
	sets := map[string][]string{}
	for _, l := range s.lines {
		file, rest, ok := strings.Cut(l.text, ":")
		name, _, set := strings.Cut(rest, "=")
		if !ok || !set || !path.IsAbs(file) || len(file) > maxWord {
			continue
		}
		name = strings.TrimPrefix(strings.TrimSpace(name), "-")
		name = strings.ReplaceAll(name, "/", ".")
		if _, known := tunable.Lookup(r.facts.OS, name); !known {
			continue
		}
		if sets[file] == nil {
			files = append(files, file)
		}
		if !slices.Contains(sets[file], name) && len(sets[file]) < maxSets {
			sets[file] = append(sets[file], name)
		}
	}
	for _, file := range files {
		r.manager(file, strings.Join(sets[file], " "))
	}
	return nil
}
