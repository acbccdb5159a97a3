// Package report writes results for people: plain text that is understood at
// first reading, with a unit behind every number.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/fullbore/fullbore/printable"
)

// sheet is a report with labels in its left column, for a terminal of 80 columns.
type sheet struct {
	w     io.Writer
	style Style
}

// Columns of a terminal as most people have it, and of the labels.
const (
	columns = 80
	labels  = 11
)

// row writes text beside a label. What another host said must not act on this
// terminal.
func (s *sheet) row(label, text string) { s.marked(label, text, nil) }

// marked is a row whose text stands out.
func (s *sheet) marked(label, text string, mark func(string) string) {
	for i, line := range printable.Wrap(printable.Line(text), columns-labels) {
		if mark != nil {
			line = mark(line)
		}
		s.line(first(i, label), line)
	}
}

// entry writes one of several that stand below each other: its further lines are
// indented.
func (s *sheet) entry(label, text string) { s.indented(label, "", text) }

// text writes what belongs to the entry above.
func (s *sheet) text(text string) { s.indented("", "  ", text) }

func (s *sheet) indented(label, indent, text string) {
	for i, line := range printable.Wrap(printable.Line(text), columns-labels-len(indent)-2) {
		if i == 1 {
			indent += "  "
		}
		s.line(first(i, label), indent+line)
	}
}

// line writes one that is safe to show, as it is.
func (s *sheet) line(label, text string) {
	padded := fmt.Sprintf("%-*s", labels, label)
	fmt.Fprintln(s.w, strings.TrimRight(strings.Replace(padded, label, s.style.faint(label), 1)+text, " "))
}

func (s *sheet) gap() { fmt.Fprintln(s.w) }

// first gives the label for the first row of a group only.
func first(i int, label string) string {
	if i > 0 {
		return ""
	}
	return label
}

// Style says how text may stand out.
type Style struct {
	Terminal bool // escape sequences for bold, faint and colour are understood
}

func (s Style) bold(text string) string   { return s.mark(text, "1") }
func (s Style) faint(text string) string  { return s.mark(text, "2") }
func (s Style) green(text string) string  { return s.mark(text, "32") }
func (s Style) yellow(text string) string { return s.mark(text, "33") }

func (s Style) mark(text, code string) string {
	if !s.Terminal || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
