package collector

import "strings"

// parseNdd reads lines of a name and what ndd(1M) printed for it. ndd says on
// its standard output, too, that there is no such name: then what follows is no
// single number.
func parseNdd(from []line) []setting {
	var all []setting
	for _, l := range from {
		if words := strings.Fields(l.text); len(words) == 2 && isNumber(words[1]) {
			all = append(all, setting{l.number, words[0], words[1]})
		}
	}
	return all
}

// isNumber says whether s is a decimal number of a sensible length.
func isNumber(s string) bool {
	if s == "" || len(s) > 20 {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}
