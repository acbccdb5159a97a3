package ndt7

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/fullbore/fullbore/bulk"
)

// Handler answers requests for ndt7 tests and runs them. It needs [ConnContext]
// in the http.Server whose handler it is.
//
// A test takes ten seconds, fifteen at the very most, and ends with the context
// of its request: give the http.Server a BaseContext that ends with it.
type Handler struct {
	// Admit makes place for a test, or says why there is none, best with a
	// [Busy]: the answer is then 503. The place is released once. nil: there is
	// always place.
	Admit func(*http.Request) (release func(), err error)
	// Foreign is how many tests at once pages of other hosts may begin; more are
	// answered with 503, or with 403 where none may.
	Foreign int
	// Longest bounds a test to less than ten seconds; 0: it does not.
	Longest time.Duration
	// Refused is told of each test that did not begin as there was no place for it, or
	// none for the page that asked. nil: nobody is.
	Refused func(error)
	// Done gets the outcome of each test. nil: it is not reported.
	Done func(Served)

	foreign  atomic.Int64  // running
	patience time.Duration // how long nothing may move; 0: ioPatience
}

// Busy says that a server has no place for another test.
type Busy struct {
	After time.Duration // when there may be one; 0: not known
}

func (b *Busy) Error() string {
	const says = "as many tests are running as there may be at once"
	if b.After <= 0 {
		return says
	}
	return fmt.Sprintf("%s: try again in %v", says, b.After.Round(time.Second))
}

// Served is one test as the server saw it.
type Served struct {
	Client    netip.AddrPort
	Direction bulk.Direction // Forward: upload, Reverse: download
	Bytes     int64          // of load, written or read by this application
	Elapsed   time.Duration  // in which it was
	Origin    string         // of the web page that began it, not trusted; "" if none did
	Err       error          // why it ended early; nil also if the client left, as it may
}

type connKey struct{}

// ConnContext is for http.Server.ConnContext.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// tcpConn is the connection of a request, below TLS and whatever wraps it.
func tcpConn(ctx context.Context) *net.TCPConn {
	conn, _ := ctx.Value(connKey{}).(net.Conn)
	for {
		switch c := conn.(type) {
		case *net.TCPConn:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// ServeHTTP runs one test.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wish, err := understand(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	tcp := tcpConn(r.Context())
	if tcp == nil {
		refuse(w, http.StatusInternalServerError, errors.New("the server does not know the connection: it lacks ConnContext"))
		return
	}
	release, err := h.admit(r)
	if err != nil {
		if h.Refused != nil {
			h.Refused(err)
		}
		var busy *Busy
		if errors.As(err, &busy) && busy.After > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(busy.After.Seconds())+1))
		}
		status := http.StatusServiceUnavailable
		if errors.Is(err, errForeign) {
			status = http.StatusForbidden
		}
		refuse(w, status, err)
		return
	}
	defer release()
	// Whose page it is was looked at: see foreign.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Subprotocol}, InsecureSkipVerify: true})
	if err != nil {
		return // and answered
	}
	duration := usualDuration
	if h.Longest > 0 {
		duration = min(duration, h.Longest)
	}
	s := newSession(ws, tcp, wish, duration)
	if h.patience > 0 {
		s.patience = h.patience
	}
	err = s.run(r.Context())
	if h.Done != nil {
		h.Done(Served{
			Client: s.client(), Direction: wish.direction, Bytes: s.counted(), Elapsed: s.took,
			Origin: r.Header.Get("Origin"), Err: err,
		})
	}
}

var errForeign = errors.New("web pages of other hosts may not begin tests here")

// admit makes place for a test.
func (h *Handler) admit(r *http.Request) (release func(), err error) {
	leave := func() {}
	if foreign(r) {
		if h.Foreign <= 0 {
			return nil, errForeign
		}
		if h.foreign.Add(1) > int64(h.Foreign) {
			h.foreign.Add(-1)
			return nil, &Busy{After: LongestTest}
		}
		leave = func() { h.foreign.Add(-1) }
	}
	if h.Admit == nil {
		return leave, nil
	}
	free, err := h.Admit(r)
	if err != nil {
		leave()
		return nil, err
	}
	return func() { free(); leave() }, nil
}

// refuse answers and ends the connection: as M-Lab's server does.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Connection", "close")
	http.Error(w, err.Error(), status)
}
