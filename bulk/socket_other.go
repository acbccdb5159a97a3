//go:build !linux

package bulk

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// socket is a connected TCP socket in Go's poller: this system's kernel is
// asked for no more than moving bytes.
type socket struct {
	conn *net.TCPConn
	own  bool // of no use here
}

func newSocket(conn *net.TCPConn, _ time.Duration, _ bool) (*socket, error) {
	return &socket{conn: conn}, nil
}

func (s *socket) read(p []byte) (int, error) {
	if err := s.conn.SetReadDeadline(time.Now().Add(tick)); err != nil {
		return 0, err
	}
	return ticked(s.conn.Read(p))
}

func (s *socket) write(p []byte) (int, error) {
	if err := s.conn.SetWriteDeadline(time.Now().Add(tick)); err != nil {
		return 0, err
	}
	return ticked(s.conn.Write(p))
}

// ticked distinguishes a call that merely ran into its deadline from one that failed.
func ticked(n int, err error) (int, error) {
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return n, err
	case n > 0:
		return n, nil
	}
	return 0, errTick
}

// isReset says that the peer has closed the connection. On Windows these are
// WSAECONNABORTED and WSAECONNRESET.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.Errno(10053)) || errors.Is(err, syscall.Errno(10054))
}

func (s *socket) closeWrite() error { return s.conn.CloseWrite() }

func (s *socket) unacked() (n int, known bool) { return 0, false }

func (s *socket) arrivals() uint32 { return 0 }

// failure is why the connection has ended, as far as a read shows.
func (s *socket) failure() error {
	if err := s.conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return err
	}
	var rest [1]byte
	if _, err := s.conn.Read(rest[:]); isReset(err) {
		return err
	}
	return nil
}

func (s *socket) reset() {
	s.conn.SetLinger(0) //nolint:errcheck // close ends the connection anyway
	s.close()
}

func (s *socket) close() { s.conn.Close() }

func (s *socket) recvBuffer() int { return 0 }

func (s *socket) gather(int) {}

func (s *socket) inspect(*Sample) {}

func (s *socket) describe(*Stream) {}
