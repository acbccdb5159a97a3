//go:build unix

package rpc

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// try sends as much as the socket has room for, and does not wait.
func try(conn net.Conn, b []byte) (n int, err error) {
	if own, ok := conn.(interface{ try([]byte) (int, error) }); ok {
		return own.try(b)
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return 0, nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	if e := raw.Write(func(fd uintptr) bool {
		n, err = unix.Write(int(fd), b)
		return true
	}); e != nil {
		return 0, e
	}
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		err = nil
	}
	return max(n, 0), err
}
