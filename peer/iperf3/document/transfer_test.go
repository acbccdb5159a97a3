package document

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/bulk/datagram"
)

// A real transfer over the loopback, as the dialling end sees it: the rows have
// all of its bytes, and what was known at the start is what is known at the end.
func TestRealTransfer(t *testing.T) {
	for name, spec := range specs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec.Streams, spec.Omit, spec.Duration, spec.Rate = 2, 300*time.Millisecond, 900*time.Millisecond, 20e6
			r := Record{Result: &bulk.Result{Spec: spec}, Host: "127.0.0.1", Rows: NewRows(spec, 250*time.Millisecond)}
			early, completed := Start{}, 0
			watch := func(p bulk.Progress) {
				if r.Rows.Add(p) {
					if completed++; completed == 1 {
						early = newStart(&r)
					}
				}
			}
			result := tcpTransfer
			if spec.Protocol == bulk.UDP {
				result = udpTransfer
			}
			r.Result = result(t, spec, watch)
			r.Rows.Finish(r.Result.Client)
			doc := New(r)

			if len(doc.Intervals) < 4 || completed < len(doc.Intervals)-1 {
				t.Errorf("%d intervals, of which %d were completed while it ran, want 5 or so and all but the last", len(doc.Intervals), completed)
			}
			if first, last := doc.Intervals[0], doc.Intervals[len(doc.Intervals)-1]; !first.Sum.Omitted || last.Sum.Omitted {
				t.Errorf("omitted are the first interval: %v, and the last: %v", first.Sum.Omitted, last.Sum.Omitted)
			}
			moved, want := map[int]int64{}, map[int]int64{}
			for _, interval := range doc.Intervals {
				for _, s := range interval.Streams {
					checkRate(t, s.Span)
					moved[s.Socket] += s.Bytes
				}
			}
			for _, s := range r.Result.Client.Streams {
				want[s.ID] = s.Bytes + s.Omitted
			}
			if d := cmp.Diff(want, moved); d != "" {
				t.Errorf("bytes of the streams (-recorded +in intervals):\n%s", d)
			}
			if d := cmp.Diff(doc.Start.Connected, early.Connected); d != "" {
				t.Errorf("connections (-in the end +at the start):\n%s", d)
			}
			if doc.End.SumReceived.Bytes == 0 || early.SndBuf == 0 || early.RcvBuf == 0 {
				t.Errorf("%d bytes were received with buffers of %d and %d bytes", doc.End.SumReceived.Bytes, early.SndBuf, early.RcvBuf)
			}
		})
	}
}

// connect calls pair for each stream, with who sends.
func connect(spec bulk.Spec, pair func(id int, clientSends bool)) {
	id := 0
	for _, d := range spec.Directions() {
		for range spec.Streams {
			id++
			pair(id, d == bulk.Forward)
		}
	}
}

func tcpTransfer(t *testing.T, spec bulk.Spec, watch func(bulk.Progress)) *bulk.Result {
	config := net.ListenConfig{}
	config.SetMultipathTCP(false)
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var client, server []bulk.Conn
	connect(spec, func(id int, clientSends bool) {
		near, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		far, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		client = append(client, bulk.Conn{ID: id, Sender: clientSends, TCP: near.(*net.TCPConn)})
		server = append(server, bulk.Conn{ID: id, Sender: !clientSends, Server: true, TCP: far.(*net.TCPConn)})
	})
	result := &bulk.Result{Spec: spec}
	var both sync.WaitGroup
	both.Go(func() {
		if result.Server, err = bulk.Run(t.Context(), spec, server, nil); err != nil {
			t.Error(err)
		}
	})
	end, err := bulk.Run(t.Context(), spec, client, watch)
	if err != nil {
		t.Error(err)
	}
	both.Wait()
	result.Client = end
	return result
}

func udpTransfer(t *testing.T, spec bulk.Spec, watch func(bulk.Progress)) *bulk.Result {
	var client, server []bulk.Conn
	connect(spec, func(id int, clientSends bool) {
		near, far := udpPair(t)
		client = append(client, bulk.Conn{ID: id, Sender: clientSends, UDP: near})
		server = append(server, bulk.Conn{ID: id, Sender: !clientSends, Server: true, UDP: far})
	})
	start := func(conns []bulk.Conn, watch func(bulk.Progress)) *datagram.Running {
		running, err := datagram.Start(t.Context(), spec, conns, watch)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(running.Close)
		return running
	}
	far, near := start(server, nil), start(client, watch)
	select {
	case <-near.Due():
	case <-time.After(20 * time.Second):
		t.Fatal("the transfer was not due within 20 s")
	}
	return &bulk.Result{Spec: spec, Client: near.Stop(), Server: far.Stop()}
}

// udpPair is two sockets that are connected to each other.
func udpPair(t *testing.T) (a, b *net.UDPConn) {
	t.Helper()
	local := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	free, err := net.ListenUDP("udp4", local)
	if err != nil {
		t.Fatal(err)
	}
	to := free.LocalAddr().(*net.UDPAddr)
	if a, err = net.DialUDP("udp4", local, to); err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	if b, err = net.DialUDP("udp4", to, a.LocalAddr().(*net.UDPAddr)); err != nil {
		t.Fatal(err)
	}
	return a, b
}
