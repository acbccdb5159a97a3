package datagram

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/fullbore/fullbore/bulk"
)

// configure sets on a socket what spec asks of this end. Buffers that spec
// leaves open stay the system's, as applications have them, as long as they
// hold a datagram.
func configure(conn *net.UDPConn, spec bulk.Spec, length int, sender bool) error {
	if !sender {
		if spec.RecvBuf > 0 {
			if err := conn.SetReadBuffer(spec.RecvBuf); err != nil {
				return fmt.Errorf("set SO_RCVBUF to %d: %w", spec.RecvBuf, err)
			}
			return nil
		}
		return makeRoom(conn, length, sender)
	}
	if spec.SendBuf > 0 {
		if err := conn.SetWriteBuffer(spec.SendBuf); err != nil {
			return fmt.Errorf("set SO_SNDBUF to %d: %w", spec.SendBuf, err)
		}
	} else if err := makeRoom(conn, length, sender); err != nil {
		return err
	}
	if spec.TOS > 0 {
		if err := setTOS(conn, spec.TOS); err != nil {
			return fmt.Errorf("set type of service %d: %w", spec.TOS, err)
		}
	}
	if spec.Pace > 0 {
		if err := setPace(conn, spec.Pace); err != nil {
			return err
		}
	}
	if spec.DontFragment {
		return setDontFragment(conn)
	}
	return nil
}

// roomBeside is what a socket buffer must hold beside the bytes of a datagram
// (iperf3's UDP_BUFFER_EXTRA).
const roomBeside = 1024

func setTOS(conn *net.UDPConn, tos int) error {
	if isIPv4(conn) {
		return ipv4.NewConn(conn).SetTOS(tos)
	}
	return ipv6.NewConn(conn).SetTrafficClass(tos)
}

// isIPv4 says that a connected socket carries IPv4: one of IPv6 may.
func isIPv4(conn *net.UDPConn) bool { return remote(conn).Addr().Unmap().Is4() }

// remote is where a socket is connected to; invalid if it is not.
func remote(conn *net.UDPConn) netip.AddrPort {
	if to, ok := conn.RemoteAddr().(*net.UDPAddr); ok && to != nil {
		return to.AddrPort()
	}
	return netip.AddrPort{}
}
