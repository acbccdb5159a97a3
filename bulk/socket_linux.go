package bulk

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket is a connected TCP socket outside Go's poller: its calls block the
// thread, for one tick at most.
type socket struct {
	fd int
}

// newSocket takes conn over, which is closed. Of a sender, patience limits how
// long the peer may leave data unacknowledged or its window shut.
func newSocket(conn *net.TCPConn, patience time.Duration, sender bool) (*socket, error) {
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{fd: -1}
	// The descriptor in Go's poller cannot be taken out of it, a duplicate of
	// it was never in. Both are one socket, so that non-blocking mode ends for
	// both: the original is closed at once.
	var dupErr error
	if err := raw.Control(func(fd uintptr) { s.fd, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, fmt.Errorf("duplicate socket: %w", dupErr)
	}
	if err := s.block(patience, sender); err != nil {
		unix.Close(s.fd)
		return nil, err
	}
	return s, nil
}

func (s *socket) block(patience time.Duration, sender bool) error {
	if err := unix.SetNonblock(s.fd, false); err != nil {
		return fmt.Errorf("make socket blocking: %w", err)
	}
	timeout := unix.NsecToTimeval(tick.Nanoseconds())
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, option, &timeout); err != nil {
			return fmt.Errorf("set socket timeout: %w", err)
		}
	}
	if sender {
		// Four times as long, for one of many streams that is starved on a path
		// that is alive: a path that is dead is noticed by all streams' silence.
		if err := unix.SetsockoptInt(s.fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 4*int(patience.Milliseconds())); err != nil {
			return fmt.Errorf("set TCP_USER_TIMEOUT: %w", err)
		}
	}
	return nil
}

// read reads what there is into p. It returns errTick when nothing came for a
// tick, and io.EOF when the peer has ended its data.
func (s *socket) read(p []byte) (int, error) {
	n, err := unix.Read(s.fd, p)
	switch {
	case err != nil:
		return 0, ticked(err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// write writes as much of p as the send buffer takes within a tick; nothing at
// all: errTick.
func (s *socket) write(p []byte) (int, error) {
	n, err := unix.Write(s.fd, p)
	if err != nil {
		return 0, ticked(err)
	}
	return n, nil
}

// ticked tells a call that merely ran into its timeout, or into a signal, from
// one that failed.
func ticked(err error) error {
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return errTick
	}
	return err
}

// closeWrite tells the peer that no more data will come.
func (s *socket) closeWrite() error { return unix.Shutdown(s.fd, unix.SHUT_WR) }

// unacked is how many bytes the peer has not yet acknowledged, the end of the
// data counting as one.
func (s *socket) unacked() (n int, known bool) {
	n, err := unix.IoctlGetInt(s.fd, unix.SIOCOUTQ)
	return n, err == nil
}

// arrivals counts the packets that have come from the peer; 0 before Linux 4.2.
func (s *socket) arrivals() uint32 {
	var sample Sample
	s.inspect(&sample)
	return sample.TCP.SegsIn
}

// reset ends the connection at once and drops what is still buffered on either
// side.
func (s *socket) reset() {
	// It cannot fail on a socket; were it to, close still ends the connection.
	unix.SetsockoptLinger(s.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) //nolint:errcheck
	s.close()
}

func (s *socket) close() { unix.Close(s.fd) }

// inspect fills in what the kernel knows of the socket. What it does not tell
// stays zero.
func (s *socket) inspect(sample *Sample) {
	var raw [512]byte // struct tcp_info has 280 bytes in Linux 6.18 and grows
	if n, err := getsockopt(s.fd, unix.IPPROTO_TCP, unix.TCP_INFO, raw[:]); err == nil {
		sample.TCP = ParseTCPInfo(raw[:n])
	}
	if n, err := getsockopt(s.fd, unix.SOL_SOCKET, unix.SO_MEMINFO, raw[:]); err == nil {
		sample.Mem = parseSockMem(raw[:n])
	}
	if n, err := unix.IoctlGetInt(s.fd, unix.SIOCINQ); err == nil {
		sample.Unread = n
	}
	sample.Unsent, _ = s.unacked()
}

// describe fills in the properties of the connection.
func (s *socket) describe(record *Stream) {
	record.Congestion, _ = unix.GetsockoptString(s.fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	record.SendBuf, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	record.RecvBuf, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
}

// getsockopt reads an option of any size and tells how much the kernel wrote,
// which the functions of package unix do not.
func getsockopt(fd, level, option int, into []byte) (int, error) {
	length := uint32(len(into))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(option),
		uintptr(unsafe.Pointer(unsafe.SliceData(into))), uintptr(unsafe.Pointer(&length)), 0)
	if errno != 0 {
		return 0, errno
	}
	return min(int(length), len(into)), nil
}

// isReset says that the peer has closed the connection: ECONNRESET when its
// reset comes, EPIPE from then on.
func isReset(err error) bool { return errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) }
