package iperf3

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout bounds how long what was sent may go unacknowledged: keep-alive
// probes are only sent when nothing is.
func setUserTimeout(c *net.TCPConn, limit time.Duration) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	if controlErr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	}); controlErr != nil {
		return controlErr
	}
	return err
}
