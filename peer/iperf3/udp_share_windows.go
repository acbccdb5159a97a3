package iperf3

import "golang.org/x/sys/windows"

// share lets other sockets bind the same address and port.
func share(fd uintptr) error {
	return windows.SetsockoptInt(windows.Handle(fd), windows.SOL_SOCKET, windows.SO_REUSEADDR, 1)
}
