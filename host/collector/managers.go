package collector

import (
	"maps"
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

// daemons are running programs that set tunables whatever their configuration.
var daemons = map[string]string{
	"bpftune":               "TCP's buffers, congestion control, backlogs",
	"irqbalance":            "which CPUs the interrupts of network cards go to",
	"power-profiles-daemon": "cpu.governor",
}

// processes are the names of running programs, of which Linux keeps 15 bytes
// (TASK_COMM_LEN). TuneD without a profile sets nothing.
func processes(r *reading, s *section) error {
	for _, daemon := range slices.Sorted(maps.Keys(daemons)) {
		for _, l := range s.lines {
			if name := strings.TrimSpace(l.text); name == daemon || name == daemon[:min(15, len(daemon))] {
				r.manager(daemon, daemons[daemon])
			}
		}
	}
	return nil
}

// maxSets bounds how many tunables of one file are named.
const maxSets = 6

// ownFile is what fullbore keeps its settings in. Of files in sysctl.d(5) those
// count that a boot reads after it.
const ownFile = "99-zz-fullbore.conf"

// sysctlFiles reads lines of sysctl.d(5) files and their like on BSD, each with
// its file before it: "/etc/sysctl.d/99-zzz.conf:net.core.rmem_max = 4194304".
// Those that set a tunable of the catalogue, and would win over fullbore's, are
// managers; a dash before the name means that its failure is not an error.
func sysctlFiles(r *reading, s *section) error {
	var files []string
	sets := map[string][]string{}
	for _, l := range s.lines {
		file, rest, ok := strings.Cut(l.text, ":")
		name, value, set := strings.Cut(rest, "=")
		if !ok || !set || !path.IsAbs(file) || len(file) > maxWord || !wins(file) {
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
		if len(sets[file]) < maxSets {
			sets[file] = append(sets[file], name+" = "+clean(tunable.Normalise(value)))
		}
	}
	for _, file := range files {
		r.manager(clean(file), clean(strings.Join(sets[file], ", ")))
	}
	return nil
}

// hardening are parts of the names of files that hardening roles write, and
// write again at their next run.
var hardening = []string{"harden", "devsec", "dev-sec", "stig", "cis-", "-cis", "security"}

// wins says whether a file's settings win over those that fullbore would write.
func wins(file string) bool {
	if path.Base(path.Dir(file)) != "sysctl.d" {
		return true
	}
	name := path.Base(file)
	hardens := slices.ContainsFunc(hardening, func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
	return name != ownFile && (name > ownFile || hardens)
}
