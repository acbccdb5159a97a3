//go:build linux || darwin || freebsd

package iperf3

import "golang.org/x/sys/unix"

// share lets other sockets bind the same address and port: on Linux only those
// of the same user (socket(7), SO_REUSEPORT).
func share(fd uintptr) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
}
