package collector

import (
	"errors"
	"fmt"
	"strings"
)

// What the commands of Script print: a header, then sections that each begin
// with a line of their own and hold what one command printed.
const (
	header = "fullbore facts 1 " // and the system
	marker = "=== fullbore "     // and the section's name, then what it is of
	end    = "end"               // the last section: without it something is missing
)

// maxBanner bounds the lines before the header, in which a host greets who logs
// in.
const maxBanner = 1000

// section is what one command printed.
type section struct {
	name  string
	of    string // an interface, a device
	at    int    // the line of its marker
	lines []line
}

// sections takes a host's output apart.
func sections(text string) (system string, all []section, err error) {
	rest := lines(text)
	start := -1
	for i, l := range rest[:min(len(rest), maxBanner)] {
		if strings.HasPrefix(l.text, "fullbore facts ") {
			start = i
			break
		}
	}
	if start < 0 {
		return "", nil, fmt.Errorf(`no line begins with "%sSYSTEM", as the output of the command does that fullbore facts --for SYSTEM prints, and it is no JSON of fullbore facts either`, header)
	}
	system, ok := strings.CutPrefix(rest[start].text, header)
	system = strings.TrimSpace(system)
	if !ok || system == "" || strings.ContainsAny(system, " \t") {
		return "", nil, fmt.Errorf("line %d: %.80q is not %q and a system: this fullbore does not read it", rest[start].number, rest[start].text, header)
	}
	for _, l := range rest[start+1:] {
		if mark, ok := strings.CutPrefix(l.text, marker); ok {
			name, of, _ := strings.Cut(strings.TrimSpace(mark), " ")
			if name == end {
				return system, all, nil
			}
			all = append(all, section{name: name, of: strings.TrimSpace(of), at: l.number})
			continue
		}
		if len(l.text) > maxLine {
			return "", nil, fmt.Errorf("line %d: its %d bytes are too many for what a host prints", l.number, len(l.text))
		}
		if len(all) > 0 {
			last := &all[len(all)-1]
			last.lines = append(last.lines, l)
		}
	}
	return "", nil, errors.New("the end is missing: copy all that the command prints, from " + strings.TrimSpace(header) + " to " + marker + end)
}

// first is a section's first line that is not empty, without blanks around it.
func (s *section) first() string {
	for _, l := range s.lines {
		if text := strings.TrimSpace(l.text); text != "" {
			return text
		}
	}
	return ""
}

// setting is one name with one value, as nearly all commands print them.
type setting struct {
	line        int
	name, value string
}

// pairs reads lines of a name and a value with sep between them; blanks around
// both do not count. Other lines are not settings.
func pairs(from []line, sep string) []setting {
	var all []setting
	for _, l := range from {
		name, value, ok := strings.Cut(l.text, sep)
		if name = strings.TrimSpace(name); ok && name != "" {
			all = append(all, setting{l.number, name, strings.TrimSpace(value)})
		}
	}
	return all
}

// find gives the value of the first setting of a name.
func find(all []setting, name string) (string, bool) {
	for _, s := range all {
		if s.name == name {
			return s.value, true
		}
	}
	return "", false
}
