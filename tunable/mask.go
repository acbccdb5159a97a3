package tunable

import (
	"fmt"
	"regexp"
	"strings"
)

// mask is a set of processors as files of /sys show and take it: hexadecimal
// digits in groups of 32 bits, the last processors first (cpumask, "%*pb").
var mask = regexp.MustCompile(`^[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{8})*$`)

func checkMask(words []string, value string) error {
	if len(words) != 1 || !mask.MatchString(words[0]) {
		return fmt.Errorf("value %.80q is not a mask of CPUs: hexadecimal digits, a comma before every 8 of them, as in 3 or ff,ffffffff", value)
	}
	return nil
}

// shortMask writes a mask without what says nothing: leading zeros, which the
// kernel puts before it for every processor that there could be.
func shortMask(value string) string {
	digits := strings.TrimLeft(strings.ToLower(value), "0,")
	if digits == "" {
		return "0"
	}
	return digits
}

// Same reports whether two values of t mean the same: blanks do not count, and
// of a mask of processors neither do leading zeros.
func (t *Tunable) Same(a, b string) bool {
	a, b = Normalise(a), Normalise(b)
	if t.Kind == Mask && t.Check(a) == nil && t.Check(b) == nil {
		a, b = shortMask(a), shortMask(b)
	}
	return a == b
}
