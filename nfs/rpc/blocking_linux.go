package rpc

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/bulk"
)

// blocking is a TCP connection outside Go's poller: who reads waits in the kernel. Where each
// answer comes alone, the poller, and the search for other work before it, cost more than the
// answer itself.
type blocking struct {
	fd            int
	local, remote net.Addr

	least   int          // bytes that a read waits for (SO_RCVLOWAT): 0 and 1, any; else gather waits, and reads do not
	using   sync.RWMutex // fd: it is closed when nobody uses it
	closed  atomic.Bool
	expired atomic.Bool // the deadline is over
}

// tick is the longest that a call waits before it looks whether it is to go on.
const tick = 20 * time.Millisecond

// block takes a connection out of Go's poller, if it is one of TCP.
func block(conn net.Conn) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn
	}
	fd, err := bulk.Detach(tcp, tick)
	if err != nil {
		return conn // as good, and slower
	}
	_ = tcp.Close() // the socket stays, by fd
	return &blocking{fd: fd, local: tcp.LocalAddr(), remote: tcp.RemoteAddr()}
}

// use says whether fd can be used; then the caller ends that with using.RUnlock.
func (c *blocking) use() error {
	c.using.RLock()
	switch {
	case c.closed.Load():
		c.using.RUnlock()
		return net.ErrClosed
	case c.expired.Load():
		c.using.RUnlock()
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Read waits for a tick at most: its error is then os.ErrDeadlineExceeded, and nothing is lost.
func (c *blocking) Read(b []byte) (int, error) {
	return c.receive(unsafe.Pointer(unsafe.SliceData(b)), len(b), 0)
}

// drop is Read of at most n bytes that nobody wants to see: the kernel does not copy them (MSG_TRUNC, tcp(7)).
func (c *blocking) drop(n int) (int, error) { return c.receive(nil, n, unix.MSG_TRUNC) }

func (c *blocking) receive(into unsafe.Pointer, n int, flags uintptr) (int, error) {
	if err := c.use(); err != nil {
		return 0, err
	}
	if c.least > 1 {
		flags |= unix.MSG_DONTWAIT
	}
	done, _, errno := unix.Syscall6(unix.SYS_RECVFROM, uintptr(c.fd), uintptr(into), uintptr(n), flags, 0, 0)
	c.using.RUnlock()
	if errno != 0 {
		return c.came(0, errno)
	}
	return c.came(int(done), nil)
}

// gather waits until n bytes are there, for a millisecond at most, and says whether they are: this
// thread is not woken for less (SO_RCVLOWAT, socket(7)). Reads after it do not wait, until a gather of
// 1, which does not wait itself. A read that waits for several bytes would take the first ones and
// wait for as many again.
func (c *blocking) gather(n int) bool {
	if c.use() != nil {
		return false // the read after it says why
	}
	defer c.using.RUnlock()
	if n != max(c.least, 1) {
		if unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, n) != nil {
			return false
		}
		c.least = n
	}
	if n == 1 {
		return false
	}
	const most = 1 // ms
	came, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, most)
	return err == nil && came > 0
}

// came is what a read that ended so says.
func (c *blocking) came(n int, err error) (int, error) {
	switch {
	case n > 0:
		return n, nil
	case c.closed.Load():
		return 0, net.ErrClosed
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return 0, os.ErrDeadlineExceeded
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	}
	return 0, io.EOF
}

// Write waits until all is written.
func (c *blocking) Write(b []byte) (done int, err error) {
	for done < len(b) {
		n, err := c.send(b[done:], 0)
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}

// try sends as much as the socket has room for, and does not wait.
func (c *blocking) try(b []byte) (int, error) { return c.send(b, unix.MSG_DONTWAIT) }

func (c *blocking) send(b []byte, flags int) (int, error) {
	if err := c.use(); err != nil {
		return 0, err
	}
	n, err := unix.SendmsgN(c.fd, b, nil, nil, flags|unix.MSG_NOSIGNAL)
	c.using.RUnlock()
	if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
		return 0, os.NewSyscallError("write", err)
	}
	return max(n, 0), nil
}

// Close ends the connection, and the calls that wait on it.
func (c *blocking) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // one that the server has closed is shut
	c.using.Lock()
	defer c.using.Unlock()
	return os.NewSyscallError("close", unix.Close(c.fd))
}

func (c *blocking) LocalAddr() net.Addr  { return c.local }
func (c *blocking) RemoteAddr() net.Addr { return c.remote }

// SetDeadline ends calls if it is over, within a tick. One to come is no more than the tick
// that they wait anyway.
func (c *blocking) SetDeadline(t time.Time) error {
	c.expired.Store(!t.IsZero() && !t.After(time.Now()))
	return nil
}

// SetReadDeadline is SetDeadline: who reads is who writes.
func (c *blocking) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

// SetWriteDeadline is SetDeadline.
func (c *blocking) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

// SyscallConn is for who looks at the socket: what its kernel says of it.
func (c *blocking) SyscallConn() (syscall.RawConn, error) { return (*socket)(c), nil }

type socket blocking

func (s *socket) Control(f func(fd uintptr)) error {
	s.using.RLock()
	defer s.using.RUnlock()
	if s.closed.Load() {
		return net.ErrClosed
	}
	f(uintptr(s.fd))
	return nil
}

func (s *socket) Read(f func(fd uintptr) bool) error {
	return s.Control(func(fd uintptr) { f(fd) })
}

func (s *socket) Write(f func(fd uintptr) bool) error { return s.Read(f) }
