package collector

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/host"
)

var (
	// "bge0: flags=1000843<UP,...> mtu 1500 index 2", "en0: flags=8863<...> mtu
	// 1500", "vmx0: flags=8863<...> metric 0 mtu 1500", "eth0: flags=4163<...>  mtu 1500"
	ifconfigHead = regexp.MustCompile(`^([^ \t]+): flags=[0-9a-fx]+<([^>]*)>(.*)$`)
	// "eth0      Link encap:Ethernet  HWaddr ..." of Linux's net-tools before 2.0
	netToolsHead = regexp.MustCompile(`^([^ \t]+) +Link encap:`)
	mtuWord      = regexp.MustCompile(`\b(?:mtu |MTU:)([0-9]+)`)
	inetOld      = regexp.MustCompile(`inet addr:([0-9.]+).*Mask:([0-9.]+)`)
	inet6Old     = regexp.MustCompile(`inet6 addr: ([0-9a-fA-F:]+/[0-9]+)`)
	queueWord    = regexp.MustCompile(`\btxqueuelen[: ]([0-9]+)`)
)

// parseIfconfig reads ifconfig(8) -a of Solaris, illumos, macOS, FreeBSD, and
// Linux in both of its forms. A logical interface of Solaris ("bge0:1") counts
// with the one that it is of.
func parseIfconfig(from []line) []link {
	var all []link
	at := -1
	begin := func(l line, name string) {
		name, _, _ = strings.Cut(name, ":")
		for i := range all {
			if all[i].Name == name {
				at = i
				return
			}
		}
		if at = -1; len(all) < maxInterfaces {
			all = append(all, link{line: l.number, Interface: host.Interface{Name: name}})
			at = len(all) - 1
		}
	}
	for _, l := range from {
		if m := ifconfigHead.FindStringSubmatch(l.text); m != nil {
			if begin(l, m[1]); at >= 0 {
				all[at].Up = all[at].Up || up(m[2])
			}
		} else if m := netToolsHead.FindStringSubmatch(l.text); m != nil {
			begin(l, m[1])
		} else if l.text != "" && l.text[0] != ' ' && l.text[0] != '\t' {
			continue
		}
		if at >= 0 {
			all[at].detail(l.text)
		}
	}
	return all
}

// detail reads one line about an interface.
func (l *link) detail(text string) {
	// The IPv6 part of an interface of Solaris may have an MTU of its own.
	if m := mtuWord.FindStringSubmatch(text); m != nil && l.MTU == 0 {
		l.MTU = mtu(m[1])
	}
	if m := queueWord.FindStringSubmatch(text); m != nil {
		l.queue = m[1]
	}
	if m := inetOld.FindStringSubmatch(text); m != nil {
		l.address(m[1] + "/" + strconv.Itoa(prefixLength(m[2])))
		return
	}
	if m := inet6Old.FindStringSubmatch(text); m != nil {
		l.address(m[1])
		return
	}
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
	case words[0] == "UP" && strings.Contains(text, "MTU:"):
		l.Up = true
	case words[0] == "inet" && len(words) >= 4:
		l.inet(words)
	case words[0] == "inet6" && len(words) >= 2:
		l.inet6(words)
	case words[0] == "media:":
		l.media = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "media:"))
	case words[0] == "status:":
		l.gone = strings.Contains(text, "no carrier") || strings.Contains(text, "inactive")
	}
}

// inet reads "inet 192.168.1.5 netmask ffffff00 broadcast ...", with "--> PEER"
// before the mask on a point-to-point link, and FreeBSD's "inet 192.0.2.1/24".
func (l *link) inet(words []string) {
	if strings.Contains(words[1], "/") {
		l.address(words[1])
		return
	}
	for i, w := range words[:len(words)-1] {
		if w == "netmask" {
			l.address(words[1] + "/" + strconv.Itoa(prefixLength(words[i+1])))
		}
	}
}

// inet6 reads "inet6 fe80::1%lo0 prefixlen 64 ..." and Solaris's "inet6
// fe80::1/10".
func (l *link) inet6(words []string) {
	address, _, _ := strings.Cut(words[1], "%")
	for i, w := range words[:len(words)-1] {
		if w == "prefixlen" {
			address += "/" + words[i+1]
		}
	}
	l.address(address)
}

// prefixLength counts the bits of a mask: "ffffff00", "0xffffff00",
// "255.255.255.0"; -1 if it is none.
func prefixLength(mask string) int {
	var bits uint64
	if a, err := netip.ParseAddr(mask); err == nil && a.Is4() {
		for _, b := range a.As4() {
			bits = bits<<8 | uint64(b)
		}
	} else {
		n, err := strconv.ParseUint(strings.TrimPrefix(mask, "0x"), 16, 32)
		if err != nil {
			return -1
		}
		bits = n
	}
	length := 0
	for length < 32 && bits>>(31-length)&1 == 1 {
		length++
	}
	return length
}

var mediaSpeed = regexp.MustCompile(`(?i)\b([0-9.]+)(G?)base`)

// wire reads BSD's words for the wire: "autoselect (1000baseT <full-duplex>)",
// "Ethernet autoselect (10Gbase-SR <full-duplex,rxpause>)".
func (l *link) wire() {
	if m := mediaSpeed.FindStringSubmatch(l.media); m != nil && !l.gone {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil && n > 0 && n < maxSpeed {
			if m[2] != "" {
				n *= 1000
			}
			l.Speed = int(min(n, maxSpeed))
		}
	}
	for _, duplex := range []string{"full", "half"} {
		if strings.Contains(l.media, duplex+"-duplex") {
			l.Duplex = duplex
		}
	}
	if l.media != "" {
		l.Autoneg = "off"
		if strings.Contains(l.media, "autoselect") {
			l.Autoneg = "on"
		}
	}
}
