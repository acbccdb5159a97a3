//go:build unix

package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

// arrived reads what has come on a connection, and does not wait for more.
func arrived(c *net.TCPConn, b []byte) (n int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Read(func(fd uintptr) bool { // its error is the next reader's too
		n, _ = unix.Read(int(fd), b)
		return true
	})
	return max(0, n)
}
