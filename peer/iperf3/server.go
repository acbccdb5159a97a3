package iperf3

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// ServerLimits bound what clients may ask of a server.
type ServerLimits struct {
	Time    time.Duration // longest test, the omitted time included; of a number of bytes, longest it may take
	Streams int           // most streams in one direction
}

// Place is what a test has while it runs: there are so many.
type Place interface {
	Lasts(longest time.Duration) // told once it is known
	Leave()                      // called once
}

// ServerConfig is what a server is made of.
type ServerConfig struct {
	Limits ServerLimits
	Enter  func(client netip.Addr) (Place, error) // an error: the client is told that the server is busy
	Users  *Users                                 // who may test; nil: anyone
	JSON   bool                                   // --get-server-output is answered with JSON, as by iperf3 -s -J, not with text
	Within time.Duration                          // a client sends its parameters, and then begins to open its streams; 0: 10 s
	Ended  func(own *bulk.End, err error)         // called when a test is over, with what this end moved; nil own: it was refused before it began; may be nil
	Log    *slog.Logger                           // nil: silent
}

// Server serves iperf3 clients, several at once.
type Server struct {
	ServerConfig
	patience serverPatience
	flows    flows
	parting  chan struct{} // has an element for each connection that is being taken leave of

	mu    sync.Mutex
	tests map[Cookie]*session // those that have a control connection
}

// NewServer makes a server; each connection is given to Serve.
func NewServer(c ServerConfig) *Server {
	patience := usualServerPatience
	if c.Within > 0 {
		patience.parameters, patience.streams = c.Within, c.Within
	}
	return newServer(c, patience)
}

func newServer(c ServerConfig, patience serverPatience) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{ServerConfig: c, patience: patience, parting: make(chan struct{}, maxParting), tests: map[Cookie]*session{}}
}

// Connection is one that a client has opened, for control or for data: both
// begin with a cookie.
type Connection struct {
	TCP   *net.TCPConn
	First []byte // what has been read of it: the cookie, and perhaps more
	Order uint64 // larger than of those that were accepted before: streams are numbered as they come
}

func (c Connection) client() netip.AddrPort {
	from := c.TCP.RemoteAddr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
}

// Serve takes over a connection. Of control it returns when the test is over;
// when ctx ends before, the client is informed that the server has terminated. A
// connection with the cookie of a test whose streams are awaited is one of them.
func (s *Server) Serve(ctx context.Context, c Connection) {
	cookie, err := ParseCookie(c.First[:min(len(c.First), cookieSize)])
	if err != nil {
		_ = c.TCP.Close()
		s.Log.Debug("iperf3 connection refused", "from", c.client(), "err", err)
		return
	}
	t, known := s.named(cookie, c)
	if !known {
		s.test(ctx, t)
		return
	}
	if err := t.door.enter(c); err != nil {
		s.Log.Debug("iperf3 stream refused", "from", c.client(), "err", err)
		s.deny(c.TCP)
	}
}

// named is the test that has the cookie: from now on, if there was none, that
// of c.
func (s *Server) named(cookie Cookie, c Connection) (t *session, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tests[cookie]; t != nil {
		return t, true
	}
	t = &session{Server: s, cookie: cookie, conn: c, client: c.client(), began: time.Now()}
	s.tests[cookie] = t
	return t, false
}

func (s *Server) forget(cookie Cookie) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tests, cookie)
}

// test serves a test from its first connection on, if there is a place.
func (s *Server) test(ctx context.Context, t *session) {
	defer s.forget(t.cookie)
	place, err := s.Enter(t.client.Addr())
	if err != nil {
		s.Log.Debug("iperf3 client refused", "client", t.client, "err", err)
		s.deny(t.conn.TCP)
		return
	}
	err = t.within(ctx, place)
	t.report(err)
	t.tell(err)
	t.part(ctx, err)
}

// within runs the test in its place, and gives that free before the client hears how it
// ended: who is refused may try again at once.
func (t *session) within(ctx context.Context, place Place) error {
	t.place = place
	defer t.vacate()
	return t.run(ctx)
}

// vacate gives the place free, if that is not done.
func (t *session) vacate() {
	if t.place != nil {
		t.place.Leave()
		t.place = nil
	}
}

// deny informs a client that the server is busy, in the one way iperf3 has.
func (s *Server) deny(conn *net.TCPConn) {
	c := control{conn: conn}
	if c.writeState(AccessDenied) != nil {
		_ = conn.Close()
		return
	}
	s.leave(conn)
}

// maxParting bounds what those that are not served can make a server keep.
const maxParting = 64

// leave closes a connection so that what was last written on it arrives: with
// something unread, a close would be a reset, which may overtake it.
func (s *Server) leave(conn *net.TCPConn) {
	defer func() { _ = conn.Close() }()
	select {
	case s.parting <- struct{}{}:
		defer func() { <-s.parting }()
	default:
		return
	}
	_ = conn.CloseWrite()
	_ = conn.SetReadDeadline(time.Now().Add(s.patience.leave))
	_, _ = io.CopyN(io.Discard, conn, maxParameters)
}

// leftover gives what was read of a connection already, then what follows.
type leftover struct {
	*net.TCPConn
	first []byte
}

func (l *leftover) Read(b []byte) (int, error) {
	if len(l.first) > 0 {
		n := copy(b, l.first)
		l.first = l.first[n:]
		return n, nil
	}
	return l.TCPConn.Read(b)
}

// allows says what of a test is more than the limits, as a *[Refusal].
func (l ServerLimits) allows(streams int, longest time.Duration) error {
	if streams > l.Streams {
		return refuse(IENumStreams, "%d streams, and %d are allowed here", streams, l.Streams)
	}
	if longest > l.Time {
		return refuse(IEMaxServerTestDurationExceeded, "a test of %v, and %v are allowed here", longest, l.Time)
	}
	return nil
}
