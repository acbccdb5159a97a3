package format

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/host"
)

// script makes the settings at once, and has them outlive a boot where a file or
// a command of the system does that.
var script = register(Format{
	Name:    "script",
	About:   "a shell script that sets, keeps, and undoes",
	General: true,
	For:     isUnix,
	Write: of(func(s *sheet) ([]File, error) {
		return []File{hashComments.program("fullbore.sh", s.script(scriptKind{
			how: []string{
				"As root: " + s.shell() + " fullbore.sh sets them and has them outlive a boot; fullbore.sh --undo puts back what is still as it set it.",
				"Sizes are only ever raised: what is larger already stays. Old values are written down in /var/lib/fullbore/script.values.",
			},
			state: "script", keeps: true,
		}))}, nil
	}),
	Undo: of(func(s *sheet) ([]File, error) {
		return []File{hashComments.program("fullbore-undo.sh", s.script(scriptKind{
			how:   []string{"As root: " + s.shell() + " fullbore-undo.sh puts back what fullbore.sh has set, where it is still so."},
			state: "script", keeps: true, undo: true,
		}))}, nil
	}),
})

func isUnix(h *host.Facts) bool {
	return slices.Contains([]string{"linux", "macos", "freebsd", "solaris", "illumos"}, h.OS)
}

func isLinux(h *host.Facts) bool { return h.OS == "linux" }

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
