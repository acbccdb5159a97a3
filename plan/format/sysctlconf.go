package format

import (
	"strings"

	"github.com/fullbore/fullbore/host"
)

// sysctlConf is lines of /etc/sysctl.conf, and of loader.conf(5) for what is
// only read while FreeBSD boots.
var _ = register(Format{
	Name:  "sysctl.conf",
	About: "lines of sysctl.conf and loader.conf",
	For:   readsSysctlConf,
	Write: of(func(s *sheet) ([]File, error) {
		files := []File{s.lines("/etc/sysctl.conf", "sysctl.conf", "They count from the next boot on.")}
		loader := s.split(s.notInFile("/boot/loader.conf"))
		if len(loader.settings) > 0 {
			files = append(files, s.lines("/boot/loader.conf", "loader.conf", "They count from the next boot on."))
		}
		return files, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{s.undoLines("undo-sysctl-conf.sh", "sysctl.conf", "/etc/sysctl.conf", "/boot/loader.conf")}, nil
	}),
})

// readsSysctlConf reports whether the system reads /etc/sysctl.conf when it boots:
// on macOS launchd did, up to 10.9.
func readsSysctlConf(h *host.Facts) bool {
	return h.OS == "freebsd" || h.OS == "macos" && before(h.Version, 10, 10)
}

// system is lines of /etc/system, which the kernel of Solaris and illumos reads
// while it boots.
var _ = register(Format{
	Name:  "system",
	About: "lines of /etc/system",
	For:   isSunOS,
	Write: of(func(s *sheet) ([]File, error) {
		return []File{s.lines(systemFile, "etc-system", "They count from the next boot on. Keep a copy of the file: boot -a asks for another one where a line in it keeps the system from starting.")}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{s.undoLines("undo-system.sh", "system", systemFile)}, nil
	}),
})

// systemComments are those of /etc/system (system(4)).
var systemComments = &comments{mark: "*", are: func(line string) bool { return strings.HasPrefix(line, "*") }}

func isSunOS(h *host.Facts) bool { return h.OS == "solaris" || h.OS == "illumos" }

// lines are those of a file that holds others too: to be added at its end.
func (s *sheet) lines(file, name, how string) File {
	s = s.split(s.notInFile(file))
	w := &page{comments: commentsOf(file)}
	w.line(w.comments.mark, " ", beginMark)
	s.intro(w, "Add to "+file+", once: cat "+name+" >> "+file+". "+how,
		"Before, see that no value there is larger already: of two lines for one name the last counts.")
	s.writeLines(w)
	s.leftOut(w)
	w.line(w.comments.mark, " ", endMark)
	return w.comments.text(name, w.String())
}

// undoLines is a script that takes lines out of files again.
func (s *sheet) undoLines(name, state string, files ...string) File {
	s = s.split(func(one *setting) string {
		for _, file := range files {
			if one.keeper(s.host).file == file {
				return ""
			}
		}
		return "it is in none of the files"
	})
	return hashComments.program(name, s.script(scriptKind{
		how:   []string{"As root: " + s.shell() + " " + name + " takes out of the files what is between \"" + beginMark + "\" and \"" + endMark + "\", and puts back what is live and still as they set it."},
		state: state, keeps: true, undo: true, plan: true,
	}))
}
