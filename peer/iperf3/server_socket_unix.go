//go:build unix

package iperf3

import (
	"net"

	"golang.org/x/sys/unix"
)

// bufferSize is what a socket's buffer really has, in bytes.
func bufferSize(c *net.TCPConn, sender bool) (size int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	option := unix.SO_RCVBUF
	if sender {
		option = unix.SO_SNDBUF
	}
	if controlErr := raw.Control(func(fd uintptr) { size, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, option) }); controlErr != nil {
		return 0, controlErr
	}
	return size, err
}
