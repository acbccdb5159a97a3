package iperf3

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fullbore/fullbore/internal/transcript"
)

// served is a server within this process, on a port of its own.
type served struct {
	*Server
	port    string
	address string // of the loopback
	log     *transcript.Log
	places  atomic.Int64 // taken
	stop    func()
}

type countedPlace struct{ places *atomic.Int64 }

func (countedPlace) Lasts(time.Duration) {}
func (p countedPlace) Leave()            { p.places.Add(-1) }

// hastyServer waits for clients as a server does, only not as long.
var hastyServer = serverPatience{
	parameters: time.Second, streams: time.Second, stream: 10 * time.Millisecond,
	grace: time.Second, silence: 2 * time.Second, word: 200 * time.Millisecond,
	results: time.Second, drain: time.Second, quiet: 200 * time.Millisecond,
	done: time.Second, leave: 200 * time.Millisecond,
	alive: net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 2},
}

func startServer(t testing.TB, c ServerConfig) *served {
	t.Helper()
	s := &served{log: &transcript.Log{}}
	c.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if c.Limits == (ServerLimits{}) {
		c.Limits = ServerLimits{Time: 10 * time.Second, Streams: 8}
	}
	c.Enter = func(netip.Addr) (Place, error) {
		if s.places.Add(1) > 5 {
			s.places.Add(-1)
			return nil, errors.New("no place")
		}
		return countedPlace{&s.places}, nil
	}
	s.Server = newServer(c, hastyServer)
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	_, s.port, _ = net.SplitHostPort(listener.Addr().String())
	s.address = net.JoinHostPort("127.0.0.1", s.port)
	ctx, stop := context.WithCancelCause(context.Background())
	s.stop = func() { stop(errors.New("the test is over")) }
	var busy sync.WaitGroup
	busy.Go(func() {
		for order := uint64(1); ; order++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			busy.Go(func() {
				first := make([]byte, cookieSize)
				if _, err := io.ReadFull(conn, first); err != nil {
					_ = conn.Close()
					return
				}
				s.Serve(ctx, Connection{TCP: conn.(*net.TCPConn), First: first, Order: order})
			})
		}
	})
	t.Cleanup(func() {
		s.stop()
		_ = listener.Close()
		busy.Wait()
		if n := s.places.Load(); n != 0 || len(s.tests) != 0 {
			t.Errorf("%d places are still taken, %d tests known", n, len(s.tests))
		}
	})
	return s
}

// script is a client that does as it is told, byte by byte.
type script struct {
	*testing.T
	server *served
	cookie Cookie
	conn   *net.TCPConn
	last   *net.TCPConn // stream
}

func begin(t *testing.T, s *served) *script {
	c := &script{T: t, server: s, cookie: NewCookie()}
	c.conn = c.dial(c.cookie[:])
	return c
}

func (c *script) dial(first []byte) *net.TCPConn {
	c.Helper()
	conn, err := net.Dial("tcp", c.server.address)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // against hangs
	if _, err := conn.Write(first); err != nil {
		c.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// send writes states, texts, or values as JSON behind their length.
func (c *script) send(what ...any) {
	c.Helper()
	for _, w := range what {
		var b []byte
		switch w := w.(type) {
		case State:
			b = []byte{byte(w)}
		case []byte:
			b = w
		default:
			text, err := json.Marshal(w)
			if err != nil {
				c.Fatal(err)
			}
			b = append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
		}
		if _, err := c.conn.Write(b); err != nil {
			c.Fatal(err)
		}
	}
}

// hear reads exactly what is wanted.
func (c *script) hear(want ...State) {
	c.Helper()
	for _, w := range want {
		var b [1]byte
		if _, err := io.ReadFull(c.conn, b[:]); err != nil || State(b[0]) != w {
			c.Fatalf("heard %v, %v instead of %v\n%s", State(b[0]), err, w, c.server.log)
		}
	}
}

// hearError reads a ServerError with that number, and the end.
func (c *script) hearError(want Number) {
	c.Helper()
	c.hear(ServerError)
	rest, err := io.ReadAll(c.conn)
	if err != nil || len(rest) != 8 || Number(binary.BigEndian.Uint32(rest)) != want {
		c.Fatalf("heard % x, %v behind SERVER_ERROR, want %d: %v", rest, err, want, want)
	}
}

// hearEnd reads the end of the connection.
func (c *script) hearEnd() {
	c.Helper()
	if rest, err := io.ReadAll(c.conn); err != nil || len(rest) != 0 {
		c.Fatalf("heard % x, %v instead of the end", rest, err)
	}
}

// hearResults reads the server's.
func (c *script) hearResults() (r Results) {
	c.Helper()
	var length [4]byte
	if _, err := io.ReadFull(c.conn, length[:]); err != nil {
		c.Fatal(err)
	}
	text := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(c.conn, text); err != nil {
		c.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		c.Fatal(err)
	}
	return r
}

// asks are parameters of a stock client, with some changed.
func asks(change ...func(*Parameters)) Parameters {
	p := Parameters{TCP: true, Time: 1, Parallel: 1, Len: 1000, PacingTimer: 1000, ClientVersion: "3.12"}
	for _, c := range change {
		c(&p)
	}
	return p
}

func udp(p *Parameters) { p.TCP, p.UDP = false, true }

// starts goes through the exchange until the test runs.
func (c *script) starts() *net.TCPConn {
	c.Helper()
	c.hear(ParamExchange)
	c.send(asks())
	c.hear(CreateStreams)
	c.last = c.dial(c.cookie[:])
	c.hear(TestStart, TestRunning)
	return c.last
}

// keepsSending sends without end, a little.
func (c *script) keepsSending() {
	go func() {
		for {
			if _, err := c.last.Write([]byte("data")); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
}

func binaryLength(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// reports are a client's results for streams with so many bytes each.
func reports(bytes ...int64) Results {
	r := Results{SenderHasRetransmits: 1, Streams: []StreamResults{}}
	for i, n := range bytes {
		r.Streams = append(r.Streams, StreamResults{ID: StreamID(i), Bytes: n, EndTime: 1})
	}
	return r
}

// Most tests wait for the other end most of the time: more of them go at once
// than there are processors, unless -parallel is given.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "10")
	os.Exit(m.Run())
}
