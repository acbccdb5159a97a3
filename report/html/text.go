package html

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fullbore/fullbore/printable"
)

// clean is text from elsewhere as one line of at most so many columns, without
// anything that a page or a terminal acts on.
func clean(text string, most int) string {
	if len(text) > 8*most {
		text = text[:8*most] // bounds the work
		for len(text) > 0 && !utf8.RuneStart(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
	}
	return strings.TrimSpace(printable.Fit(printable.Line(strings.ToValidUTF8(text, " ")), most))
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if first, _, _ := strings.Cut(text, " "); !strings.ContainsAny(first, "._=:/0123456789") {
		r, size := utf8.DecodeRuneInString(text)
		text = strings.ToUpper(string(r)) + text[size:]
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") {
		return text
	}
	return text + "."
}

// number writes one with two or three digits that say something, and never as a power
// of ten.
func number(v float64) string {
	digits := 0
	if abs := math.Abs(v); abs > 0 && abs < 100 {
		digits = max(0, min(6, 2-int(math.Floor(math.Log10(abs)))-1))
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// first are at most so many of a list, and how many are left out.
func first[T any](all []T, most int) (shown []T, left int) {
	if len(all) <= most {
		return all, 0
	}
	return all[:most], len(all) - most
}
