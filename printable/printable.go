// Package printable makes text from other hosts, programs and files safe to show,
// and fits it to a terminal.
package printable

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Line is text as one line without anything that a terminal or a settings file
// would act on: what cannot be printed becomes a blank.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// Width is how many columns of a terminal text takes: some characters take two,
// others none, escape sequences none.
func Width(text string) int { return ansi.StringWidth(text) }

// Fit cuts text to at most so many columns; 0 or less: it stays as it is.
func Fit(text string, width int) string {
	if width <= 0 {
		return text
	}
	return ansi.Truncate(text, width, "…")
}

// Sparkline draws figures as bars, a column each, the highest at full height.
func Sparkline(figures []float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	top := 0.0
	for _, f := range figures {
		top = max(top, f)
	}
	var b strings.Builder
	for _, f := range figures {
		i := 0
		if top > 0 {
			i = int(f / top * float64(len(bars)-1))
		}
		b.WriteRune(bars[max(0, min(i, len(bars)-1))])
	}
	return b.String()
}

// Wrap breaks a paragraph into lines of at most so many columns. A number stays
// with its unit. What is longer than a line gets one of its own.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range withUnits(strings.Fields(text)) {
		if line != "" && Width(line)+1+Width(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Hang breaks a paragraph into lines of at most so many columns: the first stands
// behind begin, the others below its first word. What could act on a terminal is
// made safe.
func Hang(begin, text string, width int) []string {
	lines := Wrap(Line(text), width-Width(begin))
	for i, line := range lines {
		lines[i] = strings.TrimRight(begin+line, " ")
		begin = strings.Repeat(" ", Width(begin))
	}
	return lines
}

// withUnits joins each number with the word behind it: "965 Mb/s".
func withUnits(words []string) []string {
	var joined []string
	number := false
	for _, word := range words {
		if number {
			joined[len(joined)-1] += " " + word
		} else {
			joined = append(joined, word)
		}
		number = !number && strings.Trim(word, "0123456789.,") == "" && !strings.HasSuffix(word, ",") && !strings.HasSuffix(word, ".")
	}
	return joined
}
