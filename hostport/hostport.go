// Package hostport reads how people name a far end: a host, and a port if it is
// not the usual one.
package hostport

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Parse reads "host", "host:port", "192.0.2.1:5201", "2001:db8::1",
// "[2001:db8::1]:5201" and "fe80::1%eth0". usual is the port of a target that has
// none. An error quotes the target, and says what is wrong and what to write.
func Parse(target string, usual uint16) (host string, port uint16, err error) {
	bad := func(why string) error {
		return fmt.Errorf("%q: %s; use host, host:port, or [address]:port for IPv6", target, why)
	}
	if target == "" {
		return "", 0, bad("no host was given")
	}
	bare := target
	if strings.HasPrefix(target, "[") && strings.HasSuffix(target, "]") {
		bare = target[1 : len(target)-1]
	}
	if address, err := netip.ParseAddr(bare); err == nil {
		return address.String(), usual, nil
	}
	if !strings.Contains(target, ":") {
		return target, usual, nil
	}
	host, service, err := net.SplitHostPort(target)
	if err != nil {
		return "", 0, bad("it is neither an address nor host:port")
	}
	number, err := strconv.ParseUint(service, 10, 16)
	if err != nil || number == 0 {
		return "", 0, bad(fmt.Sprintf("%q is not a port from 1 to 65535", service))
	}
	if host == "" {
		return "", 0, bad("no host was given")
	}
	return host, uint16(number), nil
}
