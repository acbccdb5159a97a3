package bulk

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Inspect is what the kernel knows of a connection now. Where it reports nothing,
// the error is host.ErrUnsupported.
func Inspect(c syscall.Conn) (TCPInfo, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return TCPInfo{}, err
	}
	var info TCPInfo
	err = control(raw, func(fd int) (err error) {
		info, err = tcpInfo(fd)
		return err
	})
	return info, err
}

// tcpInfo asks for TCP_INFO.
func tcpInfo(fd int) (TCPInfo, error) {
	var raw [512]byte // struct tcp_info has 280 bytes in Linux 6.18 and grows
	n, err := getsockopt(fd, unix.IPPROTO_TCP, unix.TCP_INFO, raw[:])
	if err != nil {
		return TCPInfo{}, fmt.Errorf("get TCP_INFO: %w", err)
	}
	return ParseTCPInfo(raw[:n]), nil
}
