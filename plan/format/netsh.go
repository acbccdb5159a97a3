package format

import (
	"strings"

	"github.com/fullbore/fullbore/host"
)

// netsh is a batch file of netsh and reg, for every Windows from 2000 on. (On
// 2000, reg comes with the Support Tools.)
var _ = register(Format{
	Name:  "netsh",
	About: "a batch file of netsh and reg",
	For:   func(h *host.Facts) bool { return h.OS == "windows" },
	Write: of(func(s *sheet) ([]File, error) {
		s = s.split(notBatch)
		w := s.batch("As administrator: fullbore.cmd. It stops at the first command that fails. What it sets outlives a boot.",
			"It sets what it says: where a value has been raised since the plan was made, take its line out.")
		for _, one := range s.settings {
			w.blank()
			one.aboutNamed(w)
			w.line(one.inBatch(one.entry.Persist, one.To), " || goto failed")
			if one.entry.Live != "" && one.entry.Live != one.entry.Persist {
				w.line(one.inBatch(one.entry.Live, one.To), " || goto failed")
			}
		}
		return []File{s.endBatch(w, "fullbore.cmd")}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		s = s.split(notBatch)
		s.left = nil
		w := s.batch("As administrator: fullbore-undo.cmd takes back what fullbore.cmd has set, the last first. It stops at the first command that fails.")
		for i := len(s.settings) - 1; i >= 0; i-- {
			one := &s.settings[i]
			w.blank()
			standard, known := one.entry.Default(s.host.Version)
			_, _, registry := one.registry()
			switch {
			case one.entry.Check(one.From) != nil || registry && known && standard == one.From:
				w.comment(one.Tunable + " had the system's own value.")
				w.line(one.inBatch(one.entry.Unset, one.To), " || goto failed")
			default:
				w.line(one.inBatch(one.entry.Persist, one.From), " || goto failed")
				if one.entry.Live != "" && one.entry.Live != one.entry.Persist {
					w.line(one.inBatch(one.entry.Live, one.From), " || goto failed")
				}
			}
		}
		return []File{s.endBatch(w, "fullbore-undo.cmd")}, nil
	}),
})

// batch begins a batch file.
func (s *sheet) batch(how ...string) *page {
	w := &page{comments: batchComments}
	w.line("@echo off")
	s.intro(w, how...)
	return w
}

func (s *sheet) endBatch(w *page, name string) File {
	s.leftOut(w)
	w.blank()
	w.line("exit /b 0")
	w.blank()
	w.line(":failed")
	w.line("echo The command before failed: see what it says. Settings need an administrator. 1>&2")
	w.line("exit /b 1")
	return batchComments.program(name, strings.ReplaceAll(w.String(), "\n", "\r\n"))
}

// notBatch says why a setting cannot be a line of a batch file.
func notBatch(s *setting) string {
	if strings.ContainsFunc(s.instance, func(r rune) bool { return !needsNoQuotes(r) && !strings.ContainsRune(" {}#", r) }) {
		return "a batch file has no safe way to write its name; PowerShell has"
	}
	for _, command := range []string{s.entry.Persist, s.entry.Unset} {
		if strings.Contains(s.instance, " ") && !strings.Contains(command, `"{instance}"`) {
			return "a batch file has no safe way to write its name; PowerShell has"
		}
		if !strings.HasPrefix(command, "netsh ") && !strings.HasPrefix(command, "reg ") {
			return "neither netsh nor reg sets it; " + s.elsewhere()
		}
	}
	return ""
}

// batchComments are remarks, in which the command processor acts on some signs.
var batchComments = &comments{mark: "rem", clean: inBatch, are: func(line string) bool {
	return (line == "rem" || strings.HasPrefix(line, "rem ")) && !strings.ContainsAny(line, batchSigns)
}}

// batchSigns are what the command processor acts on even in remarks.
const batchSigns = "%!^&|<>\""

// inBatch takes out of a remark what the command processor acts on even there.
func inBatch(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(batchSigns, r):
			return '\''
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, text)
}

// inBatch fills a template. What could need quotes has them in the catalogue, or
// is refused before.
func (s *setting) inBatch(template, value string) string {
	return s.inWords(template, value)
}
