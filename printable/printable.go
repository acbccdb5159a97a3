// Package printable makes text from other hosts, programs and files safe to show,
// and fits it to a terminal.
package printable

import (
	"strings"
	"unicode"
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
