package host

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// routeCongestion is the congestion control of connections that use a route of
// the main table; routeDefault where it has none of its own, so that
// net.ipv4.tcp_congestion_control holds.
type routeCongestion struct{}

// routeDefault takes the attribute away. No algorithm of the kernel has that name.
const routeDefault = "default"

// Of linux/rtnetlink.h: attributes of a route that package unix does not name.
const (
	rtaxLock    = 1
	rtaxCCAlgo  = 16
	rtaNextHop  = 30 // RTA_NH_ID
	rtaCacheV6  = 12 // RTA_CACHEINFO
	cacheinfoAt = 8  // rta_expires of struct rta_cacheinfo
)

// route is an entry of the main table as rtnetlink describes it.
type route struct {
	to         netip.Prefix
	protocol   byte // who made it: RTPROT_...
	unicast    bool
	gateway    bool   // it leads beyond the link
	expires    bool   // it goes by itself
	nextHop    bool   // its way is an object of its own (ip-nexthop(8))
	congestion string // "": none
	message    []byte
}

// parseRoute reads an RTM_NEWROUTE message; ok is false for one that is not in
// the main table.
func parseRoute(message []byte) (r route, ok bool, err error) {
	ad, err := attributes(message, unix.SizeofRtMsg)
	if err != nil {
		return r, false, err
	}
	family, bits, table := message[0], int(message[1]), uint32(message[4])
	r = route{protocol: message[5], unicast: message[7] == unix.RTN_UNICAST, message: message}
	address := netip.IPv4Unspecified()
	if family == unix.AF_INET6 {
		address = netip.IPv6Unspecified()
	}
	for ad.Next() {
		switch data := ad.Bytes(); ad.Type() {
		case unix.RTA_DST:
			if a, ok := netip.AddrFromSlice(data); ok {
				address = a
			}
		case unix.RTA_TABLE:
			table = word(data, 0)
		case unix.RTA_GATEWAY, unix.RTA_VIA, unix.RTA_MULTIPATH:
			r.gateway = true
		case rtaNextHop:
			r.nextHop, r.gateway = true, true
		case rtaCacheV6:
			r.expires = family == unix.AF_INET6 && word(data, cacheinfoAt) != 0
		case unix.RTA_METRICS:
			if r.congestion, err = congestionOf(data); err != nil {
				return r, false, err
			}
		}
	}
	if err := ad.Err(); err != nil {
		return r, false, fmt.Errorf("decode route: %w", err)
	}
	if family != unix.AF_INET && family != unix.AF_INET6 || address.BitLen() < bits || address.Is4() != (family == unix.AF_INET) {
		return r, false, fmt.Errorf("decode route: family %d has no destination of %d bits", family, bits)
	}
	r.to = netip.PrefixFrom(address, bits).Masked()
	cloned := binary.NativeEndian.Uint32(message[8:])&unix.RTM_F_CLONED != 0
	return r, table == unix.RT_TABLE_MAIN && !cloned, nil
}

// congestionOf looks for the algorithm's name among the metrics of a route.
func congestionOf(metrics []byte) (string, error) {
	ad, err := netlink.NewAttributeDecoder(metrics)
	if err != nil {
		return "", fmt.Errorf("decode metrics of route: %w", err)
	}
	name := ""
	for ad.Next() {
		if ad.Type() == rtaxCCAlgo {
			name = ad.String()
		}
	}
	return name, ad.Err()
}

// with is the message that makes the route what it is, except for its congestion
// control.
func (r *route) with(congestion string) ([]byte, error) {
	body := append([]byte(nil), r.message[:unix.SizeofRtMsg]...)
	// Of the flags only these are the administrator's; the rest show how the
	// route is doing, and the kernel does not take them back.
	flags := binary.NativeEndian.Uint32(body[8:]) & (unix.RTNH_F_ONLINK | unix.RTNH_F_PERVASIVE)
	binary.NativeEndian.PutUint32(body[8:], flags)
	ad, err := netlink.NewAttributeDecoder(r.message[unix.SizeofRtMsg:])
	if err != nil {
		return nil, err
	}
	ae := netlink.NewAttributeEncoder()
	var metrics []byte
	for ad.Next() {
		switch t := ad.Type(); {
		case t == unix.RTA_METRICS:
			metrics = ad.Bytes()
		case t == rtaCacheV6: // it only reports
		case r.nextHop && (t == unix.RTA_OIF || t == unix.RTA_GATEWAY || t == unix.RTA_VIA || t == unix.RTA_MULTIPATH):
			// The kernel reports what is behind the object, and takes only one of the two.
		case t == unix.RTA_MULTIPATH:
			ae.Bytes(t, cleanHops(ad.Bytes()))
		default:
			ae.Bytes(t, ad.Bytes())
		}
	}
	if err := ad.Err(); err != nil {
		return nil, err
	}
	if metrics, err = metricsWith(metrics, congestion); err != nil {
		return nil, err
	}
	// Also where there is none left: of a route by a next hop object that comes
	// without, the kernel takes the one it knows, metrics and all
	// (fib_create_info).
	ae.Bytes(unix.RTA_METRICS|netlink.Nested, metrics)
	attributes, err := ae.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode route: %w", err)
	}
	return append(body, attributes...), nil
}

