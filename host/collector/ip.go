package collector

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/host"
)

// link is one interface as ip(8) and ifconfig(8) show it.
type link struct {
	host.Interface
	line  int
	index int
	queue string // the length of its queue; "": not shown
	media string // what BSD's ifconfig says of the wire
	gone  bool   // BSD's "status: no carrier"
	most  int    // the largest MTU; 0: not shown
}

var ipHead = regexp.MustCompile(`^([0-9]+): ([^ :@]+)(?:@[^ :]+)?: <([^>]*)> mtu ([0-9]+)(.*)$`)

var mostMTU = regexp.MustCompile(`\bmaxmtu ([0-9]+)\b`)

// parseIP reads "ip addr show", with or without details.
func parseIP(from []line) []link {
	var all []link
	for _, l := range from {
		if m := ipHead.FindStringSubmatch(l.text); m != nil {
			one := link{line: l.number, Interface: host.Interface{Name: m[2], Up: up(m[3])}}
			one.index, _ = strconv.Atoi(m[1])
			one.MTU = mtu(m[4])
			if words := strings.Fields(m[5]); len(words) > 1 && words[len(words)-2] == "qlen" {
				one.queue = words[len(words)-1]
			}
			all = append(all, one)
			continue
		}
		if m := mostMTU.FindStringSubmatch(l.text); m != nil && len(all) > 0 {
			all[len(all)-1].most = mtu(m[1])
			continue
		}
		words := strings.Fields(l.text)
		if len(all) == 0 || len(words) < 2 || words[0] != "inet" && words[0] != "inet6" {
			continue
		}
		address := words[1]
		if len(words) > 3 && words[2] == "peer" {
			address = words[1] + "/32"
		} else if !strings.Contains(address, "/") {
			address += "/32"
		}
		all[len(all)-1].address(address)
	}
	return all
}

// up looks at an interface's flags.
func up(flags string) bool { return slices.Contains(strings.Split(flags, ","), "UP") }

// mtu reads one; an absurd one is taken for unknown.
func mtu(text string) int {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n >= maxMTU {
		return 0
	}
	return int(n)
}

// address adds one with the length of its prefix, if it is one.
func (l *link) address(cidr string) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil || p.Addr().IsUnspecified() || len(l.Addresses) >= maxInterfaces {
		return
	}
	if text := p.String(); !slices.Contains(l.Addresses, text) {
		l.Addresses = append(l.Addresses, text)
	}
}
