package ndt7

import (
	"math"
	"net"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/bulk"
)

// describe fills in the properties of a connection. What the kernel does not
// report stays zero.
func describe(c *net.TCPConn, record *bulk.Stream) {
	onSocket(c, func(fd int) {
		record.Congestion, _ = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		record.SendBuf, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
		record.RecvBuf, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	})
}

// bbrInfo is what BBR knows of a connection, nil if another congestion control
// runs it. TCP_CC_INFO does not say whose struct it gives.
func bbrInfo(c *net.TCPConn) (info *BBRInfo) {
	onSocket(c, func(fd int) {
		if name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err != nil || name != "bbr" {
			return
		}
		raw, err := unix.GetsockoptTCPCCBBRInfo(fd, unix.IPPROTO_TCP, unix.TCP_CC_INFO)
		if err != nil {
			return
		}
		bandwidth := uint64(raw.Bw_hi)<<32 | uint64(raw.Bw_lo)
		info = &BBRInfo{
			BW: int64(min(bandwidth, math.MaxInt64)), MinRTT: raw.Min_rtt,
			PacingGain: raw.Pacing_gain, CwndGain: raw.Cwnd_gain,
		}
	})
	return info
}

// onSocket calls f with the connection's descriptor, unless it is closed.
func onSocket(c *net.TCPConn, f func(fd int)) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}
