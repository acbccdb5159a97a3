package format

import (
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// keeper is where a value outlives a boot: a line of a file, or a command. With
// neither it is for people to do.
type keeper struct {
	file, line     string // line is a template
	command, unset string // templates of commands: to keep a value, and to keep none
	kept           string // template of a command that prints what is kept now; "": it cannot be told from what is live
}

// keptIn are the files that lines are kept in, by what the catalogue calls them.
// Fullbore's own drop-ins come from change sets: what a plan writes stays apart
// from them, in files of its own that come before.
var keptIn = map[string]string{
	"/etc/sysctl.d/99-zz-fullbore.conf":      sysctlFile,
	"/etc/udev/rules.d/99-zz-fullbore.rules": "/etc/udev/rules.d/90-fullbore.rules",
	"/etc/modprobe.d/fullbore.conf":          "/etc/modprobe.d/fullbore.conf",
	"/etc/tmpfiles.d/fullbore.conf":          "/etc/tmpfiles.d/fullbore.conf",
	"/etc/sysctl.conf":                       "/etc/sysctl.conf",
	"/boot/loader.conf":                      "/boot/loader.conf",
	systemFile:                               systemFile,
}

const (
	sysctlFile = "/etc/sysctl.d/90-fullbore.conf"
	systemFile = "/etc/system"
)

// keeper is where the setting's value outlives a boot, as its home in the
// catalogue says.
func (s *setting) keeper(h *host.Facts) keeper {
	home := s.entry.Home
	switch home.Kind {
	case tunable.ByCommand:
		return keeper{command: home.Command, unset: s.entry.Unset, kept: home.Kept}
	case tunable.InSysctl, tunable.InUdev, tunable.InFile:
		file := keptIn[home.File]
		if file == "" || !isSafe(s.instance) || file == "/etc/sysctl.conf" && !readsSysctlConf(h) {
			return keeper{}
		}
		return keeper{file: file, line: home.Rule()}
	}
	return keeper{}
}

// byHand says how a value is kept where no file here does it.
func (s *setting) byHand(value string) string {
	if s.entry.Persist == "" {
		return "it holds until the next boot, and there is no way to keep it"
	}
	return "to keep it: " + s.inWords(s.entry.Persist, value)
}

// commentsOf gives how the comments of a file are written that others have lines
// in too.
func commentsOf(file string) *comments {
	if file == systemFile {
		return systemComments
	}
	return hashComments
}
