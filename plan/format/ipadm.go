package format

import (
	"strings"

	"github.com/fullbore/fullbore/host"
)

// ipadm is the commands that keep properties, in their order: for a terminal, or
// sh -e. The format script does the same with more care.
var _ = register(Format{
	Name:  "ipadm",
	About: "commands of ipadm and dladm",
	For:   func(h *host.Facts) bool { return h.OS == "illumos" || h.OS == "solaris" && major(h.Version) >= 11 },
	Write: of(func(s *sheet) ([]File, error) {
		s = s.split(s.notIpadm)
		w := s.commands("As root: sh ipadm.sh. It stops at the first command that fails. They count at once and after every boot.",
			"It sets what it says: where a value has been raised since the plan was made, take its line out.")
		for _, one := range s.settings {
			w.blank()
			one.about(w)
			w.line(one.command(one.entry.Persist, one.To))
		}
		s.leftOut(w)
		return []File{hashComments.program("ipadm.sh", w.String())}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		s = s.split(s.notIpadm)
		s.left = nil
		w := s.commands("As root: sh undo-ipadm.sh takes back what ipadm.sh has set, the last first. It stops at the first command that fails.")
		for i := len(s.settings) - 1; i >= 0; i-- {
			one := &s.settings[i]
			w.blank()
			standard, known := one.entry.Default(s.host.Version)
			if one.entry.Check(one.From) != nil || known && standard == one.From {
				w.comment(one.Tunable + " had the system's own value.")
				w.line(one.command(one.entry.Unset, one.To))
			} else {
				w.comment(one.Tunable + " had another value than the system's own.")
				w.line(one.command(one.entry.Persist, one.From))
			}
		}
		return []File{hashComments.program("undo-ipadm.sh", w.String())}, nil
	}),
})

func (s *sheet) commands(how ...string) *page {
	w := &page{comments: hashComments}
	w.line("#!/bin/sh")
	s.intro(w, how...)
	w.line("set -e")
	return w
}

// notIpadm says why a setting is not one of ipadm's or dladm's.
func (s *sheet) notIpadm(one *setting) string {
	k := one.keeper(s.host)
	if strings.HasPrefix(k.command, "ipadm ") || strings.HasPrefix(k.command, "dladm ") {
		return ""
	}
	return "it is no property; " + one.elsewhere()
}

// command fills a template with a value that is known when it is written.
func (s *setting) command(template, value string) string {
	return s.inShellAs(template, piece{text: value}, piece{text: onOff(value)})
}
