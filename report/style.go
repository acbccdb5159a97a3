package report

import (
	"strings"
	"unicode/utf8"
)

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

// columns of a terminal as most people have it.
const columns = 80

// wrapped breaks a paragraph into lines of at most so many columns. A number
// stays with its unit. What is longer than a line gets one of its own.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range withUnits(strings.Fields(text)) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
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
