package iperf3

import (
	"fmt"
	"syscall"
)

// SharePort is for the Control of the net.ListenConfig that opens the far end's
// UDP socket: its port will be shared with a socket for each flow.
func SharePort(_, _ string, c syscall.RawConn) error {
	var setErr error
	if err := c.Control(func(fd uintptr) { setErr = share(fd) }); err != nil {
		return err
	}
	if setErr != nil {
		return fmt.Errorf("share UDP port: %w", setErr)
	}
	return nil
}
