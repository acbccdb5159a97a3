package html

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// candidate is text that may hold an address: digits of it with what divides them. Which
// part of it is one is decided by parsing.
var candidate = regexp.MustCompile(`[0-9A-Fa-f:.-]{2,}`)

// hardware is an address of a network card, of six bytes or more, as systems write
// them.
var hardware = regexp.MustCompile(`[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2}){5,}`)

// see remembers what is in a text: addresses, and names where errors have them.
func (r *redaction) see(text string) {
	r.text.WriteString(strings.ToLower(text) + "\n")
	for _, found := range named.FindAllStringSubmatch(text, -1) {
		if name := strings.ToLower(strings.Trim(found[1], ".-")); strings.Trim(name, "0123456789.") != "" {
			r.remember(name)
		}
	}
	r.walk(text, func(address string) string {
		if _, known := r.addresses[address]; !known {
			r.addresses[address] = ""
			r.found = append(r.found, address)
		}
		return address
	}, nil)
}

// walk finds the addresses in a text, and replaces each, and by others what is between
// them; nil: it stays.
func (r *redaction) walk(text string, address, other func(string) string) string {
	if other == nil {
		other = func(text string) string { return text }
	}
	var out strings.Builder
	rest := 0
	for _, at := range candidate.FindAllStringIndex(text, -1) {
		for i := at[0]; i < at[1]; {
			n := addressAt(text[i:at[1]])
			switch {
			case n == 0:
				// An address begins where digits do.
				for i++; i < at[1] && hex(text[i-1]) && hex(text[i]); i++ {
				}
				continue
			case !own(text[i : i+n]):
				out.WriteString(other(text[rest:i]) + address(text[i:i+n]))
				rest = i + n
			}
			i += n
		}
	}
	return out.String() + other(text[rest:])
}

func hex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// addressAt is how long the address is that a text begins with; 0: none.
func addressAt(text string) int {
	if at := hardware.FindStringIndex(text); at != nil && at[0] == 0 {
		return at[1]
	}
	for n := min(len(text), 45); n >= 2; n-- { // the longest IPv6 address as text
		if !hex(text[n-1]) && text[n-1] != ':' || n < len(text) && hex(text[n]) && hex(text[n-1]) {
			continue
		}
		if _, err := netip.ParseAddr(text[:n]); err == nil {
			return n
		}
	}
	return 0
}

// own are addresses that every host has: they say nothing.
func own(text string) bool {
	return slices.Contains([]string{"127.0.0.1", "0.0.0.0", "::1", "::"}, text)
}

// chooseAddresses gives every address one of its kind, in which no old one is to be
// read.
func (r *redaction) chooseAddresses() {
	v4, v6, cards := 0, 0, 0
	fresh := func(next func() string) string {
		for {
			if a := next(); !r.has(a) {
				return a
			}
		}
	}
	written := map[netip.Addr]string{} // the same address may be written in several ways
	for _, address := range r.found {
		a, err := netip.ParseAddr(address)
		if err == nil && written[a.Unmap()] != "" {
			r.addresses[address] = written[a.Unmap()]
			continue
		}
		switch {
		case err != nil:
			r.addresses[address] = fresh(func() string {
				cards++
				return fmt.Sprintf("00:00:5e:00:53:%02x", cards&0xff) + strings.Repeat(":00", cards>>8)
			})
			continue
		case a.Unmap().Is4():
			r.addresses[address] = fresh(func() string { v4++; return fourth(v4) })
		default:
			r.addresses[address] = fresh(func() string { v6++; return fmt.Sprintf("2001:db8::%x", v6) })
		}
		written[a.Unmap()] = r.addresses[address]
	}
}

// has says that a part of a text is one of the old addresses.
func (r *redaction) has(text string) bool {
	for i := range text {
		for j := i + 1; j <= len(text); j++ {
			if _, old := r.addresses[text[i:j]]; old {
				return true
			}
		}
	}
	return false
}

// fourth numbers the IPv4 addresses for documentation (RFC 5737), and then those for
// benchmarks (RFC 2544).
func fourth(n int) string {
	nets := []string{"192.0.2.", "198.51.100.", "203.0.113."}
	if i := (n - 1) / 254; i < len(nets) {
		return fmt.Sprintf("%s%d", nets[i], (n-1)%254+1)
	}
	n -= 254 * len(nets)
	return fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&0xff, n&0xff)
}
