package collector

import (
	"strconv"
	"strings"
)

// parseEtcSystem reads the settings of system(4), Solaris's /etc/system: "set
// MODULE:VARIABLE = VALUE" with numbers in any of C's forms. What stands behind
// an asterisk at the beginning of a line is a comment. A later line counts more
// than an earlier one.
func parseEtcSystem(from []line) []setting {
	var all []setting
	for _, l := range from {
		rest, ok := strings.CutPrefix(strings.TrimSpace(l.text), "set")
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		name, value, ok := strings.Cut(rest, "=")
		if !ok { // "set variable | mask", "set variable & mask"
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(value), 0, 64)
		if name = strings.TrimSpace(name); err != nil || name == "" || strings.ContainsAny(name, " \t|&") {
			continue
		}
		all = append(all, setting{l.number, name, strconv.FormatInt(n, 10)})
	}
	return all
}

// parseMdb reads what mdb(1) prints for "VARIABLE/D": the name, a colon, and the
// number, on a line of its own or behind the name once more.
func parseMdb(from []line) []setting {
	var all []setting
	for _, s := range pairs(from, ":") {
		if isNumber(s.value) {
			all = append(all, s)
		}
	}
	return all
}
