package iperf3

import "golang.org/x/sys/unix"

// share lets other sockets bind the same address and port.
func share(fd uintptr) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
}
