package format

import (
	"fmt"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// Advice is what the administrator of a host is to do about changes that fullbore
// does not make there itself.
type Advice struct {
	Commands []string // as root or administrator, in this order, one line each, for the host's own shell: sh, PowerShell, before Windows 7 cmd
	ByHand   []string // a sentence for each change that no command makes, or that cannot be advised
}

// Advise says how the changes are made now on a host, in the system's own way of
// setting each. All of the changes are taken to be for this host, whatever name is
// in them. Names and values are checked against the catalogue, and quoted for the
// shell: most come from the host itself, which may be anybody's.
func Advise(h *host.Facts, changes []plan.Change) Advice {
	var a Advice
	if h == nil {
		return a
	}
	s := sheetOf(changes, h)
	for _, l := range s.left {
		a.ByHand = append(a.ByHand, printable.Line(fmt.Sprintf("%s = %s is not advised: %s", l.name, l.value, l.why)))
	}
	for i := range s.settings {
		one := &s.settings[i]
		command, byHand := one.now(h)
		if command != "" {
			a.Commands = append(a.Commands, command)
		}
		if byHand != "" {
			a.ByHand = append(a.ByHand, printable.Line(one.Tunable+" = "+one.To+": "+byHand))
		}
	}
	return a
}

// now is the command that sets the value, or what people are to do instead.
func (s *setting) now(h *host.Facts) (command, byHand string) {
	if h.OS == "windows" {
		return s.nowOnWindows(h)
	}
	if s.entry.Live != "" {
		return s.command(s.entry.Live, s.To), ""
	}
	if k := s.keeper(h); k.command != "" {
		return s.command(k.command, s.To), ""
	}
	return "", s.thenCounts(s.inWords(s.entry.Persist, s.To))
}

// nowOnWindows is for PowerShell, which Windows 7 and Server 2008 R2 are the first
// to come with, and before them for cmd.
func (s *setting) nowOnWindows(h *host.Facts) (command, byHand string) {
	template := s.entry.Live
	if template == "" {
		template = s.entry.Persist
	}
	if !before(h.Version, 6, 1) {
		if set := s.psRegistry(s.To); set != "" {
			return set, ""
		}
		return s.inPowerShellAs(template, s.To), ""
	}
	if why := notBatch(s); why != "" {
		return "", why
	}
	return s.inBatch(template, s.To), ""
}

// thenCounts adds to what people do when it counts.
func (s *setting) thenCounts(what string) string {
	what += "; it counts for: " + string(s.entry.Effect)
	if s.entry.Also != "" {
		what += " (" + s.entry.Also + ")"
	}
	return what
}

// RaiseUnseen is a command that raises the maximum of one of Linux's buffers
// (net.ipv4.tcp_rmem, net.ipv4.tcp_wmem) to at least so much, and never lowers it:
// for a host that does not report what it has.
func RaiseUnseen(name string, least unit.Size) string {
	return fmt.Sprintf(`sysctl -w %s="$(sysctl -n %s | awk '{print $1, $2, ($3 < %d) ? %d : $3}')"`, shellWord(name), shellWord(name), least, least)
}

// sheetOf is newSheet for changes that are all for one host.
func sheetOf(changes []plan.Change, h *host.Facts) *sheet {
	step := plan.Step{}
	for _, c := range changes {
		c.Host = h.Name
		step.Changes = append(step.Changes, c)
	}
	return newSheet(&plan.Plan{Steps: []plan.Step{step}}, h)
}
