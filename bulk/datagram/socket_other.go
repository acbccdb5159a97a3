//go:build !linux

package datagram

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// socket is a connected UDP socket in Go's poller: this system's kernel is asked
// for no more than moving datagrams, one a call.
type socket struct {
	conn   *net.UDPConn
	buffer []byte // of a receiver
}

func newSocket(conn *net.UDPConn, length, _ int, sender bool) (*socket, error) {
	s := &socket{conn: conn}
	if !sender {
		s.buffer = make([]byte, length)
	}
	return s, nil
}

func setDontFragment(*net.UDPConn) error {
	return fmt.Errorf("forbid fragmentation on %s: %w", runtime.GOOS, host.ErrUnsupported)
}

func setPace(*net.UDPConn, unit.Rate) error {
	return fmt.Errorf("set pacing rate on %s: %w", runtime.GOOS, host.ErrUnsupported)
}

// makeRoom enlarges a socket buffer that could not hold one datagram. The
// smallest default is macOS', which sends with 9216 bytes and receives with far
// more than a datagram has.
func makeRoom(conn *net.UDPConn, length int, sender bool) error {
	if !sender || length+roomBeside <= 9216 {
		return nil
	}
	return conn.SetWriteBuffer(length + roomBeside)
}

func batch(int) int { return 1 }

func (s *socket) send(datagrams []byte, length int) (int, error) {
	if err := s.conn.SetWriteDeadline(time.Now().Add(tick)); err != nil {
		return 0, err
	}
	if _, err := s.conn.Write(datagrams[:length]); err != nil {
		return 0, ticked(err)
	}
	return 1, nil
}

func (s *socket) receive(handle func(kept []byte, size int, at time.Duration)) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(tick)); err != nil {
		return err
	}
	n, err := s.conn.Read(s.buffer)
	if err != nil {
		return ticked(err)
	}
	handle(s.buffer[:n], n, time.Duration(time.Now().UnixNano()))
	return nil
}

// ticked distinguishes a call that found no room or nothing to read for now from one
// that failed. 10055 is Windows' WSAENOBUFS.
func ticked(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errTick
	case errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.Errno(10055)):
		sleep(quantum)
		return errTick
	}
	return err
}

// isUnreachable says that an ICMP error came back for something sent before. The
// numbers are Windows' WSAENETUNREACH, WSAECONNRESET (of UDP: the port is
// closed) and WSAEHOSTUNREACH.
func isUnreachable(err error) bool {
	for _, e := range []error{
		syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
		syscall.Errno(10051), syscall.Errno(10054), syscall.Errno(10065),
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// isTooLarge says that a datagram is larger than this system sends; 10040 is
// Windows' WSAEMSGSIZE.
func isTooLarge(err error) bool {
	return errors.Is(err, syscall.EMSGSIZE) || errors.Is(err, syscall.Errno(10040))
}

const canTruncate = false

func sleep(d time.Duration) { time.Sleep(d) }

func (s *socket) close() { s.conn.Close() }

func (s *socket) inspect(*bulk.Sample) {}

func (s *socket) describe(*bulk.Stream) {}
