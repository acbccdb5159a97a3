package collector

import (
	"regexp"
	"strconv"
	"strings"
)

// entry is one value in Windows's registry.
type entry struct {
	line      int
	key, name string
	kind      string // "REG_DWORD"
	data      string // of a REG_DWORD in decimal
}

var (
	// "    TcpWindowSize    REG_DWORD    0xfaf0"; with tabs up to Server 2003,
	// and with other blanks where somebody copied it from a page
	regValue = regexp.MustCompile(`^[ \t]+([^ \t].*?)[ \t]+(REG_[A-Z_]+)(?:[ \t]+(.*))?$`)
	// "TcpWindowSize"=dword:0000faf0
	regeditValue = regexp.MustCompile(`^"([^"]+)"=dword:([0-9a-fA-F]{8})$`)
)

// parseRegistry reads "reg query", and what "regedit /e" wrote.
func parseRegistry(from []line) []entry {
	var all []entry
	key := ""
	for _, l := range from {
		text := strings.TrimRight(l.text, " \t")
		if strings.HasPrefix(text, "HKEY_") {
			key = text
			continue
		}
		if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasPrefix(inner, "HKEY_") {
			key = strings.TrimSuffix(inner, "]")
			continue
		}
		if m := regeditValue.FindStringSubmatch(text); m != nil {
			all = dword(all, entry{l.number, key, m[1], "REG_DWORD", "0x" + m[2]})
		} else if m := regValue.FindStringSubmatch(text); m != nil {
			one := entry{l.number, key, strings.TrimSpace(m[1]), m[2], strings.TrimSpace(m[3])}
			if one.kind == "REG_DWORD" {
				all = dword(all, one)
			} else {
				all = append(all, one)
			}
		}
	}
	return all
}

// dword adds a number, if it is one.
func dword(all []entry, one entry) []entry {
	n, err := strconv.ParseUint(one.data, 0, 32)
	if err != nil {
		return all
	}
	one.data = strconv.FormatUint(n, 10)
	return append(all, one)
}

// Keys of the registry, in small letters, from SYSTEM on.
const (
	keyTcpip      = `\services\tcpip\parameters`
	keyInterfaces = `\services\tcpip\parameters\interfaces\`
	keyAFD        = `\services\afd\parameters`
)
