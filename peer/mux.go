package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// verdict is what a protocol makes of the first bytes of a connection.
type verdict int

const (
	no   verdict = iota // these are not mine
	more                // they may be: show me more
	yes
)

// protocol is one of those that share the port.
type protocol struct {
	name   string
	match  func(first []byte) verdict
	handle func(c *opened) // owns the connection
	brief  bool            // handle neither reads nor waits
}

// opened is a connection whose first bytes have been looked at. Read gives them
// again; first and TCP are for protocols that drive the socket themselves.
type opened struct {
	*net.TCPConn
	first []byte
	from  netip.AddrPort
	order uint64 // larger than of what was accepted before
}

// Read gives the bytes that were looked at, then those that follow.
func (o *opened) Read(b []byte) (int, error) {
	if len(o.first) > 0 {
		n := copy(b, o.first)
		o.first = o.first[n:]
		return n, nil
	}
	return o.TCPConn.Read(b)
}

// firstBytes is as much as is needed to recognise any of the protocols.
const firstBytes = 64

// mux recognises by the first bytes which protocol a connection speaks.
type mux struct {
	protocols []protocol
	undecided *gate         // connections that have not said yet what they are
	within    time.Duration // they have to
	log       *slog.Logger
}

// serve accepts until the listener is closed.
func (m *mux) serve(ctx context.Context, listener *net.TCPListener) error {
	var busy sync.WaitGroup
	defer busy.Wait()
	for order := uint64(1); ; order++ {
		conn, err := listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // out of descriptors, or the client was gone already: neither is the listener's end
			m.log.Warn("accept failed", "err", err)
			if !sleep(ctx, 100*time.Millisecond) {
				return nil
			}
			continue
		}
		from := remoteOf(conn)
		// A far end that had to wait for a processor finds all streams of a transfer at
		// once. They have said what they are, and are not held to what silent ones are.
		first := make([]byte, 0, firstBytes)
		first = first[:arrived(conn, first[:firstBytes])]
		if chosen, _ := m.choose(first); chosen != nil && chosen.brief {
			chosen.handle(&opened{TCPConn: conn, first: first, from: from, order: order})
			continue
		}
		if !m.undecided.enter(from.Addr()) {
			_ = conn.Close()
			m.log.Debug("connection refused: too many that have not said what they are", "from", from)
			continue
		}
		busy.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
			chosen, c, err := m.decide(ctx, conn, from, first)
			undo := stop()
			m.undecided.leave(from.Addr())
			if err != nil || !undo {
				_ = conn.Close()
				m.log.Debug("connection closed", "from", from, "err", err)
				return
			}
			c.order = order
			chosen.handle(c)
		})
	}
}

// decide reads on until one protocol says yes. It never reads past the first
// firstBytes, and gives them to the protocol.
func (m *mux) decide(ctx context.Context, conn *net.TCPConn, from netip.AddrPort, buffer []byte) (*protocol, *opened, error) {
	if err := conn.SetReadDeadline(time.Now().Add(m.within)); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil { // its deadline may just have been overwritten
		return nil, nil, err
	}
	for {
		chosen, undecided := m.choose(buffer)
		switch {
		case chosen != nil:
			return chosen, &opened{TCPConn: conn, first: buffer, from: from}, conn.SetReadDeadline(time.Time{})
		case !undecided || len(buffer) == cap(buffer):
			return nil, nil, fmt.Errorf("its first bytes are of no protocol known here: %q", buffer)
		}
		n, err := conn.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if n == 0 && err != nil {
			return nil, nil, fmt.Errorf("it ended before it said what it is: %w", err)
		}
	}
}

// choose gives the first protocol that says yes, and whether any may yet.
func (m *mux) choose(first []byte) (chosen *protocol, undecided bool) {
	if len(first) == 0 {
		return nil, true
	}
	for i := range m.protocols {
		switch m.protocols[i].match(first) {
		case yes:
			return &m.protocols[i], false
		case more:
			undecided = true
		}
	}
	return nil, undecided
}

// prefix matches what starts with any of the given strings.
func prefix(starts ...string) func([]byte) verdict {
	return func(first []byte) verdict {
		result := no
		for _, start := range starts {
			n := min(len(first), len(start))
			if string(first[:n]) != start[:n] {
				continue
			}
			if n == len(start) {
				return yes
			}
			result = more
		}
		return result
	}
}

// matchPreamble waits for a whole preamble.
func matchPreamble(first []byte) verdict {
	v := prefix(preambleMagic)(first)
	if v == yes && len(first) < preambleSize {
		return more
	}
	return v
}

// matchTLS knows a TLS record with a handshake in it (RFC 8446, 5.1).
var matchTLS = prefix("\x16\x03")

// matchHTTP knows the methods of RFC 9110 and HTTP/2's preface.
var matchHTTP = prefix("GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "CONNECT ", "PATCH ", "PRI * ")

// matchIperf3 knows the cookie that iperf3 clients send first: 36 characters
// and a NUL.
func matchIperf3(first []byte) verdict {
	const characters = 36
	for _, c := range first[:min(len(first), characters)] {
		if !isCookieCharacter(c) {
			return no
		}
	}
	switch {
	case len(first) <= characters:
		return more
	case first[characters] == 0:
		return yes
	}
	return no
}

// isCookieCharacter takes letters, digits and hyphens: iperf3's own cookies are
// of [a-z2-7], other programs send a UUID.
func isCookieCharacter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

func remoteOf(c net.Conn) netip.AddrPort {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		ap := a.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return netip.AddrPort{}
}

// sleep waits, and says whether the context still stands.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
