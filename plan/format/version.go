package format

import (
	"strconv"
	"strings"
)

// major gives the first number of a version, 0 if there is none.
func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}

// before reports whether a version is older than another of two numbers.
func before(version string, first, second int) bool {
	_, rest, _ := strings.Cut(version, ".")
	return major(version) < first || major(version) == first && major(rest) < second
}
