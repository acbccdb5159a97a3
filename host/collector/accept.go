package collector

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// Bounds of what a host reports: each is far above what exists.
const (
	maxValue      = 256     // bytes of a tunable's value, as in package tunable
	maxWord       = 256     // bytes of any name
	maxName       = 512     // bytes of a tunable's name, with what it is of
	maxInterfaces = 4096    // container hosts have some hundreds
	maxTunables   = 65536   // each of some 25 of an interface
	maxManagers   = 100     //
	maxCPUs       = 1 << 16 //
	maxMemory     = 1 << 52 // bytes: 4 PiB
	maxMTU        = 1 << 31 // Windows gives its loopback 4294967295, which is taken for unknown
	maxSpeed      = 1 << 24 // Mb/s: 16 Tb/s
)

// accept gives a tunable's value as facts have it, or says what it should have
// been. It is laxer than tunable.Check, which says what fullbore would set: a
// host may well have a value out of range, or a triplet out of order, and a plan
// has to know.
func accept(t *tunable.Tunable, value string) (string, error) {
	if len(value) > maxValue {
		return "", fmt.Errorf("a value of %d bytes is too long", len(value))
	}
	value = tunable.Normalise(value)
	words := strings.Fields(value)
	switch t.Kind {
	case tunable.Bool:
		if on, ok := boolean(value); ok {
			return on, nil
		}
		return value, numeric(words, 1, "0 or 1")
	case tunable.Int:
		return value, numeric(words, 1, "one number")
	case tunable.Triplet:
		return value, numeric(words, 3, "three numbers")
	case tunable.Mask:
		value = strings.ToLower(value)
		if value == "" || strings.Trim(value, "0123456789abcdef,") != "" {
			return "", fmt.Errorf("%q is not CPUs in hexadecimal", value)
		}
		if value = strings.TrimLeft(value, "0,"); value == "" {
			value = "0"
		}
		return value, nil
	case tunable.Word, tunable.Words:
		value = strings.ToLower(value)
		if len(words) == 0 || t.Kind == tunable.Word && len(words) > 1 || strings.Trim(value, nameRunes+" ") != "" {
			return "", fmt.Errorf("%q is not a name", value)
		}
		return value, nil
	}
	return "", fmt.Errorf("kind %q is unknown", t.Kind)
}

// nameRunes are what names of algorithms, levels and disciplines are made of.
const nameRunes = "abcdefghijklmnopqrstuvwxyz0123456789_-."

func numeric(words []string, want int, shape string) error {
	ok := len(words) == want
	for _, w := range words {
		_, err := strconv.ParseInt(w, 10, 64)
		ok = ok && err == nil
	}
	if !ok {
		return fmt.Errorf("%q is not %s", strings.Join(words, " "), shape)
	}
	return nil
}

// boolean reads a switch as commands write it.
func boolean(value string) (string, bool) {
	switch strings.ToLower(value) {
	case "1", "on", "true", "yes", "enabled":
		return "1", true
	case "0", "off", "false", "no", "disabled":
		return "0", true
	}
	return "", false
}
