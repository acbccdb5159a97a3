package ndt7

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fullbore/fullbore/bulk"
)

// generous is a bound against hangs, not a measure.
const generous = 30 * time.Second

// server is a Handler on loopback, and what its tests came to.
type server struct {
	*httptest.Server
	served chan Served
}

func startServer(t *testing.T, h *Handler, secure bool) *server {
	t.Helper()
	s := &server{served: make(chan Served, 16)}
	h.Done = func(came Served) { s.served <- came }
	s.Server = start(t, h, secure)
	return s
}

// start serves on loopback, with the failed handshakes that tests make on
// purpose kept out of their output.
func start(t *testing.T, h http.Handler, secure bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnContext = ConnContext
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// targetOf is how a client names a server.
func targetOf(s *httptest.Server) string {
	if address, secure := strings.CutPrefix(s.URL, "https://"); secure {
		return "ndt7s://" + address
	}
	return "ndt7://" + strings.TrimPrefix(s.URL, "http://")
}

// came waits for the end of a test.
func (s *server) came(t *testing.T) Served {
	t.Helper()
	select {
	case came := <-s.served:
		return came
	case <-time.After(generous):
		t.Fatal("the server's end of the test never ended")
		return Served{}
	}
}

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), limit)
	t.Cleanup(done)
	return ctx
}

// open opens a test's WebSocket without being a client of the protocol.
func open(t *testing.T, s *httptest.Server, path string) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(within(t, generous), s.URL+path, &websocket.DialOptions{Subprotocols: []string{Subprotocol}})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(readLimit)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

var bothDirections = []bulk.Direction{bulk.Forward, bulk.Reverse}
