package iperf3

import (
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/freeport"
)

// relay stands before a server: it passes connections and datagrams on, and does
// with the datagrams that open a flow, or answer that, what forth and back say.
type relay struct {
	t       *testing.T
	to      string
	address string
	udp     *net.UDPConn

	hello, answer func(n int) (wait time.Duration, lost bool) // n: 0 for the first one

	mu    sync.Mutex
	flows map[netip.AddrPort]net.Conn
}

func (r *relay) start() {
	r.t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", freeport.Find(r.t)))
	if err != nil {
		r.t.Fatal(err)
	}
	r.address, r.flows = listener.Addr().String(), map[netip.AddrPort]net.Conn{}
	if r.udp, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(r.address))); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		listener.Close()
		r.udp.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, c := range r.flows {
			c.Close()
		}
	})
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", r.to)
			if err != nil {
				near.Close() // the client tries again
				continue
			}
			go func() { io.Copy(far, near); far.(*net.TCPConn).CloseWrite() }()
			go func() { io.Copy(near, far); near.(*net.TCPConn).CloseWrite() }()
		}
	}()
	go r.datagrams()
}

// datagrams passes on what clients send.
func (r *relay) datagrams() {
	hellos := 0
	for b := make([]byte, 1<<16); ; {
		n, from, err := r.udp.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		r.mu.Lock()
		far := r.flows[from]
		if far == nil {
			if far, err = net.Dial("udp", r.to); err != nil {
				r.t.Error(err)
			}
			r.flows[from] = far
			go r.answers(far, from)
		}
		r.mu.Unlock()
		if answerTo(b[:n]) != nil && r.hello != nil {
			wait, lost := r.hello(hellos)
			hellos++
			if lost {
				continue
			}
			time.Sleep(wait)
		}
		far.Write(b[:n])
	}
}

// answers passes on what the server sends.
func (r *relay) answers(far net.Conn, to netip.AddrPort) {
	answers := 0
	for b := make([]byte, 1<<16); ; {
		n, err := far.Read(b)
		if err != nil {
			return
		}
		if isAnswer(b[:n]) && r.answer != nil {
			wait, lost := r.answer(answers)
			answers++
			if lost {
				continue
			}
			time.Sleep(wait)
		}
		r.udp.WriteToUDPAddrPort(b[:n], to)
	}
}

// A stock server survives what our client does when a flow does not open at
// once: what is said again opens the flow, or counts as one datagram out of
// order, and never as a loss.
func TestStockServerOpensSlowly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hello, answer func(int) (time.Duration, bool)
		streams       int
		outOfOrder    []int64
	}{
		"hello lost": {hello: func(n int) (time.Duration, bool) { return 0, n == 0 }, streams: 1, outOfOrder: []int64{0}},
		// That the server begins is an answer for the last flow.
		"answer late": {answer: func(int) (time.Duration, bool) { return 2 * time.Second, false }, streams: 2, outOfOrder: []int64{1, 0}},
		"answer lost": {answer: func(int) (time.Duration, bool) { return 0, true }, streams: 1, outOfOrder: []int64{0}},
	} {
		for _, wide := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := stockServer(t, "-1", "-J")
				r := &relay{t: t, to: server.at("127.0.0.1"), hello: c.hello, answer: c.answer}
				r.start()
				spec := short(bulk.Forward)
				spec.Protocol, spec.Streams, spec.Rate, spec.Length, spec.Counters64 = bulk.UDP, c.streams, 1e6, 1000, wide
				patience := patient
				patience.read = time.Second // the relay may have to wait for its turn
				record, err := test(t.Context(), r.address, Options{Spec: spec}, nil, patience)
				if err != nil {
					t.Fatal(err)
				}
				server.account()
				var own struct {
					End struct {
						Streams []struct {
							UDP struct {
								OutOfOrder int64 `json:"out_of_order"`
							} `json:"udp"`
						} `json:"streams"`
					} `json:"end"`
				}
				if err := json.Unmarshal([]byte(server.output.String()), &own); err != nil || len(own.End.Streams) != c.streams {
					t.Fatalf("the server's document: %v", err)
				}
				for i, want := range c.outOfOrder {
					sent, got := record.Result.Client.Streams[i].Datagrams, record.Result.Server.Streams[i].Datagrams
					if got == nil || got.Lost > sent.Packets/10 || got.Packets != sent.Packets { // a busy host loses some
						t.Errorf("flow %d: the server counted %+v, sent were %+v", i, got, sent)
					}
					if n := own.End.Streams[i].UDP.OutOfOrder; n != want {
						t.Errorf("flow %d: the server counted %d out of order, want %d", i, n, want)
					}
				}
			})
		}
	}
}
