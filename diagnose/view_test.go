package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
)

// Round trips are those that TCP saw: a sender by its own acknowledgements, a receiver by
// its window; and the probe's where neither did.
func TestRoundTrips(t *testing.T) {
	const us, ms40, ms30 = time.Microsecond, 40_000, 30_000
	for _, c := range []struct {
		name          string
		tcp           bulk.TCPInfo
		receives      bool
		probed        time.Duration
		median, least time.Duration
	}{
		{name: "a sender", tcp: bulk.TCPInfo{RTT: ms40, MinRTT: ms30}, median: 40 * ms, least: 30 * ms},
		{name: "a sender that receives, too", tcp: bulk.TCPInfo{RTT: ms40, RcvRTT: ms30}, median: 40 * ms, least: 40 * ms},
		{name: "a receiver", tcp: bulk.TCPInfo{RTT: ms40, RcvRTT: ms30}, receives: true, median: 30 * ms, least: 30 * ms},
		{name: "a receiver that has not measured it", tcp: bulk.TCPInfo{RTT: ms40}, receives: true, median: 40 * ms, least: 40 * ms},
		{name: "no least one yet", tcp: bulk.TCPInfo{RTT: ms40, MinRTT: 1<<32 - 1}, median: 40 * ms, least: 40 * ms},
		{name: "nothing", median: 0, least: 0},
		{name: "the probe's", probed: 20 * ms, median: 20 * ms, least: 20 * ms},
		{name: "the probe's is less", tcp: bulk.TCPInfo{RTT: ms40, MinRTT: ms30}, probed: 20 * ms, median: 40 * ms, least: 20 * ms},
		{name: "the probe's is more", tcp: bulk.TCPInfo{RTT: ms40, MinRTT: ms30}, probed: 35 * ms, median: 40 * ms, least: 30 * ms},
		{name: "by timestamps, which is short by up to a tick", tcp: bulk.TCPInfo{RTT: 2020, MinRTT: 1000}, probed: 1869 * us, median: 2020 * us, least: 1869 * us},
		{name: "a tick less", tcp: bulk.TCPInfo{RTT: ms40, MinRTT: ms30}, probed: 31 * ms, median: 40 * ms, least: 30 * ms},
		{name: "by the microsecond", tcp: bulk.TCPInfo{RTT: 2020, MinRTT: 1001}, probed: 1869 * us, median: 2020 * us, least: 1001 * us},
		{name: "probed without an answer", tcp: bulk.TCPInfo{RTT: ms40, MinRTT: ms30}, probed: -1, median: 40 * ms, least: 30 * ms},
	} {
		streams := []bulk.Stream{{Sender: !c.receives, Samples: []bulk.Sample{{TCP: c.tcp}}}}
		e := &Evidence{Direction: bulk.Forward, Transfer: &bulk.Result{Client: bulk.End{Streams: streams}}}
		if c.receives {
			e.Passing, e.Transfer.Client.Streams, e.Transfer.Server.Streams = &Passing{}, nil, streams
		}
		if c.probed != 0 {
			e.Path = &path.Estimate{RTT: path.RTT{Min: max(0, c.probed), Median: max(0, c.probed)}}
		}
		if v := newView(e); v.rtt != c.median || v.minRTT != c.least {
			t.Errorf("%s: %v, %v at least, want %v and %v", c.name, v.rtt, v.minRTT, c.median, c.least)
		}
	}
}

// A trial may show that round trips are shorter than the transfer let them be; one that
// moved nothing, or has no round trip, shows nothing.
func TestTrialsShowTheLeastRoundTrip(t *testing.T) {
	base := mid(20*mbps, "cubic", 2000)
	base.unprobed = true
	shorter, still := base, base
	shorter.rtt, still.goodput = 25*ms, 0
	untimed := func(e *Evidence) {
		eachSample(&e.Trials[0].Result.Client, func(_ int, s *bulk.TCPInfo) { s.RTT, s.MinRTT = 0, 0 })
	}
	for _, c := range []struct {
		name   string
		trial  scene
		change func(*Evidence)
		least  time.Duration
		shows  bool
	}{
		{"shorter", shorter, func(*Evidence) {}, 25 * ms, true},
		{"none", shorter, untimed, 40 * ms, false},
		{"nothing moved", still, func(*Evidence) {}, 40 * ms, false},
		{"not run", shorter, func(e *Evidence) { e.Trials[0].Result = nil }, 40 * ms, false},
	} {
		e := (&pathScene{scene: base, trials: map[TrialKind]scene{TrialStreams: c.trial}}).evidence()
		c.change(e)
		if v := newView(e); v.minRTT != c.least || (v.trial(TrialStreams) != nil) != c.shows {
			t.Errorf("%s: %v at least, and the trial shows something: %v", c.name, v.minRTT, v.trial(TrialStreams) != nil)
		}
	}
}

func TestTunableOfAHost(t *testing.T) {
	h := &host.Facts{Tunables: map[string]string{"three": "1\t2 3", "two": "1 2", "words": "a b c"}}
	for _, c := range []struct {
		host  *host.Facts
		name  string
		place int
		want  int64
	}{{h, "three", 0, 1}, {h, "three", 2, 3}, {h, "two", 2, 0}, {h, "two", 3, 0}, {h, "words", 1, 0}, {h, "none", 0, 0}, {nil, "three", 2, 0}} {
		if got := tunable(c.host, c.name, c.place); int64(got) != c.want {
			t.Errorf("%s at %d: %d, want %d", c.name, c.place, got, c.want)
		}
	}
}

// How the receiver's window moves.
func TestMoves(t *testing.T) {
	s := passingScene{goodput: 3 * mbps, window: 600_000, inflight: 60_000}
	e := s.evidence()
	e.Transfer.Client.Streams[0].Peaks.MaxSndWnd = 1_000_000
	if m := newView(e).moves(); m.steady || m.shrunk || m.widest != 1_000_000 {
		t.Errorf("it stands, and was once larger: %+v", m)
	}
	e.Transfer.Client.Streams[0].Peaks.MaxSndWnd = 600_000
	if m := newView(e).moves(); !m.steady {
		t.Errorf("it stands, as large as it ever was: %+v", m)
	}
	for shut, want := range map[float64]int{0.05: 0, 0.06: 1} {
		if got := (moves{shut: shut}).signs(); got != want {
			t.Errorf("shut for %v of the time: %d signs", shut, got)
		}
	}
}

// What would show more depends on what is missing.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name  string
		busy  float64
		hide  func(*Evidence)
		known bool
		want  string
	}{
		{"the capacity", 0.95, func(*Evidence) {}, false, "capacity"},
		{"a core", 0.91, func(*Evidence) {}, true, "a core"},
		{"the sender's settings", 0.9, func(e *Evidence) { e.SenderHost = nil }, true, "both ends"},
		{"the receiver's settings", 0.9, func(e *Evidence) { e.ReceiverHost = nil }, true, "both ends"},
		{"nothing", 0.9, func(*Evidence) {}, true, "more streams"},
	} {
		e := scene{goodput: 20 * mbps, rtt: 40 * ms, busyCore: c.busy}.evidence()
		c.hide(e)
		if got := advice(newView(e), c.known); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
