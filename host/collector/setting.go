package collector

import "strings"

// setting is one name with one value, as nearly all commands print them.
type setting struct {
	line        int
	name, value string
}

// pairs reads lines of a name and a value with sep between them; blanks around
// both do not count. Other lines are not settings.
func pairs(from []line, sep string) []setting {
	var all []setting
	for _, l := range from {
		name, value, ok := strings.Cut(l.text, sep)
		if name = strings.TrimSpace(name); ok && name != "" {
			all = append(all, setting{l.number, name, strings.TrimSpace(value)})
		}
	}
	return all
}

// find gives the value of the first setting of a name.
func find(all []setting, name string) (string, bool) {
	for _, s := range all {
		if s.name == name {
			return s.value, true
		}
	}
	return "", false
}
