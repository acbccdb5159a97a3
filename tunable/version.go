package tunable

import (
	"strconv"
	"strings"
)

// State is what a version of an operating system makes of a tunable.
type State string

// The states.
const (
	NotYet   State = "not yet" // a later version brought it
	Present  State = "present"
	Obsolete State = "obsolete" // gone, or there to no effect
)

// In gives the state of t in a version of its operating system. A version that
// cannot be read is taken for a current one.
func (t *Tunable) In(version string) State {
	v, ok := parseVersion(version)
	if !ok {
		if t.Until != "" {
			return Obsolete
		}
		return Present
	}
	if since, ok := parseVersion(t.Since); ok && older(v, since) {
		return NotYet
	}
	if until, ok := parseVersion(t.Until); ok && !older(v, until) {
		return Obsolete
	}
	return Present
}

// Applies reports whether t exists and has an effect in a version of its
// operating system.
func (t *Tunable) Applies(version string) bool { return t.In(version) == Present }

// WhyNot says in words why t does not apply to a version; "" if it does.
func (t *Tunable) WhyNot(version string) string {
	switch t.In(version) {
	case NotYet:
		return "not there before version " + t.Since
	case Obsolete:
		return "obsolete since version " + t.Until + ": " + t.Obsolete
	}
	return ""
}

// Default gives the value that a version comes with; false when the catalogue
// does not know. Distributions, and little memory, can make it another one.
func (t *Tunable) Default(version string) (string, bool) {
	if d := t.DefaultIn(version); d != nil {
		return d.Value, true
	}
	return "", false
}

// DefaultIn is the one of t's defaults that a version comes with, nil when the
// catalogue knows of none.
func (t *Tunable) DefaultIn(version string) *Default {
	v, ok := parseVersion(version)
	if !ok {
		return nil
	}
	for i := len(t.Defaults) - 1; i >= 0; i-- {
		if from, ok := parseVersion(t.Defaults[i].From); ok && !older(v, from) {
			return &t.Defaults[i]
		}
	}
	return nil
}

// parseVersion reads the leading numbers of "6.18.44-generic".
func parseVersion(s string) ([]int, bool) {
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end >= 0 {
		s = s[:end]
	}
	var numbers []int
	for part := range strings.SplitSeq(strings.TrimRight(s, "."), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

// Older reports whether version a comes before b, as numbers: 5.15 is not older
// than 5.4. False where one of them cannot be read.
func Older(a, b string) bool {
	x, okA := parseVersion(a)
	y, okB := parseVersion(b)
	return okA && okB && older(x, y)
}

// older reports whether version a comes before b; a missing part counts as 0.
func older(a, b []int) bool {
	for i := range max(len(a), len(b)) {
		var x, y int
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return x < y
		}
	}
	return false
}
