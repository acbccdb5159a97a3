package iperf3

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// Whatever the other end says, and in whatever order, a server and a client come
// to their end, and keep to the order themselves. Both are the real ones: asked
// and over are what a client sends, until the streams are awaited and when data
// moves; begun and told what a server does, until data moves and behind its end.
func FuzzState(f *testing.F) {
	for _, name := range exchangeNames(f) {
		e := readExchange(f, name)
		client := e.client[cookieSize:]
		asked := 4 + int(binary.BigEndian.Uint32(client))
		begun := bytes.IndexByte(e.server, byte(TestRunning)) + 1
		f.Add(client[:asked], client[asked:], e.server[:begun], e.server[begun:])
	}
	f.Add(numbers(0xffffffff), []byte{byte(TestEnd)}, numbers(0xfe000000, 7), []byte{})
	server := startServer(f, ServerConfig{})
	f.Fuzz(func(t *testing.T, asked, over, begun, told []byte) {
		began := time.Now()
		heard := askServer(t, server, asked, over)
		if !lawful(heard) {
			t.Errorf("the server said % x", heard[:min(len(heard), 100)])
		}
		for server.places.Load() != 0 && time.Since(began) < 5*time.Second {
			time.Sleep(100 * time.Microsecond)
		}
		address := play(t, func(s *stage) { s.recite(begun, told) })
		spec := bulk.Spec{Direction: bulk.Forward, Streams: 1, Bytes: 1000, Length: 1000}
		r, err := test(t.Context(), address, Options{Spec: spec}, nil, hurried)
		if (err == nil) != (r.Failed == nil) || err == nil && len(r.Result.Server.Streams) != 1 {
			t.Errorf("error %v, recorded %v, %d streams", err, r.Failed, len(r.Result.Server.Streams))
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// hurried gives a client that is fuzzed more than a loopback takes.
var hurried = clientPatience{
	connect: time.Second, answer: 50 * time.Millisecond, results: 50 * time.Millisecond,
	word: 50 * time.Millisecond, last: 50 * time.Millisecond, silence: 50 * time.Millisecond,
	read: time.Millisecond, alive: keepAlive,
}

// askServer is a client that opens the streams it has asked for, if the server
// wants them, and what it hears.
func askServer(t *testing.T, server *served, asked, over []byte) (heard []byte) {
	dial := func(cookie Cookie) *net.TCPConn {
		conn, err := net.Dial("tcp", server.address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = conn.Write(cookie[:])
		return conn.(*net.TCPConn)
	}
	cookie := NewCookie()
	conn := dial(cookie)
	defer conn.Close()
	_, _ = conn.Write(asked)
	var p Parameters
	whole := len(asked) >= 4 && int64(binary.BigEndian.Uint32(asked)) <= int64(len(asked)-4)
	if !whole {
		_ = conn.CloseWrite() // there is no more
	} else {
		_ = json.Unmarshal(asked[4:4+binary.BigEndian.Uint32(asked)], &p)
	}
	spec, _, wrong := p.Spec()
	for b := make([]byte, 1); ; {
		if _, err := conn.Read(b); err != nil {
			return heard
		}
		heard = append(heard, b[0])
		ready := len(heard) == 4
		if len(heard) == 2 && State(b[0]) == CreateStreams {
			for range connections(spec) {
				if wrong == nil && !p.UDP {
					stream := dial(cookie)
					defer stream.Close()
				}
			}
			ready = p.UDP
		}
		if ready {
			_, _ = conn.Write(over)
			_ = conn.CloseWrite()
		}
	}
}

// lawful says that a server has kept to the order, up to where it ended.
func lawful(said []byte) bool {
	for i, want := range []State{ParamExchange, CreateStreams, TestStart, TestRunning, ExchangeResults} {
		if i == len(said) {
			return true
		}
		if State(said[i]) == ServerError {
			return len(said) == i+1+8
		}
		if State(said[i]) != want {
			return false
		}
	}
	rest := said[5:]
	if len(rest) == 0 {
		return true
	}
	if len(rest) < 4 {
		return false
	}
	n := binary.BigEndian.Uint32(rest)
	return int64(len(rest)) == int64(n)+4+1 && json.Valid(rest[4:4+n]) && State(rest[4+n]) == DisplayResults
}

// recite says what it is given: it takes a stream where it has asked for one,
// and says the rest when the client has ended the test.
func (s *stage) recite(begun, told []byte) {
	s.read(cookieSize)
	ask := slices.Index(begun, byte(CreateStreams)) + 1
	s.write(begun[:ask])
	if ask > 0 {
		_ = s.listener.SetDeadline(time.Now().Add(50 * time.Millisecond))
		if conn, err := s.listener.AcceptTCP(); err == nil {
			s.streams = append(s.streams, conn)
			s.moving.Go(func() { _, _ = io.Copy(io.Discard, conn) })
		}
		_ = s.listener.SetDeadline(time.Time{})
	}
	s.write(begun[ask:])
	_ = s.control.SetReadDeadline(time.Now().Add(100 * time.Millisecond)) // perhaps the client waits for more
	s.read(int(min(binary.BigEndian.Uint32(s.read(4)), maxParameters)))
	s.hear()
	s.gone = false
	_ = s.control.SetReadDeadline(time.Now().Add(5 * time.Second))
	s.write(told)
	_ = s.control.CloseWrite()
	s.silence()
}
