package collector

import (
	"path"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// mount is one of NFS in /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	line    int
	at      string            // where
	device  string            // "0:52", as in /sys/class/bdi
	options map[string]string // of the file system
}

// parseMounts reads lines of mountinfo whose file system is nfs or nfs4.
func parseMounts(from []line) []mount {
	var all []mount
	for _, l := range from {
		before, after, ok := strings.Cut(l.text, " - ")
		words, rest := strings.Fields(before), strings.Fields(after)
		if !ok || len(words) < 6 || len(rest) < 3 || rest[0] != "nfs" && rest[0] != "nfs4" {
			continue
		}
		one := mount{line: l.number, at: unescape(words[4]), device: words[2], options: map[string]string{}}
		for option := range strings.SplitSeq(rest[2], ",") {
			name, value, _ := strings.Cut(option, "=")
			one.options[name] = value
		}
		all = append(all, one)
	}
	return all
}

// unescape reads mountinfo's \040 for a blank.
func unescape(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

func linuxMounts(r *reading, s *section) error {
	for _, m := range parseMounts(s.lines) {
		for _, name := range []string{"rsize", "wsize", "nconnect", "max_connect"} {
			value, there := m.options[name]
			if !there && (name == "nconnect" || name == "max_connect") {
				value, there = "1", true // the kernel tells only of more
			}
			if there {
				r.set(m.line, tunable.Join("nfs."+name, m.at), value)
			}
		}
		if r.mounts == nil {
			r.mounts = map[string]string{}
		}
		if len(r.mounts) < maxInterfaces {
			r.mounts[m.device] = m.at
		}
	}
	return nil
}

// linuxReadAhead reads "/sys/class/bdi/0:52/read_ahead_kb:128" of what is
// mounted.
func linuxReadAhead(r *reading, s *section) error {
	for _, l := range s.lines {
		at := strings.LastIndex(l.text, ":")
		if at < 0 || path.Base(l.text[:at]) != "read_ahead_kb" {
			continue
		}
		if where, ok := r.mounts[path.Base(path.Dir(l.text[:at]))]; ok {
			r.set(l.number, tunable.Join("nfs.read_ahead_kb", where), l.text[at+1:])
		}
	}
	return nil
}
