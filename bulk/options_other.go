//go:build !linux

package bulk

import (
	"fmt"
	"net"
	"runtime"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/fullbore/fullbore/host"
)

// Control is for net.Dialer.Control and net.ListenConfig.Control. On this
// system only an MSS of the path's and the default congestion control can be
// asked for.
func Control(spec Spec) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, _ syscall.RawConn) error { return supported(spec) }
}

// Prepare sets on a connected socket what spec asks of this end: of a sender
// its send buffer and TCP_NODELAY, of a receiver its receive buffer, of both the
// type of service.
func Prepare(c *net.TCPConn, spec Spec, sender bool) error {
	switch {
	case !sender && spec.RecvBuf > 0:
		if err := c.SetReadBuffer(spec.RecvBuf); err != nil {
			return fmt.Errorf("set SO_RCVBUF to %d: %w", spec.RecvBuf, err)
		}
	case sender && spec.SendBuf > 0:
		if err := c.SetWriteBuffer(spec.SendBuf); err != nil {
			return fmt.Errorf("set SO_SNDBUF to %d: %w", spec.SendBuf, err)
		}
	}
	if err := setTOS(c, spec.TOS); err != nil {
		return err
	}
	if !sender {
		return nil
	}
	if err := c.SetNoDelay(spec.NoDelay); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	return supported(spec)
}

// setTOS sets the type of service of IPv4 or the traffic class of IPv6.
func setTOS(c *net.TCPConn, tos int) error {
	if tos == 0 {
		return nil
	}
	set := ipv6.NewConn(c).SetTrafficClass
	if remote, ok := c.RemoteAddr().(*net.TCPAddr); ok && remote.IP.To4() != nil {
		set = ipv4.NewConn(c).SetTOS
	}
	if err := set(tos); err != nil {
		return fmt.Errorf("set type of service to %d: %w", tos, err)
	}
	return nil
}

// CongestionAllowed is for hosts where one can be chosen; here [Prepare] refuses.
func CongestionAllowed(string) error { return nil }

// supported says what of spec this system cannot do.
func supported(spec Spec) error {
	switch {
	case spec.MSS != 0:
		return fmt.Errorf("set MSS on %s: %w", runtime.GOOS, host.ErrUnsupported)
	case spec.Congest != "":
		return fmt.Errorf("set congestion control on %s: %w", runtime.GOOS, host.ErrUnsupported)
	case spec.Pace != 0:
		return fmt.Errorf("set pacing rate on %s: %w", runtime.GOOS, host.ErrUnsupported)
	case spec.NotSentLowat != 0:
		return fmt.Errorf("set TCP_NOTSENT_LOWAT on %s: %w", runtime.GOOS, host.ErrUnsupported)
	}
	return nil
}
