package host

import (
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// parseMask reads a mask of CPUs as sysfs shows it, hexadecimal in groups of 32
// bits ("3", "00000000,0000000f"), and gives it in the one form in which equal
// masks are equal strings: lower case, no zeros in front.
func parseMask(text string) (string, error) {
	kind := tunable.Tunable{Name: "mask of CPUs", Kind: tunable.Mask}
	if err := kind.Check(text); err != nil {
		return "", err
	}
	mask := strings.TrimLeft(strings.ToLower(strings.TrimSpace(text)), "0,")
	if mask == "" {
		mask = "0"
	}
	return mask, nil
}
