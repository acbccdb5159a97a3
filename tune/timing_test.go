package tune

import (
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

const ms = time.Millisecond

// far100 is a tuning of a path of 100 ms, which is slow towards this host and fast
// away from it.
func far100(d bulk.Direction, steady bool) *tuning {
	t := at(&scripted{}, time.Hour)
	t.o.Direction = d
	t.path = &path.Estimate{
		RTT:     path.RTT{Min: 100 * ms, Median: 100 * ms, Max: 100 * ms},
		Forward: path.Direction{Capacity: path.Capacity{Rate: unit.Gbps, High: unit.Gbps}},
		Reverse: path.Direction{Capacity: path.Capacity{Rate: unit.Mbps, High: unit.Mbps}},
	}
	t.meter = examine.NewMeter(nil, t.rtt(), time.Hour, silent{})
	t.baseline.steady, t.baseline.steadyAt = steady, 900*ms
	return t
}

// The baseline is measured as any examination measures. What is compared with it is
// measured half as long, if the baseline held its rate, after the time that slow
// start takes to fill the path in this direction: 5 round trips and one for each
// doubling of ten segments.
func TestFirstTiming(t *testing.T) {
	usual := timing{2 * time.Second, 2 * time.Second}
	fresh := &candidate{config: config{set("b", "rmem", "2")}}
	for _, test := range []struct {
		name string
		t    *tuning
		c    *candidate
		with func(t *tuning)
		omit [2]time.Duration // from, to
		took time.Duration
	}{
		{"the baseline", far100(bulk.Forward, true), &candidate{}, nil, [2]time.Duration{usual.omit, usual.omit}, usual.measured},
		{"no steady baseline", far100(bulk.Forward, false), fresh, nil, [2]time.Duration{usual.omit, usual.omit}, usual.measured},
		{"a fast way", far100(bulk.Forward, true), fresh, nil, [2]time.Duration{1450 * ms, 1500 * ms}, 1500 * ms},
		{"a slow way", far100(bulk.Reverse, true), fresh, nil, [2]time.Duration{500 * ms, 510 * ms}, 1500 * ms},
		{"a capacity that is only assumed", far100(bulk.Forward, true), fresh, func(t *tuning) { t.path.Forward.Capacity.Assumed = true }, [2]time.Duration{usual.omit, usual.omit}, 1500 * ms},
		{"no capacity", far100(bulk.Forward, true), fresh, func(t *tuning) { t.path.Forward.Capacity = path.Capacity{} }, [2]time.Duration{usual.omit, usual.omit}, 1500 * ms},
	} {
		if test.with != nil {
			test.with(test.t)
		}
		if got := test.t.firstTiming(test.c); got.omit < test.omit[0] || got.omit > test.omit[1] || got.measured != test.took {
			t.Errorf("%s: %v, want %v and %v", test.name, got, test.omit, test.took)
		}
	}
}

// Further runs of two that hold their rates begin three round trips after each did.
// Where one does not, both are measured as a first one with a change is.
func TestRepeatedTiming(t *testing.T) {
	tuning := far100(bulk.Forward, true)
	a := &candidate{steady: true, steadyAt: 400 * ms}
	b := &candidate{config: config{set("b", "rmem", "2")}, steady: true, steadyAt: 700 * ms}
	if ofA, ofB := tuning.repeated(a, b); ofA != (timing{700 * ms, 1500 * ms}) || ofB != (timing{1000 * ms, 1500 * ms}) {
		t.Errorf("%v and %v", ofA, ofB)
	}
	a.readings, b.readings = candidateOf(1).readings, candidateOf(1).readings
	if old, fresh := tuning.timingOf(a, a, b), tuning.timingOf(b, a, b); old.omit != 700*ms || fresh.omit != 1000*ms {
		t.Errorf("in a contest %v and %v", old, fresh)
	}
	// What is still to be run at all takes longer than what is run again: 600 ms of
	// each is for its set-up.
	if got, want := tuning.takes(a, b, 2), (700+1500+600+1000+1500+600)*ms; got != want {
		t.Errorf("a second run of both takes %v, want %v", got, want)
	}
	first := tuning.firstTiming(b)
	b.readings = nil
	if got, want := tuning.takes(a, b, 2), (700+1500+600+1000+1500+600)*ms+first.omit+first.measured+600*ms; got != want {
		t.Errorf("with a first one %v, want %v", got, want)
	}
	a.steady = false
	for _, pair := range [][2]*candidate{{a, b}, {b, a}} {
		if one, two := tuning.repeated(pair[0], pair[1]); one != two || one != first || one == tuning.firstTiming(a) {
			t.Errorf("%v and %v, want %v", one, two, first)
		}
	}
	far := far100(bulk.Forward, true)
	far.path.RTT.Median = 300 * ms
	if got := far.shortTiming(a, b); got != (timing{1000 * ms, 1500 * ms}) {
		t.Errorf("a short run over 300 ms: %v, want a round trip after the later one was steady, and five", got)
	}
	if got := tuning.shortTiming(b, a); got != (timing{800 * ms, 750 * ms}) {
		t.Errorf("a short run: %v", got)
	}
}

// A transfer may take 3 s longer than expected, but not from what is kept for later,
// nor longer than a change set lives.
func TestMostOfTransfer(t *testing.T) {
	spend := timing{1 * time.Second, 2 * time.Second} // 3.2 s with the time to stop it
	for _, test := range []struct{ budget, reserve, want time.Duration }{
		{time.Minute, 0, 6200 * ms},
		{10 * time.Second, 5 * time.Second, 5 * time.Second},
		{10 * time.Second, 9 * time.Second, 3200 * ms},
	} {
		tuning := at(&scripted{}, test.budget)
		tuning.reserve = test.reserve
		if got := tuning.mostOf(spend); got != test.want {
			t.Errorf("of %v, with %v kept: %v, want %v", test.budget, test.reserve, got, test.want)
		}
	}
	if got := at(&scripted{}, time.Hour).mostOf(timing{20 * time.Second, 20 * time.Second}); got != 25*time.Second {
		t.Errorf("a long one: %v", got)
	}
}
