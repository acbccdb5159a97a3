package printable

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a paragraph into lines of at most so many columns. A number stays
// with its unit. What is longer than a line gets one of its own.
func Wrap(text string, width int) []string {
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
