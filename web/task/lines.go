package task

import (
	"bytes"
	"strings"

	"github.com/fullbore/fullbore/printable"
)

// Bounds of what is shown of what a task writes.
const (
	mostLines   = 40
	longestLine = 500 // columns
)

// tail keeps the last lines of a text that comes in pieces.
type tail struct {
	lines []string
	open  []byte // a line without its end yet
}

// add takes a piece.
func (t *tail) add(piece []byte) {
	for {
		line, rest, ended := bytes.Cut(piece, []byte("\n"))
		if room := 4*longestLine - len(t.open); room > 0 { // a character takes up to four bytes
			t.open = append(t.open, line[:min(len(line), room)]...)
		}
		if !ended {
			return
		}
		t.lines = append(t.lines, clean(t.open))
		t.lines = t.lines[max(0, len(t.lines)-mostLines):]
		t.open, piece = t.open[:0], rest
	}
}

// last gives them, the one without an end too.
func (t *tail) last() []string {
	all := append([]string{}, t.lines...)
	if len(t.open) > 0 {
		all = append(all, clean(t.open))
	}
	return all[max(0, len(all)-mostLines):]
}

// clean makes a line safe to show.
func clean(line []byte) string {
	return printable.Fit(strings.TrimRight(printable.Line(strings.ToValidUTF8(string(line), "\uFFFD")), " "), longestLine)
}

// Exit codes of the command line (docs/json.md).
const (
	codeDone    = 0
	codeUsage   = 2
	codeRefused = 3
	codeBelow   = 4
)

// sentence says what an exit code means, with what the command said itself.
func sentence(code int, lines []string) string {
	said := ""
	for i, line := range lines {
		text, ok := strings.CutPrefix(line, "fullbore: ")
		if !ok {
			continue
		}
		said = ": " + text
		if i+1 < len(lines) {
			if hint, ok := strings.CutPrefix(lines[i+1], "  hint: "); ok {
				said += " (" + hint + ")"
			}
		}
	}
	switch code {
	case codeDone:
		return "It has done what was asked."
	case codeUsage:
		return "It was not understood" + said + "."
	case codeRefused:
		return "It was refused" + said + "."
	case codeBelow:
		return "It has measured, but not what was asked" + said + "."
	}
	return "It failed" + said + "."
}
