package format

import (
	"strings"

	"github.com/fullbore/fullbore/host"
)

// keeper is where a value outlives a boot: a line of a file, or a command. With
// neither it is for people to do.
type keeper struct {
	file, line     string // line is a template
	command, unset string // templates; unset may be "": the command with the old value
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

// keepers are the programs that keep what they are told.
var keepers = []string{"ipadm ", "dladm ", "sharectl ", "networksetup "}

// keeper reads the catalogue's word on what outlives a boot: a command, or a
// line "in" a file, and then maybe other ways.
func (s *setting) keeper(h *host.Facts) keeper {
	persist := s.entry.Persist
	for _, program := range keepers {
		if !strings.HasPrefix(persist, program) {
			continue
		}
		k := keeper{command: persist}
		if strings.HasPrefix(s.entry.Unset, program) {
			k.unset = s.entry.Unset
		}
		if program == "ipadm " {
			k.kept = strings.Replace(s.entry.Read, "-o CURRENT", "-o PERSISTENT", 1)
		}
		return k
	}
	line, file := splitFile(persist)
	file = keptIn[file]
	if file == "" || !isSafe(s.instance) || file == "/etc/sysctl.conf" && !readsSysctlConf(h) {
		return keeper{}
	}
	return keeper{file: file, line: line}
}

// splitFile parts "LINE in /etc/FILE; or OTHERWISE".
func splitFile(persist string) (line, file string) {
	for _, dir := range []string{" in /etc/", " in /boot/"} {
		if line, rest, ok := strings.Cut(persist, dir); ok {
			rest, _, _ = strings.Cut(rest, " ")
			return line, strings.TrimPrefix(dir, " in ") + strings.TrimRight(rest, ",;:")
		}
	}
	return "", ""
}

// byHand says how a value is kept where no file here does it.
func (s *setting) byHand(value string) string {
	if s.entry.Persist == "" {
		return "it holds until the next boot, and there is no way to keep it"
	}
	return "to keep it: " + s.plainly(s.entry.Persist, value)
}

// marks gives what a comment of a file begins with.
func marks(file string) string {
	if file == systemFile {
		return "*"
	}
	return "#"
}
