package sysctld

import (
	"slices"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// lineEnds are what systemd takes for the end of a line.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\n\r", "\n", "\r", "\n", "\x00", "\n")

// whitespace is what systemd takes off both ends of lines, names and values.
const whitespace = " \t\n\r"

// Parse reads the text of one file as systemd-sysctl does. Lines that are not
// assignments are left out, as they are at boot.
func Parse(file, text string) Settings {
	var all Settings
	number := 0
	for line := range strings.Lines(lineEnds.Replace(text)) {
		number++
		line = strings.Trim(line, whitespace)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, isSet := strings.Cut(line, "=")
		name, dash := strings.CutPrefix(name, "-") // before a value: it may fail
		if !isSet && !dash {
			continue
		}
		key := normaliseKey(strings.Trim(name, whitespace))
		if key == "" {
			continue
		}
		all = append(all, Assignment{Key: key, File: file, Line: number, Value: tunable.Normalise(value), Negative: !isSet})
	}
	return all
}

// normaliseKey writes a name as a path. Names may have dots or slashes between
// their parts; the first one met says which, and the other one is then of a
// part's name (sysctl.d(5)).
func normaliseKey(name string) string {
	if i := strings.IndexAny(name, "/."); i >= 0 && name[i] == '.' {
		name = strings.NewReplacer("/", ".", ".", "/").Replace(name)
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "." })
	return strings.Join(parts, "/")
}
