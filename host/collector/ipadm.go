package collector

import "strings"

// splitColons takes a line of ipadm -c or dladm -p apart: fields have colons
// between them, and a backslash before a colon, or a backslash, of their own.
func splitColons(text string) []string {
	var fields []string
	var field strings.Builder
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			field.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == ':':
			fields = append(fields, field.String())
			field.Reset()
		default:
			field.WriteRune(r)
		}
	}
	return append(fields, field.String())
}

// parseIpadm reads "ipadm show-prop -c -o PROPERTY,CURRENT,..." (ipadm(8)): only
// the first two fields. A property without a value has none, or dashes.
func parseIpadm(from []line) []setting {
	var all []setting
	for _, l := range from {
		fields := splitColons(strings.TrimSpace(l.text))
		if len(fields) < 2 || fields[0] == "" || fields[0] == "ipadm" || fields[1] == "" || fields[1] == "--" || strings.ContainsAny(fields[0], " \t") {
			continue
		}
		// Solaris 11 writes smallest-anon-port for smallest_anon_port.
		all = append(all, setting{l.number, strings.ReplaceAll(fields[0], "-", "_"), fields[1]})
	}
	return all
}
