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
	// own says that the stream's thread has a processor of Go's scheduler to
	// itself, which it keeps while it waits here. The runtime can still stop it:
	// its signal ends a call that has a timeout.
	own bool
}

// newSocket takes conn over, which is closed. Of a sender, patience limits how
// long the peer may leave data unacknowledged or its window shut.
func newSocket(conn *net.TCPConn, patience time.Duration, sender bool) (*socket, error) {
	defer conn.Close()
	fd, err := Detach(conn, tick)
	if err != nil {
		return nil, err
	}
	if sender {
		// Four times as long, for one of many streams that is starved on a path
		// that is alive: a path that is dead is noticed by all streams' silence.
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 4*int(patience.Milliseconds())); err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("set TCP_USER_TIMEOUT: %w", err)
		}
	}
	return &socket{fd: fd}, nil
}

// read reads what there is into p. It returns errTick when nothing came for a
// tick, and io.EOF when the peer has ended its data.
func (s *socket) read(p []byte) (int, error) {
	n, err := s.call(unix.SYS_READ, p)
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
	n, err := s.call(unix.SYS_WRITE, p)
	if err != nil {
		return 0, ticked(err)
	}
	return n, nil
}

// call makes a system call on p that may block.
func (s *socket) call(trap uintptr, p []byte) (int, error) {
	var n uintptr
	var errno unix.Errno
	if s.own {
		n, _, errno = unix.RawSyscall(trap, uintptr(s.fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	} else {
		n, _, errno = unix.Syscall(trap, uintptr(s.fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// ticked distinguishes a call that merely ran into its timeout, or a signal, from
// one that failed.
func ticked(err error) error {
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return errTick
	}
	return err
}

// closeWrite signals the peer that no more data will come.
func (s *socket) closeWrite() error { return unix.Shutdown(s.fd, unix.SHUT_WR) }

// unacked is how many bytes the peer has not yet acknowledged, the end of the
// data counting as one.
func (s *socket) unacked() (n int, known bool) {
	n, err := unix.IoctlGetInt(s.fd, unix.SIOCOUTQ)
	return n, err == nil
}

// arrivals counts the packets that have come from the peer; 0 before Linux 4.2.
func (s *socket) arrivals() uint32 {
	info, _ := tcpInfo(s.fd)
	return info.SegsIn
}

// failure is why the connection has ended, once: the peer reset it, or left
// data unacknowledged for too long.
func (s *socket) failure() error {
	errno, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	return err
}

// reset ends the connection at once and drops what is still buffered on either
// side.
func (s *socket) reset() {
	// It cannot fail on a socket; were it to, close still ends the connection.
	unix.SetsockoptLinger(s.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) //nolint:errcheck
	s.close()
}

func (s *socket) close() { unix.Close(s.fd) }

// recvBuffer is the present limit of the memory for what was received, in bytes.
func (s *socket) recvBuffer() int {
	n, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0
	}
	return n
}

// gather lets read wait until so many bytes have come, the end of the data, or a
// tick.
func (s *socket) gather(n int) {
	// Where it is refused, read returns sooner.
	unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, n) //nolint:errcheck
}

// inspect fills in what the kernel knows of the socket. What it does not report
// stays zero.
func (s *socket) inspect(sample *Sample) {
	var raw [128]byte
	if n, err := getsockopt(s.fd, unix.SOL_SOCKET, unix.SO_MEMINFO, raw[:]); err == nil {
		sample.Mem = ParseSockMem(raw[:n])
	}
	if n, err := unix.IoctlGetInt(s.fd, unix.SIOCINQ); err == nil {
		sample.Unread = n
	}
	// Last of all, so that what comes meanwhile is in it: see Stream.leaveOutEarly.
	sample.TCP, _ = tcpInfo(s.fd)
	sample.Unsent, _ = s.unacked()
}

// describe fills in the properties of the connection.
func (s *socket) describe(record *Stream) {
	record.Congestion, _ = unix.GetsockoptString(s.fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	record.SendBuf, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	record.RecvBuf, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
}

// getsockopt reads an option of any size and returns how much the kernel wrote,
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
