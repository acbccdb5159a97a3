package bulk

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Detach gives a descriptor of a connection that is not in Go's poller: calls on
// it block their thread, for at most that long. The caller closes both, the
// connection immediately: both refer to one socket, which now blocks.
func Detach(conn syscall.Conn, most time.Duration) (fd int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	// The descriptor in Go's poller cannot be taken out of it, a duplicate of it
	// was never in.
	var dupErr error
	if err := raw.Control(func(its uintptr) { fd, dupErr = unix.FcntlInt(its, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1, err
	}
	if dupErr != nil {
		return -1, fmt.Errorf("duplicate socket: %w", dupErr)
	}
	if err := block(fd, most); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func block(fd int, most time.Duration) error {
	if err := unix.SetNonblock(fd, false); err != nil {
		return fmt.Errorf("make socket blocking: %w", err)
	}
	timeout := unix.NsecToTimeval(most.Nanoseconds())
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &timeout); err != nil {
			return fmt.Errorf("set socket timeout: %w", err)
		}
	}
	return nil
}
