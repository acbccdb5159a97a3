package datagram

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Over a path that loses nothing, both ends count the same. The rates are such
// that a receiver that waits for its turn on a busy machine has room meanwhile.
func TestBothEndsAgree(t *testing.T) {
	for name, spec := range map[string]bulk.Spec{
		"slow":           {Direction: bulk.Forward, Streams: 1, Length: 1200, Rate: 1 * unit.Mbps},
		"64-bit numbers": {Direction: bulk.Forward, Streams: 1, Length: 16, Rate: 100 * unit.Kbps, Counters64: true},
		"reverse":        {Direction: bulk.Reverse, Streams: 2, Length: 1448, Rate: 4 * unit.Mbps},
		"both ways":      {Direction: bulk.Both, Streams: 2, Length: 1448, Rate: 3 * unit.Mbps, Omit: 100 * time.Millisecond},
		"bursts":         {Direction: bulk.Forward, Streams: 1, Length: 1000, Rate: 3 * unit.Mbps, Burst: 10},
		"fragments":      {Direction: bulk.Forward, Streams: 1, Length: MaxLength, Rate: 3 * unit.Mbps},
		"truncated":      {Direction: bulk.Forward, Streams: 1, Length: 9000, Rate: 3 * unit.Mbps, RecvPath: bulk.RecvTruncate},
		"marked":         {Direction: bulk.Forward, Streams: 1, Rate: 2 * unit.Mbps, TOS: 0xb8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec.Protocol, spec.Duration, spec.Interval = bulk.UDP, 300*time.Millisecond, 50*time.Millisecond
			spec.RecvBuf = 1 << 20 // the kernel gives what it allows
			client, server := transfer(t, spec)
			for i, s := range client.Streams {
				r := server.Streams[i]
				if !s.Sender {
					s, r = r, s
				}
				sent, got := s.Datagrams, r.Datagrams
				if sent == nil || got == nil {
					t.Fatalf("flow %d: no datagrams", s.ID)
				}
				if got.Lost != 0 || got.OutOfOrder != 0 || got.Malformed != 0 {
					t.Errorf("flow %d: received %+v, want no loss", s.ID, *got)
				}
				// Where the omitted time ends, each end's clock decides. Of a test in
				// both directions, the end that dialled stops while the other sends.
				stillSent := spec.Direction == bulk.Both && !client.Streams[i].Sender
				if more := sent.Packets + sent.Omitted.Packets - got.Packets - got.Omitted.Packets; more != 0 && !stillSent || more < 0 {
					t.Errorf("flow %d: sent %+v, received %+v", s.ID, *sent, *got)
				}
				if more := s.Bytes + s.Omitted - r.Bytes - r.Omitted; more != 0 && !stillSent || more < 0 {
					t.Errorf("flow %d: %d+%d bytes sent, %d+%d received", s.ID, s.Bytes, s.Omitted, r.Bytes, r.Omitted)
				}
				if s.Elapsed < spec.Duration || r.Elapsed <= 0 {
					t.Errorf("flow %d: elapsed %v and %v", s.ID, s.Elapsed, r.Elapsed)
				}
				// Never more than the rate and a burst. TestPacer shows that it is not
				// less either, for a thread that has its turn.
				burst := s.Bytes / max(1, sent.Packets) * int64(max(1, spec.Burst))
				if most := int64(spec.Rate.BytesIn(spec.Omit+s.Elapsed)) + burst; s.Bytes+s.Omitted > most {
					t.Errorf("flow %d: %d+%d bytes in %v+%v, want up to %d", s.ID, s.Omitted, s.Bytes, spec.Omit, s.Elapsed, most)
				}
				if last := r.Samples[len(r.Samples)-1]; last.UDP == nil || *last.UDP != *got || last.Bytes != r.Bytes+r.Omitted {
					t.Errorf("flow %d: last sample %+v, want what came in all: %+v", s.ID, last.UDP, got)
				}
			}
		})
	}
}

// Without a rate, a flow goes as fast as it can; what the receiver has no room
// for is lost, and nothing is counted twice.
func TestUnpaced(t *testing.T) {
	client, server := transfer(t, bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 1, Length: 1448, Duration: 300 * time.Millisecond})
	sent, got := client.Streams[0].Datagrams, server.Streams[0].Datagrams
	came := server.Streams[0].Bytes / 1448
	if sent.Packets < 1000 || came+got.Lost != got.Packets || got.Packets > sent.Packets {
		t.Errorf("sent %+v, received %+v and %d datagrams", *sent, *got, came)
	}
}

// A transfer of bytes sends whole datagrams, and the receiver knows when it has
// them all.
func TestBytes(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 3, Length: 1000, Rate: 4 * unit.Mbps, Bytes: 250_001}
	a, b := flows(t, spec)
	far, near := start(t, spec, b), start(t, spec, a)
	due(t, near)
	due(t, far)
	settle(far) // shares are rounded up: more than is due may be under way
	for _, end := range []bulk.End{near.Stop(), far.Stop()} {
		var bytes int64
		for _, s := range end.Streams {
			bytes += s.Bytes
		}
		if bytes != 252_000 || end.Error != "" { // 84 datagrams for a third each
			t.Errorf("%d bytes moved, want 252000; error %q", bytes, end.Error)
		}
	}
}

// One byte takes one datagram.
func TestOneByte(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Reverse, Streams: 1, Length: 500, Bytes: 1}
	a, b := flows(t, spec)
	near, far := start(t, spec, a), start(t, spec, b)
	due(t, near)
	if end := near.Stop(); end.Streams[0].Bytes != 500 || end.Streams[0].Datagrams.Packets != 1 {
		t.Errorf("received %+v, want one datagram", end.Streams[0].Datagrams)
	}
	due(t, far)
}

