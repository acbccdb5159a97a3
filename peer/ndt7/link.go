package ndt7

import (
	"net"
	"sync"
	"time"
)

// link is the connection below a client's WebSocket. It bounds every read and
// write, and can gather writes: the WebSocket library hands masked load on in
// pieces of 4 KiB, each of which would be a system call, and with TCP_NODELAY a
// segment of its own.
type link struct {
	net.Conn              // TLS or TCP
	tcp      *net.TCPConn // below it
	closing  func()       // called before it closes, for a last look at it

	mu      sync.Mutex
	gather  bool
	pending []byte
}

// gatherLength is how much is written at once: what iperf3 writes.
const gatherLength = 128 << 10

func (l *link) Read(b []byte) (int, error) {
	if err := l.tcp.SetReadDeadline(time.Now().Add(ioPatience)); err != nil {
		return 0, err
	}
	return l.Conn.Read(b)
}

func (l *link) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gather {
		return l.write(b)
	}
	if len(l.pending)+len(b) > gatherLength {
		if err := l.flush(); err != nil {
			return 0, err
		}
	}
	l.pending = append(l.pending, b...)
	return len(b), nil
}

// gathering begins or ends the gathering of writes.
func (l *link) gathering(on bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gather = on
	return l.flush()
}

// Flush writes what was gathered.
func (l *link) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

// flush does it; l.mu is held.
func (l *link) flush() error {
	if len(l.pending) == 0 {
		return nil
	}
	_, err := l.write(l.pending)
	l.pending = l.pending[:0]
	return err
}

func (l *link) write(b []byte) (int, error) {
	if err := l.tcp.SetWriteDeadline(time.Now().Add(ioPatience)); err != nil {
		return 0, err
	}
	return l.Conn.Write(b)
}

// Close writes what was gathered, the end of the closing handshake perhaps.
func (l *link) Close() error {
	l.closing()
	_ = l.Flush()
	return l.Conn.Close()
}
