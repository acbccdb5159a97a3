//go:build !linux

package path

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// connect times one TCP handshake. The Go runtime's event loop is in the
// timing, some tens of microseconds. A refusal is an answer as well.
func connect(to netip.AddrPort, timeout time.Duration) (handshake, error) {
	start := time.Now()
	conn, err := net.DialTimeout("tcp", to.String(), timeout)
	h := handshake{rtt: time.Since(start)}
	var wait net.Error
	switch {
	case err == nil:
		conn.(*net.TCPConn).SetLinger(0) // leave no TIME_WAIT behind
		conn.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
	case errors.As(err, &wait) && wait.Timeout():
		return handshake{}, errNoAnswer
	default:
		return handshake{}, fmt.Errorf("connect to %v: %w", to, err)
	}
	if h.rtt >= initialRTO { // the answer may be to a second SYN
		return handshake{}, errNoAnswer
	}
	return h, nil
}
