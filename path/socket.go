package path

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// datagram is a received UDP datagram. Only its head is kept.
type datagram struct {
	from  netip.AddrPort
	local netip.Addr    // where it was sent to; invalid: not known
	at    time.Duration // since the epoch
	size  int           // bytes of UDP payload
	lost  int           // datagrams that the socket had no room for before this one
	head  []byte
}

// route is what this host knows of the way to an address without sending
// anything.
type route struct {
	local  netip.Addr // source address
	link   int        // MTU of the interface, bytes; 0: unknown
	kernel int        // path MTU that the kernel believes in, bytes; 0: unknown
	speed  unit.Rate  // of the network card; 0: unknown
}

// routeTo asks the kernel for the way to an address. Connecting a UDP socket
// sends nothing.
func routeTo(to netip.Addr) (route, error) {
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 9))) // discard (RFC 863)
	if err != nil {
		return route{}, fmt.Errorf("find route to %v: %w", to, err)
	}
	defer conn.Close()
	var r route
	r.local = conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	r.kernel, _ = kernelMTU(conn) // 0 where the system does not report it
	if i := interfaceOf(r.local.WithZone("")); i != nil {
		r.link = min(i.MTU, maxPacket)
		r.speed = linkSpeed(i.Name)
	}
	if r.link != 0 {
		r.kernel = min(r.kernel, r.link)
	}
	return r, nil
}

// interfaceOf is the interface that has an address, or nil.
func interfaceOf(a netip.Addr) *net.Interface {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range all {
		addrs, _ := i.Addrs()
		for _, b := range addrs {
			if prefix, err := netip.ParsePrefix(b.String()); err == nil && prefix.Addr().Unmap().WithZone("") == a {
				return &i
			}
		}
	}
	return nil
}

// receive hands over every datagram until the context ends (nil) or the socket
// fails.
func receive(ctx context.Context, conn *net.UDPConn, handle func(datagram)) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	in := newReader(conn)
	return readOn(ctx, func() error { return in.read(handle) })
}

// readOn calls read again and again, past errors that pass.
func readOn(ctx context.Context, read func() error) error {
	for failures := 0; ; {
		err := read()
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // that is why the read failed
		case err == nil:
			failures = 0
		case errors.Is(err, net.ErrClosed) || failures == 100:
			return err
		default: // an ICMP error about something sent earlier, mostly
			failures++
		}
	}
}
