package collector

import "strings"

// parseSysctl reads what sysctl(8) prints, in the form of every system: "name =
// value" on Linux and old Mac OS X, "name: value" on FreeBSD and macOS, and
// "net/ipv4/tcp_rmem:4096	131072	6291456", as grep prints files under /proc/sys
// where there is no sysctl.
func parseSysctl(from []line) []setting {
	var all []setting
	for _, l := range from {
		at := strings.IndexAny(l.text, ":=")
		if at < 0 {
			// A table, of which the first line only has the name.
			if n := len(all); n > 0 && strings.HasSuffix(all[n-1].name, ".cc.available") {
				all[n-1].value = congestionControls(all[n-1].value, l.text)
			}
			continue
		}
		name := strings.TrimSpace(l.text[:at])
		value := strings.TrimSpace(strings.TrimPrefix(l.text[at+1:], "="))
		if name == "" || name == "sysctl" || strings.ContainsAny(name, " \t") {
			continue // "sysctl: unknown oid ..." and other sentences
		}
		if strings.HasSuffix(name, ".cc.available") { // up to FreeBSD 13: "newreno, cubic"
			value = strings.ReplaceAll(value, ",", " ")
		}
		all = append(all, setting{l.number, strings.ReplaceAll(name, "/", "."), value})
	}
	return all
}

// congestionControls adds a row of FreeBSD's table of algorithms, "cubic
// *  42", to a list of their names.
func congestionControls(list, row string) string {
	words := strings.Fields(row)
	if len(words) < 2 || words[0] == "CCmod" || len(list) > maxValue {
		return list
	}
	return strings.TrimSpace(list + " " + words[0])
}
