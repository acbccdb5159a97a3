package diagnose

import (
	"math"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Slow start lost much before the measured time: neither its losses nor its loss
// events count as those of the measured time.
func TestLossRateIsOfOneTime(t *testing.T) {
	evidence := func() *Evidence {
		s := scene{goodput: 100 * mbps, rtt: 40 * ms, lossEvery: 1000, counters: map[string]int64{"TcpExt.TCPSackRecovery": 50, "TcpExt.TCPTimeouts": 10}}
		e := s.evidence()
		samples := e.Transfer.Client.Streams[0].Samples
		for i := range samples { // it lost 3000 segments in slow start
			if samples[i].At > 0 {
				samples[i].TCP.TotalRetrans += 3000
				samples[i].TCP.DataSegsOut += 3000
			}
		}
		return e
	}
	measured := func(e *Evidence) (packets, segments float64) {
		f := flows(e.Transfer.Senders(bulk.Forward))[0]
		return float64(f.last().TCP.TotalRetrans - f.base.TCP.TotalRetrans), float64(f.last().TCP.DataSegsOut - f.base.TCP.DataSegsOut)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

	t.Run("counters of the measured time", func(t *testing.T) {
		e := evidence()
		e.Transfer.Client.Measured = map[string]int64{"TcpExt.TCPSackRecovery": 20}
		packets, segments := measured(e)
		l := newView(e).loss
		if l.events != 20 || !near(l.rate, 20/segments) || !near(l.clumped, packets/20) || !l.sawCause {
			t.Errorf("%+v, want 20 events in %.0f segments", l, segments)
		}
	})
	t.Run("counters of the whole transfer only", func(t *testing.T) {
		e := evidence()
		last := e.Transfer.Client.Streams[0].Samples[110].TCP
		l := newView(e).loss
		if l.events != 60 || !near(l.rate, 60/float64(last.DataSegsOut)) || !near(l.clumped, float64(last.TotalRetrans)/60) || !l.sawCause {
			t.Errorf("%+v, want 60 events in %d segments", l, last.DataSegsOut)
		}
	})
	t.Run("no counters", func(t *testing.T) {
		e := evidence()
		e.Transfer.Client.Counters = nil
		packets, segments := measured(e)
		l := newView(e).loss
		if l.events != packets || !near(l.rate, packets/segments) || l.clumped != 1 || l.sawCause {
			t.Errorf("%+v, want %.0f events in %.0f segments", l, packets, segments)
		}
	})
	t.Run("counters that cannot be this transfer's alone", func(t *testing.T) {
		for _, counted := range []int64{0, 1 << 20} {
			e := evidence()
			e.Transfer.Client.Measured = map[string]int64{"TcpExt.TCPSackRecovery": counted}
			packets, _ := measured(e)
			if l := newView(e).loss; l.events != packets || l.sawCause {
				t.Errorf("%d reactions: %+v, want %.0f events", counted, l, packets)
			}
		}
	})
	t.Run("the round trip before a loss", func(t *testing.T) {
		e := evidence()
		samples := e.Transfer.Client.Streams[0].Samples
		for i := range samples[:80] { // of most it is not known
			samples[i].TCP.RTT = 0
		}
		for i := range samples[80:] {
			samples[80+i].TCP.RTT = 60_000
		}
		if l := newView(e).loss; l.rttAt != 60*ms {
			t.Errorf("%v before a loss", l.rttAt)
		}
		for i := range samples[:110] { // of none it is
			samples[i].TCP.RTT = 0
		}
		if l := newView(e).loss; l.rttAt != 60*ms {
			t.Errorf("not known before a loss, and so that of all: %v", l.rttAt)
		}
	})
	t.Run("nothing was lost in the measured time", func(t *testing.T) {
		e := evidence()
		samples := e.Transfer.Client.Streams[0].Samples
		for i := range samples {
			samples[i].TCP.TotalRetrans = 3000
		}
		if l := newView(e).loss; l.packets != 0 || l.events != 0 || l.rate != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// Counters of 32 bits begin again at 0, and losses are counted on: as often as there
// were round trips for.
func TestLossesAcrossWrap(t *testing.T) {
	for _, c := range []struct {
		rtt    time.Duration
		lost   uint32
		events float64
	}{
		{0, 5, 5}, // not known: each may have been one
		{100 * ms, 5, 5},
		{500 * ms, 5, 2},
		{501 * ms, 5, 1},
		{2 * time.Second, 5, 1}, // the first
		{100 * ms, 1, 1},
		{100 * ms, 0, 0},
	} {
		before := bulk.Sample{TCP: bulk.TCPInfo{DataSegsOut: math.MaxUint32 - 99, TotalRetrans: math.MaxUint32, RTT: micros(c.rtt), BytesSent: 1000}}
		after := before
		after.At = time.Second
		after.TCP.DataSegsOut, after.TCP.TotalRetrans = 900, c.lost-1
		after.TCP.BytesSent, after.TCP.BytesRetrans = 5000, 400
		var l Losses
		l.Add(&before, &after)
		if l.Segments != 1000 || l.Packets != float64(c.lost) || l.Events != c.events || l.Bytes != 4000 || l.Resent != 400 {
			t.Errorf("RTT %v: %+v, want %v events", c.rtt, l, c.events)
		}
	}
}

// What is lost within a round trip of the last loss is the same event.
func TestLossesOfOneRoundTrip(t *testing.T) {
	var l Losses
	s := bulk.Sample{TCP: bulk.TCPInfo{RTT: micros(100 * ms)}}
	lose := func(at time.Duration) {
		before := s
		s.At = at
		s.TCP.TotalRetrans++
		l.Add(&before, &s)
	}
	for _, c := range []struct {
		at     time.Duration
		events float64
	}{{40 * ms, 1}, {80 * ms, 1}, {175 * ms, 1}, {260 * ms, 1}, {360*ms + 1, 2}, {400 * ms, 2}} {
		if lose(c.at); l.Events != c.events {
			t.Errorf("at %v: %v events, want %v", c.at, l.Events, c.events)
		}
	}
	backwards := bulk.Sample{TCP: bulk.TCPInfo{BytesSent: 7}}
	l = Losses{}
	if l.Add(&backwards, &bulk.Sample{}); l.Bytes != 0 {
		t.Errorf("a counter that ran backwards: %+v", l)
	}
}

// Samples of one instant, without a round trip, lose as much as they say.
func TestLossesOfOneInstant(t *testing.T) {
	var l Losses
	if l.Add(&bulk.Sample{At: time.Second}, &bulk.Sample{At: time.Second, TCP: bulk.TCPInfo{TotalRetrans: 5}}); l.Events != 5 || l.Packets != 5 {
		t.Errorf("%+v", l)
	}
}

func TestHalve(t *testing.T) {
	l := Losses{Events: 2, Packets: 4, Segments: 6, Bytes: 8, Resent: 10, last: time.Second}
	if l.Halve(); l != (Losses{Events: 1, Packets: 2, Segments: 3, Bytes: 4, Resent: 5, last: time.Second}) {
		t.Errorf("%+v", l)
	}
}

// clumped has a scene lose its packets so many at a time.
func (s scene) clumped(packets float64) scene {
	const counter = "TcpExt.TCPSackRecovery"
	s.counters = map[string]int64{counter: int64(float64(s.counters[counter]) / packets)}
	return s
}

// Where each packet is lost by itself, one in 250 makes clumps of 1.04 in a window of 17. What is lost four at a time is not
// called random with more than 60 % before a trial has told it from a bucket.
func TestLossesInClumps(t *testing.T) {
	single, clumped := mid(5*mbps, "cubic", 250), mid(5*mbps, "cubic", 250).clumped(4)
	for _, c := range []struct {
		name   string
		first  scene
		trials map[TrialKind]scene
		least  float64
		most   float64
	}{
		{"one by one", single, nil, 0.9, 1},
		{"twice what chance makes", single.clumped(2), nil, 0.8, 1},
		{"four at a time", clumped, nil, 0, 0.6},
		{"with BBR all gets through", clumped, map[TrialKind]scene{TrialCongestion: mid(94*mbps, "bbr", 250)}, 0.7, 1},
		{"each of four gets as much", clumped, map[TrialKind]scene{TrialStreams: mid(20*mbps, "cubic", 250).shared(4)}, 0.7, 1},
		{"pacing tells nothing of a bucket", clumped, map[TrialKind]scene{TrialPaced: clumped.paced(12.5 * mbps)}, 0, 0.6},
	} {
		verdict := Diagnose((&pathScene{scene: c.first, trials: c.trials}).evidence()).Verdict
		if verdict.Cause != RandomLoss || verdict.Confidence < c.least || verdict.Confidence > c.most {
			t.Errorf("%s: %s (%v), want %s (%v to %v)", c.name, verdict.Cause, verdict.Confidence, RandomLoss, c.least, c.most)
		}
	}
	silent := single
	silent.counters = nil // the sender does not say how often it reacted
	if newView(silent.evidence()).clumps() {
		t.Error("clumps are known of a sender that does not count its reactions")
	}
	if newView(&Evidence{}).clumps() {
		t.Error("nothing was transferred")
	}
}

// At a policer of 70 Mb/s on a link whose payload is 96.5, which is busy for 0.725 of the time, bursts of a millisecond wait 2.3 ms:
// 1 + 0.725 / (2 * 0.275). That is no queue; more is.
func TestBurstsAreNoQueue(t *testing.T) {
	for _, c := range []struct {
		goodput unit.Rate
		waits   time.Duration // beyond 4 ms
		queued  bool
	}{
		{70 * mbps, 2200 * time.Microsecond, false},
		{70 * mbps, 2400 * time.Microsecond, true},
		{90 * mbps, 7800 * time.Microsecond, false}, // 1 + 0.932 / (2 * 0.068) = 7.9 ms
		{90 * mbps, 8000 * time.Microsecond, true},
		{99 * mbps, 10_400 * time.Microsecond, false}, // 0.95 at most: it is full
		{99 * mbps, 10_700 * time.Microsecond, true},
	} {
		trial := scene{goodput: c.goodput, minRTT: 4 * ms, rtt: 4*ms + c.waits, congestion: "bbr", lossEvery: 50, capacity: 100 * mbps, notsent: true}
		trial.cwnd = trial.goodput.BytesIn(trial.rtt)
		first := mid(20*mbps, "cubic", 250)
		first.rtt = 4 * ms
		v := newView((&pathScene{scene: first, trials: map[TrialKind]scene{TrialCongestion: trial}}).evidence())
		if tried := v.attempts(); len(tried.reached) != 1 || tried.queued != c.queued {
			t.Errorf("%v, and %v beyond 4 ms: queued %v, want %v", c.goodput, c.waits, tried.queued, c.queued)
		}
	}
}