// metricsWith replaces the algorithm's name; all other metrics stay.
func metricsWith(metrics []byte, congestion string) ([]byte, error) {
	ad, err := netlink.NewAttributeDecoder(metrics)
	if err != nil {
		return nil, err
	}
	ae := netlink.NewAttributeEncoder()
	for ad.Next() {
		if ad.Type() != rtaxCCAlgo {
			ae.Bytes(ad.Type(), ad.Bytes())
		}
	}
	if err := ad.Err(); err != nil {
		return nil, err
	}
	if congestion != "" {
		ae.String(rtaxCCAlgo, congestion)
	}
	return ae.Encode()
}

// cleanHops clears in struct rtnexthop the state of each path.
func cleanHops(hops []byte) []byte {
	hops = append([]byte(nil), hops...)
	for rest := hops; len(rest) >= unix.SizeofRtNexthop; {
		length := int(binary.NativeEndian.Uint16(rest))
		rest[2] &= unix.RTNH_F_ONLINK | unix.RTNH_F_PERVASIVE
		length = (length + 3) &^ 3
		if length < unix.SizeofRtNexthop || length > len(rest) {
			break
		}
		rest = rest[length:]
	}
	return hops
}

// routes gives the main table's routes of a family to each, until that says
// false. A table of the whole Internet takes a second: whoever only looks around
// sets a limit.
func routes(family byte, within time.Duration, each func(route) bool) error {
	r, err := openRTNetlink()
	if err != nil {
		return err
	}
	defer r.close()
	_ = r.conn.SetOption(netlink.GetStrictCheck, true) // then only the main table comes, since 4.20
	if err := r.conn.SetDeadline(time.Now().Add(within)); err != nil {
		return fmt.Errorf("ask rtnetlink: %w", err)
	}
	body := make([]byte, unix.SizeofRtMsg)
	body[0], body[4] = family, unix.RT_TABLE_MAIN
	request := netlink.Message{Header: netlink.Header{Type: unix.RTM_GETROUTE, Flags: netlink.Request | netlink.Dump}, Data: body}
	if _, err := r.conn.Send(request); err != nil {
		return fmt.Errorf("ask rtnetlink: %w", inWords(err))
	}
	for m, err := range r.conn.ReceiveIter() {
		if err != nil {
			return fmt.Errorf("ask rtnetlink: %w", inWords(err))
		}
		if m.Header.Type != unix.RTM_NEWROUTE {
			continue
		}
		found, ok, err := parseRoute(m.Data)
		if err != nil {
			return err
		}
		if ok && !each(found) {
			return nil
		}
	}
	return nil
}

// allRoutes is patience for a full table.
const allRoutes = 10 * time.Second

// find gives the one route to a destination.
func (routeCongestion) find(destination string) (route, error) {
	to, err := parseDestination(destination)
	if err != nil {
		return route{}, err
	}
	family := byte(unix.AF_INET)
	if to.Addr().Is6() {
		family = unix.AF_INET6
	}
	var found []route
	err = routes(family, allRoutes, func(r route) bool {
		if r.to == to {
			found = append(found, r)
		}
		return len(found) < 2
	})
	switch {
	case err != nil:
		return route{}, err
	case len(found) == 0:
		return route{}, fmt.Errorf("a route to %s is %w in the main table", to, errInstance)
	case len(found) > 1:
		return route{}, fmt.Errorf("there are several routes to %s: use ip route change", to)
	}
	return found[0], found[0].check()
}

// check refuses routes that are not for us to make anew.
func (r *route) check() error {
	switch {
	case !r.unicast:
		return errors.New("the route leads nowhere")
	case r.expires || r.protocol == unix.RTPROT_RA:
		return errors.New("the route is a router's advertisement, which comes and goes")
	}
	return nil
}

func (w routeCongestion) get(_ *session, destination string) (string, error) {
	r, err := w.find(destination)
	if err != nil {
		return "", err
	}
	return r.algorithm(), nil
}

// algorithm is the value of route.congctl.
func (r *route) algorithm() string { return cmp.Or(r.congestion, routeDefault) }

func (w routeCongestion) set(s *session, destination, value string) error {
	r, err := w.find(destination)
	if err != nil {
		return err
	}
	if value == routeDefault {
		value = ""
	}
	if r.congestion == value {
		return nil
	}
	message, err := r.with(value)
	if err != nil {
		return err
	}
	if s.kernel == nil {
		return s.why
	}
	if _, err := s.kernel.ask(unix.RTM_NEWROUTE, netlink.Request|netlink.Acknowledge|netlink.Replace, message); err != nil {
		return refused(err)
	}
	return nil
}

func (routeCongestion) settable(s *session, _ string) error { return s.mayConfigure() }