// What comes after Stop is neither counted nor refused.
func TestStopFreezes(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 1, Rate: 5 * unit.Mbps, Duration: time.Minute}
	a, b := flows(t, spec)
	far, near := start(t, spec, b), start(t, spec, a)
	time.Sleep(200 * time.Millisecond)
	end := far.Stop()
	time.Sleep(200 * time.Millisecond)
	if again := far.Stop(); again.Streams[0].Bytes != end.Streams[0].Bytes || end.Streams[0].Bytes == 0 {
		t.Errorf("%d bytes, then %d", end.Streams[0].Bytes, again.Streams[0].Bytes)
	}
	if err := near.Failed(); err != nil {
		t.Errorf("sender: %v", err)
	}
	near.Stop()
}

// A sender notices, after a second, that the peer's socket is closed; after Stop
// it does not matter.
func TestPeerCloses(t *testing.T) {
	t.Parallel() // it mostly waits
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 1, Rate: 5 * unit.Mbps, Duration: time.Minute}
	a, b := flows(t, spec)
	b[0].UDP.Close()
	near := start(t, spec, a)
	due(t, near)
	if err := near.Failed(); err == nil || !strings.Contains(err.Error(), "nobody is there any more") {
		t.Errorf("failed: %v", err)
	}
	if end := near.Stop(); end.Error == "" || end.Streams[0].Elapsed < unreachableFor {
		t.Errorf("end %q after %v", end.Error, end.Streams[0].Elapsed)
	}
}

// Single ICMP errors, long apart, do not add up.
func TestRefusals(t *testing.T) {
	var r refusals
	for _, step := range []struct{ at, want time.Duration }{
		{2 * time.Second, 0}, {7 * time.Second, 0}, {8 * time.Second, time.Second}, {10 * time.Second, 3 * time.Second}, {14 * time.Second, 0},
	} {
		if got := r.last(step.at); got != step.want {
			t.Errorf("at %v they have come for %v, want %v", step.at, got, step.want)
		}
	}
}

// A receiver that gets nothing has a result all the same.
func TestSilence(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Reverse, Streams: 1, Duration: 100 * time.Millisecond}
	a, b := flows(t, spec)
	defer b[0].UDP.Close()
	near := start(t, spec, a)
	due(t, near)
	end := near.Stop()
	if s := end.Streams[0]; end.Error != "" || s.Bytes != 0 || s.Elapsed < spec.Duration || *s.Datagrams != (bulk.Datagrams{}) {
		t.Errorf("end %q, stream %+v", end.Error, s)
	}
}

// What is no datagram of the test is not counted as one.
func TestMalformed(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 1, Length: 100, Duration: time.Minute, Counters64: true}
	a, b := flows(t, spec)
	defer a[0].UDP.Close()
	far := start(t, spec, b)
	write := func(length int, number int64) {
		d := make([]byte, length)
		if length >= headerSize64 {
			header{wide: true}.put(d, number, time.Second)
		}
		if _, err := a[0].UDP.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	write(100, 1)
	write(0, 0)
	write(15, 0)
	write(100, 0)
	write(100, -1)
	write(100, 1<<40)
	write(100, math.MaxInt64)
	write(100, 100_000) // held
	write(100, 2)
	write(16, 3)
	time.Sleep(100 * time.Millisecond)
	s := far.Stop().Streams[0]
	if want := (bulk.Datagrams{Packets: 3, Malformed: 7}); s.Bytes != 216 || s.Datagrams.Packets != want.Packets || s.Datagrams.Malformed != want.Malformed || s.Datagrams.Lost != 0 {
		t.Errorf("%d bytes, %+v, want 216 and %+v", s.Bytes, *s.Datagrams, want)
	}
}

// The context's end is the transfer's, soon.
func TestContext(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Both, Streams: 1, Rate: 10 * unit.Kbps, Duration: time.Minute}
	a, b := flows(t, spec)
	ctx, cancel := context.WithCancelCause(t.Context())
	near, err := Start(ctx, spec, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	start(t, spec, b)
	why := errors.New("enough")
	cancel(why)
	due(t, near)
	if err := near.Failed(); !errors.Is(err, why) {
		t.Errorf("failed: %v, want %v", err, why)
	}
	if end := near.Stop(); !strings.Contains(end.Error, "enough") {
		t.Errorf("end: %q", end.Error)
	}
}

func TestStartRefuses(t *testing.T) {
	good := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 1, Duration: time.Second}
	for want, spoil := range map[string]func(*bulk.Spec, *[]bulk.Conn){
		"datagrams of 15 bytes: use 16 to 65507":    func(s *bulk.Spec, _ *[]bulk.Conn) { s.Length = 15 },
		"datagrams of 65508 bytes: use 16 to 65507": func(s *bulk.Spec, _ *[]bulk.Conn) { s.Length = 65508 },
		"there are no flows":                        func(_ *bulk.Spec, c *[]bulk.Conn) { *c = nil },
		"flow 1 has no connected UDP socket":        func(_ *bulk.Spec, c *[]bulk.Conn) { *c = []bulk.Conn{{ID: 1}} },
		"burst 1001: use up to 1000":                func(s *bulk.Spec, _ *[]bulk.Conn) { s.Burst = 1001 },
	} {
		a, b := pair(t, "udp4", "127.0.0.1")
		spec, conns := good, []bulk.Conn{{ID: 1, Sender: true, UDP: a}}
		spoil(&spec, &conns)
		r, err := Start(t.Context(), spec, conns, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("start: %v, want %q", err, want)
		}
		if r != nil {
			r.Close()
		}
		if len(conns) == 1 && conns[0].UDP != nil {
			if _, err := a.Write(nil); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: the socket was not closed: %v", want, err)
			}
		}
		a.Close()
		b.Close()
	}
}
