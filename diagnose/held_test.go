package diagnose

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// What one sample says of what held the sender back.
func TestOneSample(t *testing.T) {
	const mss = 1000
	plain := bulk.Sample{Unsent: 1 << 20, TCP: bulk.TCPInfo{Length: 280, RTT: 40_000, SndMSS: mss, SndCwnd: 100, SndWnd: 200 * mss, Unacked: 50}, Mem: bulk.SockMem{SendBuf: 400 * mss, SendQueued: 50 * mss}}
	windowFull, cwndFull, drained := (*view).windowFull, (*view).cwndFull, (*view).drained
	outgrown, halfEmpty, silent := (*view).outgrown, (*view).halfEmpty, (*view).silent
	for _, c := range []struct {
		name   string
		figure func(*view) float64
		change func(s *bulk.Sample)
		want   bool
	}{
		{"window: half of the congestion window is on its way", windowFull, func(*bulk.Sample) {}, false},
		{"window: a tenth is left", windowFull, func(s *bulk.Sample) { s.TCP.Unacked = 180 }, true},
		{"window: shut, and data waits", windowFull, func(s *bulk.Sample) { s.TCP.SndWnd, s.TCP.Unacked, s.TCP.NotsentBytes = 0, 0, 1 }, true},
		{"window: shut, and nothing waits", windowFull, func(s *bulk.Sample) { s.TCP.SndWnd, s.TCP.Unacked = 0, 0 }, false},
		{"window: smaller than a segment, and nothing waits", windowFull, func(s *bulk.Sample) { s.TCP.SndWnd, s.TCP.Unacked = 1, 0 }, true},
		{"window: the kernel does not report it", windowFull, func(s *bulk.Sample) { s.TCP.Length, s.TCP.SndWnd, s.TCP.NotsentBytes = 224, 0, 1 }, false},
		{"congestion window: nine tenths", cwndFull, func(s *bulk.Sample) { s.TCP.Unacked = 90 }, true},
		{"congestion window: less", cwndFull, func(s *bulk.Sample) { s.TCP.Unacked = 89 }, false},
		{"congestion window: full while a loss is repaired", cwndFull, func(s *bulk.Sample) { s.TCP.Unacked, s.TCP.CAState = 90, 3 }, false},
		{"congestion window: full before a loss is repaired", cwndFull, func(s *bulk.Sample) { s.TCP.Unacked, s.TCP.CAState = 90, 2 }, true},
		{"congestion window: not reported", cwndFull, func(s *bulk.Sample) { s.TCP.Unacked, s.TCP.SndCwnd = 0, 0 }, false},
		{"drained: all that was written is on its way", drained, func(*bulk.Sample) {}, true},
		{"drained: nothing was", drained, func(s *bulk.Sample) { s.Unsent = 0 }, false},
		{"drained: not all of a segment waits", drained, func(s *bulk.Sample) { s.TCP.NotsentBytes = mss - 1 }, true},
		{"drained: a segment waits", drained, func(s *bulk.Sample) { s.TCP.NotsentBytes = mss }, false},
		{"drained: the congestion window is used up", drained, func(s *bulk.Sample) { s.TCP.Unacked = 91 }, false},
		{"drained: while a loss is repaired", drained, func(s *bulk.Sample) { s.TCP.CAState = 3 }, false},
		{"outgrown: the buffer is four times the windows", outgrown, func(*bulk.Sample) {}, false},
		{"outgrown: it is smaller than they", outgrown, func(s *bulk.Sample) { s.Mem.SendBuf = 89 * mss }, true},
		{"outgrown: while a loss is repaired", outgrown, func(s *bulk.Sample) { s.Mem.SendBuf, s.TCP.CAState = 89*mss, 3 }, false},
		{"outgrown: the buffer is not reported", outgrown, func(s *bulk.Sample) { s.Mem.SendBuf = 0 }, false},
		{"half empty: an eighth is queued", halfEmpty, func(*bulk.Sample) {}, true},
		{"half empty: half is", halfEmpty, func(s *bulk.Sample) { s.Mem.SendQueued = 200 * mss }, false},
		{"half empty: how much is not reported", halfEmpty, func(s *bulk.Sample) { s.Mem.SendQueued = 0 }, false},
		{"half empty: a segment waits", halfEmpty, func(s *bulk.Sample) { s.TCP.NotsentBytes = mss }, false},
		{"half empty: while a loss is repaired", halfEmpty, func(s *bulk.Sample) { s.TCP.CAState = 3 }, false},
		{"silent: acknowledged within a round trip", silent, func(s *bulk.Sample) { s.TCP.LastAckRecv = 40 }, false},
		{"silent: not acknowledged for longer", silent, func(s *bulk.Sample) { s.TCP.LastAckRecv = 41 }, true},
		{"silent: nothing is on its way", silent, func(s *bulk.Sample) { s.TCP.LastAckRecv, s.TCP.Unacked = 41, 0 }, false},
		{"silent: while a loss is repaired", silent, func(s *bulk.Sample) { s.TCP.LastAckRecv, s.TCP.CAState = 41, 3 }, false},
		{"silent: a tick of the clock, on a short path", silent, func(s *bulk.Sample) { s.TCP.LastAckRecv, s.TCP.RTT = 4, 1000 }, true},
		{"silent: less than a tick", silent, func(s *bulk.Sample) { s.TCP.LastAckRecv, s.TCP.RTT = 3, 1000 }, false},
	} {
		s := plain
		c.change(&s)
		r := &bulk.Result{Client: bulk.End{Streams: []bulk.Stream{{Sender: true, Samples: []bulk.Sample{s}}}}}
		want := 0.0
		if c.want {
			want = 1
		}
		if got := c.figure(newView(&Evidence{Direction: bulk.Forward, Transfer: r})); got != want {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

// All that was written is on its way, and the send buffer has room: it is half empty, or
// may grow; or, of another program's flow, the kernel's clock of a full buffer barely ran.
func TestUnfilled(t *testing.T) {
	for _, c := range []struct {
		name            string
		buffer, queued  int
		notsent, cwnd   uint32
		most            string
		passing, stands bool
		sndbuf          float64
		want            float64
	}{
		{name: "less than half full", buffer: 400_000, queued: 199_999, want: 1},
		{name: "half full", buffer: 400_000, queued: 200_000},
		{name: "of unknown size", most: "1000000"},
		{name: "full, but it may grow", buffer: 400_000, queued: 400_000, most: "1000000", want: 1},
		{name: "full, at its maximum", buffer: 400_000, queued: 400_000, most: "400000"},
		{name: "a segment waits", buffer: 400_000, notsent: 1448},
		{name: "the congestion window is used up", buffer: 400_000, cwnd: 50},
		{name: "at a loss", buffer: 400_000, stands: true},
		{name: "in passing, full, and the clock barely ran", buffer: 400_000, queued: 400_000, passing: true, sndbuf: 0.009, want: 1},
		{name: "in passing, full, and the clock ran", buffer: 400_000, queued: 400_000, passing: true, sndbuf: 0.01},
	} {
		e := scene{goodput: 20 * mbps, rtt: 40 * ms, inflight: 50 * 1448, sndbuf: c.sndbuf, wmem: "4096 16384 " + c.most}.evidence()
		if c.passing {
			e.Passing = &Passing{}
		}
		portion(e, &e.Transfer.Client, 100, func(s *bulk.Sample) {
			s.Mem.SendBuf, s.Mem.SendQueued, s.TCP.NotsentBytes = c.buffer, c.queued, c.notsent
			if c.cwnd > 0 {
				s.TCP.SndCwnd = c.cwnd
			}
			if c.stands {
				s.TCP.CAState = 4
			}
		})
		if got := newView(e).unfilled(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A figure grows by what its last quarter is above the one before: of fewer than eight
// samples, or from nothing, nothing is said.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		windows []uint32
		want    float64
	}{
		{[]uint32{9, 9, 9, 9, 10, 10, 30, 30}, 3},
		{[]uint32{9, 9, 9, 10, 10, 30, 30}, 1},
		{[]uint32{0, 0, 0, 0, 0, 0, 30, 30}, 1},
		{nil, 1},
	} {
		f := flow{}
		for i, w := range c.windows {
			f.measured = append(f.measured, bulk.Sample{At: time.Duration(i) * time.Second, TCP: bulk.TCPInfo{SndWnd: w}})
		}
		if got := f.growth(window); got != c.want {
			t.Errorf("%v: %v, want %v", c.windows, got, c.want)
		}
	}
	for last, want := range map[uint32]bool{105: false, 106: true} {
		v := view{senders: []flow{{measured: slices.Repeat([]bulk.Sample{{TCP: bulk.TCPInfo{SndWnd: 100}}}, 8)}}}
		for i := range v.senders[0].measured[6:] {
			v.senders[0].measured[6+i].TCP.SndWnd = last
		}
		if got := v.growing(window); got != want {
			t.Errorf("a window of 100, then %d: grows %v", last, got)
		}
	}
	standing := view{senders: []flow{{measured: make([]bulk.Sample, 8)}}}
	for i := range standing.senders[0].measured {
		standing.senders[0].measured[i].At = time.Duration(i) * time.Second
	}
	if standing.senders[0].last().TCP.BytesAcked = 100; standing.climb() != 1 {
		t.Errorf("a transfer that stood still: %v", standing.climb())
	}
	for samples, want := range map[int]float64{8: 2.5, 7: 1} {
		v := view{senders: []flow{{}}}
		for i := range samples {
			v.senders[0].measured = append(v.senders[0].measured, bulk.Sample{At: time.Duration(i) * time.Second, TCP: bulk.TCPInfo{BytesAcked: uint64(i*i - 8*i + 100)}})
		}
		if got := v.climb(); got != want {
			t.Errorf("%d samples: the last quarter carried %v times as much, want %v", samples, got, want)
		}
	}
}

// Of a single sample there are figures, and no time.
func TestFlowOfOneSample(t *testing.T) {
	f := flows([]bulk.Stream{{Sender: true, Samples: []bulk.Sample{{At: time.Second, TCP: bulk.TCPInfo{SndMSS: 1448}}}}})[0]
	if len(f.measured) != 1 || f.elapsed() != 0 || f.last().TCP.SndMSS != 1448 {
		t.Errorf("%d measured over %v", len(f.measured), f.elapsed())
	}
	if got := f.median(func(s *bulk.Sample) float64 { return float64(s.TCP.SndMSS) }); got != 1448 {
		t.Errorf("median MSS %v", got)
	}
}

// Headers are those that the connection has; of one that nothing was seen of, those of
// IPv4 with timestamps.
func TestHeadersOfSegments(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples []bulk.Sample
		local   string
		want    float64
	}{
		{"nothing seen", nil, "[2001:db8::1]:5000", path.Headers},
		{"IPv4", []bulk.Sample{{TCP: bulk.TCPInfo{Options: bulk.OptTimestamps}}}, "192.0.2.1:5000", path.Headers},
		{"IPv4 in IPv6's form", []bulk.Sample{{TCP: bulk.TCPInfo{Options: bulk.OptTimestamps}}}, "[::ffff:192.0.2.1]:5000", path.Headers},
		{"no timestamps", []bulk.Sample{{}}, "192.0.2.1:5000", path.Headers - 12},
		{"IPv6", []bulk.Sample{{TCP: bulk.TCPInfo{Options: bulk.OptTimestamps}}}, "[2001:db8::1]:5000", path.Headers + 20},
		{"no address", []bulk.Sample{{TCP: bulk.TCPInfo{Options: bulk.OptTimestamps}}}, "", path.Headers},
	} {
		v := newView(&Evidence{Direction: bulk.Forward, Transfer: &bulk.Result{Client: bulk.End{Streams: []bulk.Stream{{Sender: true, Local: c.local, Samples: c.samples}}}}})
		if got := v.headers(); got != c.want {
			t.Errorf("%s: %v bytes, want %v", c.name, got, c.want)
		}
	}
	if got := newView(nil).payloadShare(); math.Abs(got-1448.0/1500) > 1e-12 {
		t.Errorf("of segments of which nothing is known %v is payload", got)
	}
}

// What is not known bounds nothing.
func TestUnknownBoundsNothing(t *testing.T) {
	without := func(change func(*bulk.TCPInfo)) *view {
		e := mid(20*mbps, "cubic", 250).evidence()
		eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { change(s) })
		return newView(e)
	}
	for name, rate := range map[string]unit.Rate{
		"a buffer without a round trip": newView(nil).bufferLimit(1000),
		"a buffer of unknown size":      without(func(*bulk.TCPInfo) {}).bufferLimit(0),
		"loss of segments of no size":   without(func(s *bulk.TCPInfo) { s.SndMSS = 0 }).lossRate(),
		"no loss":                       newView(mid(20*mbps, "cubic", 0).evidence()).lossRate(),
		"loss, and BBR":                 newView(mid(20*mbps, "bbr", 250).evidence()).lossRate(),
	} {
		if !math.IsInf(float64(rate), 1) {
			t.Errorf("%s: %v", name, rate)
		}
	}
	one, four := newView(mid(20*mbps, "cubic", 250).evidence()).lossRate(), newView(mid(20*mbps, "cubic", 250).shared(4).evidence()).lossRate()
	if four < 3*one || four > 5*one {
		t.Errorf("with the same loss rate one connection gets %v, four %v", one, four)
	}
	var f Finding
	for _, none := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if f.Add("rate", none, "b/s", "no number"); len(f.Evidence) != 0 {
			t.Errorf("%v is taken for evidence", none)
		}
	}
}

// A stream of which nothing was recorded, at whatever place, tells nothing and breaks
// nothing.
func TestStreamWithoutSamples(t *testing.T) {
	empty := bulk.Stream{ID: 9, Sender: true, Congestion: "cubic"}
	check := func(name string, e *Evidence) {
		d := Diagnose(e)
		if wrong := sound(e, &d); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
		v := newView(e)
		_, _, _, _, _, _ = v.moves(), v.tellsWindow(), v.mss(), v.reordered(), v.distance(), v.others()
	}
	for _, c := range scenes {
		e := c.scene.evidence()
		e.Transfer.Client.Streams = append(e.Transfer.Client.Streams, empty)
		check(c.name+", and one more", e)
		e = c.scene.evidence()
		e.Transfer.Client.Streams = append([]bulk.Stream{empty}, e.Transfer.Client.Streams...)
		check(c.name+", after another", e)
		e = c.scene.evidence()
		e.Transfer.Client.Streams = []bulk.Stream{empty}
		check(c.name+", which is not seen", e)
	}
	check("nothing", &Evidence{Direction: bulk.Forward, Transfer: &bulk.Result{}})
}
