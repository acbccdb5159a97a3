package tunable

import (
	"strconv"
	"strings"
)

// Applies reports whether t exists and has an effect in a version of its
// operating system. A version that cannot be read is taken for a current one.
func (t *Tunable) Applies(version string) bool {
	v, ok := parseVersion(version)
	if !ok {
		return t.Until == ""
	}
	if since, ok := parseVersion(t.Since); ok && older(v, since) {
		return false
	}
	if until, ok := parseVersion(t.Until); ok && !older(v, until) {
		return false
	}
	return true
}

// Default gives the value that a version comes with; false when the catalogue
// does not know. Distributions, and little memory, can make it another one.
func (t *Tunable) Default(version string) (string, bool) {
	v, ok := parseVersion(version)
	if !ok {
		return "", false
	}
	value, found := "", false
	for _, d := range t.Defaults {
		if from, ok := parseVersion(d.From); ok && !older(v, from) {
			value, found = d.Value, true
		}
	}
	return value, found
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
