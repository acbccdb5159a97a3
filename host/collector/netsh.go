package collector

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/fullbore/fullbore/host"
)

// errLanguage is what to do about a netsh that answers in another language: it
// has no other form than the one for people.
var errLanguage = errors.New("netsh answers in another language than English here: run the command with English as the display language, or, from Windows 8 and Server 2012 on, the PowerShell command of fullbore facts --for windows, which understands any")

// netshGlobal are the catalogue's names for what "netsh interface tcp show
// global" and "... show heuristics" print.
var netshGlobal = map[string]string{
	"receive-side scaling state":         "rss",
	"chimney offload state":              "chimney",
	"receive window auto-tuning level":   "autotuninglevel",
	"add-on congestion control provider": "CongestionProvider",
	"ecn capability":                     "ecncapability",
	"rfc 1323 timestamps":                "timestamps",
	"timestamps":                         "timestamps",
	"receive segment coalescing state":   "rsc",
	"window scaling heuristics":          "heuristics",
}

// parseNetsh reads those two.
func parseNetsh(from []line) ([]setting, error) {
	all := pairs(from, ":")
	var known []setting
	for _, one := range all {
		if name, ok := netshGlobal[strings.ToLower(one.name)]; ok {
			known = append(known, setting{one.line, name, strings.ToLower(one.value)})
		}
	}
	if len(known) == 0 && len(all) > 1 {
		return nil, fmt.Errorf(`line %d: %.60q, want "Receive Window Auto-Tuning Level" or the like: %w`, all[0].line, all[0].name, errLanguage)
	}
	return known, nil
}

// subinterface is a row of "netsh interface ipv4 show subinterfaces": numbers,
// then the name. It is the same in all languages.
var subinterface = regexp.MustCompile(`^ *([0-9]+) +([0-9]+) +[0-9]+ +[0-9]+ +([^ ].*)$`)

func parseSubinterfaces(from []line) []link {
	var all []link
	for _, l := range from {
		if m := subinterface.FindStringSubmatch(l.text); m != nil {
			one := link{line: l.number, Interface: host.Interface{Name: strings.TrimSpace(m[3]), Up: m[2] == "1"}}
			one.MTU = mtu(m[1])
			all = append(all, one)
		}
	}
	return all
}

// adapter is an interface as "netsh interface ip show interface" shows it up
// to Windows Server 2003.
type adapter struct {
	link
	guid string
}

// parseAdapters reads it.
func parseAdapters(from []line) ([]adapter, error) {
	var all []adapter
	settings := pairs(from, ":")
	for _, s := range settings {
		if s.name == "User-friendly Name" {
			all = append(all, adapter{link: link{line: s.line, Interface: host.Interface{Name: s.value}}})
			continue
		}
		if len(all) == 0 {
			continue
		}
		last := &all[len(all)-1]
		switch s.name {
		case "GUID Name":
			last.guid = s.value
		case "MTU":
			last.MTU = mtu(s.value)
		case "Speed":
			last.Speed = int(min(sizeOf(s.value, 1)/1e6, maxSpeed))
		case "Operational Status":
			last.Up = s.value == "Operational" || s.value == "Connected"
		}
	}
	if len(all) == 0 && len(settings) > 1 {
		return nil, fmt.Errorf(`line %d: %.60q, want "User-friendly Name": %w`, settings[0].line, settings[0].name, errLanguage)
	}
	return all, nil
}
