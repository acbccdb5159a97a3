package iperf3

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/fullbore/fullbore/peer/iperf3/document"
)

// stage is where a server of a few lines plays its part: one test, with one
// control connection and its streams. Its calls stop where the client is gone:
// what is tested is what the client makes of it.
type stage struct {
	t        *testing.T
	listener *net.TCPListener
	control  *net.TCPConn
	streams  []*net.TCPConn
	gone     bool
	moving   sync.WaitGroup
	moved    chan struct{} // a value when data has come on a stream
}

// play runs a server that plays script for each control connection, and is its
// address. When the script ends, all connections are closed.
func play(t *testing.T, script func(*stage)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var playing sync.WaitGroup
	t.Cleanup(func() { l.Close(); playing.Wait() })
	playing.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s := &stage{t: t, listener: l.(*net.TCPListener), control: conn.(*net.TCPConn), moved: make(chan struct{}, 1)}
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			script(s)
			s.control.Close()
			for _, stream := range s.streams {
				stream.Close()
			}
			s.moving.Wait()
		}
	})
	return l.Addr().String()
}

// say sends bytes: states, mostly.
func (s *stage) say(states ...State) {
	for _, state := range states {
		s.write([]byte{byte(state)})
	}
}

func (s *stage) write(b []byte) {
	if s.gone {
		return
	}
	_, err := s.control.Write(b)
	s.gone = err != nil
}

func (s *stage) number(n uint32) { s.write(binary.BigEndian.AppendUint32(nil, n)) }

func (s *stage) json(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		s.t.Error(err)
	}
	s.number(uint32(len(text)))
	s.write(text)
}

func (s *stage) read(n int) []byte {
	b := make([]byte, n)
	if !s.gone {
		_, err := io.ReadFull(s.control, b)
		s.gone = err != nil
	}
	return b
}

// hear waits for what the client says next.
func (s *stage) hear() State { return State(s.read(1)[0]) }

func (s *stage) object(v any) {
	n := min(binary.BigEndian.Uint32(s.read(4)), 1<<20)
	if text := s.read(int(n)); !s.gone {
		if err := json.Unmarshal(text, v); err != nil {
			s.t.Errorf("the client sent %q: %v", text, err)
		}
	}
}

// greet takes the cookie and lets the client in.
func (s *stage) greet() { s.read(cookieSize); s.say(ParamExchange) }

// agree also takes the parameters.
func (s *stage) agree() map[string]any {
	s.greet()
	var p map[string]any
	s.object(&p)
	return p
}

// take accepts n streams, and reads what comes on them.
func (s *stage) take(n int) {
	s.say(CreateStreams)
	for range n {
		_ = s.listener.SetDeadline(time.Now().Add(2 * time.Second))
		conn, err := s.listener.AcceptTCP()
		if err != nil {
			s.gone = true
			break
		}
		s.streams = append(s.streams, conn)
		s.moving.Go(func() {
			if _, err := io.CopyN(io.Discard, conn, 1<<20); err == nil {
				s.moved <- struct{}{}
			}
			_, _ = io.Copy(io.Discard, conn)
		})
	}
	_ = s.listener.SetDeadline(time.Time{})
}

// begin goes on until data moves, on one stream.
func (s *stage) begin() {
	s.agree()
	s.take(1)
	s.say(TestStart, TestRunning)
}

// measure goes on until the client ends the test.
func (s *stage) measure() {
	s.begin()
	s.hear() // TestEnd
	s.say(ExchangeResults)
	var theirs map[string]any
	s.object(&theirs)
}

// silence lasts until the client is gone.
func (s *stage) silence() { s.read(1 << 20) }

// drip sends a byte now and then, until the client is gone.
func (s *stage) drip() {
	for !s.gone {
		s.write([]byte{' '})
		time.Sleep(10 * time.Millisecond)
	}
}

func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	conn.Close()
}

func testWith(t *testing.T, address string, o Options) (*document.Record, error) {
	t.Helper()
	return test(t.Context(), address, o, nil, hasty)
}
