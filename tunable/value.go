package tunable

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxValue bounds the length of a value in bytes. The longest there are, lists
// of congestion control algorithms, have a few dozen.
const maxValue = 256

// maxMask bounds that of a mask of processors: nine bytes for every 32 of the
// 8192 that Linux is built for at most.
const maxMask = 8192 / 32 * 9

// Normalise brings a value to one form, in which equal values are equal
// strings: single blanks between elements, none around them. The kernel
// separates what it prints by tabs.
func Normalise(value string) string { return strings.Join(strings.Fields(value), " ") }

// Check says what is wrong with a value for t. The kernel is no help there: it
// accepts triplets in any order, incomplete ones too, and out-of-range switches.
func (t *Tunable) Check(value string) error {
	if err := t.check(value); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	return nil
}

func (t *Tunable) check(value string) error {
	limit := maxValue
	if t.Kind == Mask {
		limit = maxMask
	}
	if len(value) > limit {
		return fmt.Errorf("a value of %d bytes is too long", len(value))
	}
	words := strings.Fields(value)
	switch t.Kind {
	case Word, Words:
		return t.checkWords(words, value)
	case Mask:
		return checkMask(words, value)
	case Bool:
		if len(words) != 1 || words[0] != "0" && words[0] != "1" {
			return fmt.Errorf("value %.80q is neither 0 nor 1", value)
		}
		return nil
	case Int, Triplet:
		return t.checkNumbers(words, value)
	}
	return fmt.Errorf("kind %q is unknown", t.Kind)
}

func (t *Tunable) checkNumbers(words []string, value string) error {
	want, shape := 1, "one number"
	if t.Kind == Triplet {
		want, shape = 3, "three numbers: minimum, default, maximum"
	}
	numbers, ok := parse(words)
	if !ok || len(numbers) != want {
		return fmt.Errorf("value %.80q is not %s", value, shape)
	}
	for i, n := range numbers {
		if n < t.Min || n > t.Max {
			return fmt.Errorf("%d is outside %d..%d", n, t.Min, t.Max)
		}
		if i > 0 && n < numbers[i-1] {
			return fmt.Errorf("value %q is out of order: minimum, default and maximum must not fall", value)
		}
	}
	return nil
}

func (t *Tunable) checkWords(words []string, value string) error {
	if len(words) == 0 || t.Kind == Word && len(words) > 1 {
		return fmt.Errorf("value %.80q is not a name", value)
	}
	for _, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune(nameRunes, r) }) {
			return fmt.Errorf("name %.80q has more in it than a-z, 0-9, _ and -", w)
		}
		if len(t.Choices) > 0 && !slices.Contains(t.Choices, w) {
			return fmt.Errorf("%.80q is none of %s", w, strings.Join(t.Choices, ", "))
		}
	}
	return nil
}

// nameRunes are what names of algorithms and disciplines are made of.
const nameRunes = "abcdefghijklmnopqrstuvwxyz0123456789_-"

// Raise gives the value to set when wanted is wanted and current is there. Of a
// rising tunable no element is ever lowered (see the function Raise); a switch
// or a name simply becomes what is wanted. The second result says whether that
// differs from current.
func (t *Tunable) Raise(current, wanted string) (string, bool) {
	if t.Rising {
		return Raise(current, wanted)
	}
	return Normalise(wanted), !t.Same(current, wanted)
}

// Raise gives current with each element raised to that of wanted where wanted
// is larger. No element is ever lowered, and a raised triplet is in order. The
// second result says whether there was anything to raise: not when wanted is
// nowhere larger, and not when the two are not numbers of the same shape.
func Raise(current, wanted string) (string, bool) {
	have, okHave := parse(strings.Fields(current))
	want, okWant := parse(strings.Fields(wanted))
	if !okHave || !okWant || len(have) != len(want) {
		return Normalise(current), false
	}
	raised := false
	for i := range have {
		if want[i] > have[i] {
			have[i], raised = want[i], true
		}
	}
	if !raised {
		return Normalise(current), false
	}
	words := make([]string, len(have))
	for i, n := range have {
		if i > 0 {
			have[i] = max(n, have[i-1])
		}
		words[i] = strconv.FormatInt(have[i], 10)
	}
	return strings.Join(words, " "), true
}

// Lowers reports whether setting wanted would lower an element of current.
func Lowers(current, wanted string) bool {
	have, okHave := parse(strings.Fields(current))
	want, okWant := parse(strings.Fields(wanted))
	if !okHave || !okWant || len(have) != len(want) {
		return false
	}
	for i := range have {
		if want[i] < have[i] {
			return true
		}
	}
	return false
}

// parse reads decimal numbers; false when one is not.
func parse(words []string) ([]int64, bool) {
	numbers := make([]int64, len(words))
	for i, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, false
		}
		numbers[i] = n
	}
	return numbers, len(numbers) > 0
}

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
