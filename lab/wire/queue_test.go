package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/unit"
)

func TestQueueWord(t *testing.T) {
	for word, want := range map[string]Queue{
		"256KB":    {Bytes: 256_000},
		"256KiB":   {Bytes: 262_144},
		"1500":     {Bytes: 1500},
		"100p":     {Packets: 100},
		"20ms":     {Time: 20 * time.Millisecond},
		"150us":    {Time: 150 * time.Microsecond},
		"10s":      {Time: maxQueueTime},
		"1bdp":     {BDP: 1},
		"0.5 BDP":  {BDP: 0.5},
		"1000bdp":  {BDP: maxQueueBDP},
		"10000 p ": {Packets: 10_000},
	} {
		var got Queue
		err := got.FromWord(strings.TrimSpace(word))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", word, err, diff)
		}
	}
	for word, want := range map[string]string{
		"": "is not bytes", "p": "is not bytes", "bdp": "is not bytes", "1.5p": "is not bytes", "1x": "is not bytes", "20 parsecs": "is not bytes",
		"0": "holds nothing", "0p": "holds nothing", "0bdp": "holds nothing", "0ms": "holds nothing",
		"-1p": "is negative", "-20ms": "is negative", "-1bdp": "is negative",
		"NaNbdp": "more than 1000", "1001bdp": "more than 1000", "10.001s": "above 10s",
	} {
		got := Queue{Packets: 7}
		if err := got.FromWord(word); err == nil || !strings.Contains(err.Error(), want) || got != (Queue{Packets: 7}) {
			t.Errorf("%q: got %+v, %v, want %q", word, got, err, want)
		}
	}
}

func TestQueueSize(t *testing.T) {
	const rate, rtt = 100 * unit.Mbps, 80 * time.Millisecond // a BDP of 1 MB
	for word, want := range map[string]struct {
		size    unit.Size
		written string
	}{
		"64KB": {64_000, "62.5 KiB"}, "8ms": {100_000, "8 ms"}, "2bdp": {2_000_000, "2 bdp"}, "0.25bdp": {250_000, "0.25 bdp"}, "9p": {0, "9 packets"},
	} {
		var q Queue
		if err := q.FromWord(word); err != nil || q.Size(rate, rtt) != want.size || q.String() != want.written {
			t.Errorf("%s: got %d, %q, %v, want %+v", word, q.Size(rate, rtt), q, err, want)
		}
	}
}

// TestBottleneckEdges: a segment that just fits is taken, one byte more is not; a
// mark needs more than the threshold; what departs this instant is gone.
func TestBottleneckEdges(t *testing.T) {
	const ms = int64(time.Millisecond) // in which 1000 bytes depart
	at := func(d Direction) *bottleneck {
		d.Rate = 8 * unit.Mbps
		return &newLane(d, 0, 1500).bottleneck
	}
	b := at(Direction{Queue: Queue{Bytes: 2500}, ECN: ECN{Queue{Bytes: 1000}}})
	for i, step := range []struct {
		now        int64
		size       int
		departs    int64
		mark, full bool
	}{
		{0, 1000, 1 * ms, false, false},
		{0, 1000, 2 * ms, false, false}, // behind 1000 bytes, which is not above 1000
		{0, 501, 0, false, true},
		{0, 500, 2*ms + ms/2, true, false},
		{ms, 1001, 0, false, true}, // 1500 bytes are left
		{ms, 1000, 3*ms + ms/2, true, false},
		{10 * ms, 1000, 11 * ms, false, false},
	} {
		departs, mark, full := b.arrive(step.now, step.size)
		if departs != step.departs || mark != step.mark || full != step.full {
			t.Errorf("step %d: departs at %d, mark %v, full %v; want %+v", i, departs, mark, full, step)
		}
	}
	if b.peakBytes != 2500 || b.peakCount != 3 {
		t.Errorf("peak of %v bytes, %d segments", b.peakBytes, b.peakCount)
	}
	b = at(Direction{Queue: Queue{Packets: 3}, ECN: ECN{Queue{Packets: 1}}})
	for i, step := range []struct {
		now        int64
		mark, full bool
	}{
		{0, false, false}, {0, false, false}, {0, true, false}, {0, false, true}, {ms - 1, false, true}, {ms, true, false}, {ms, false, true}, {5 * ms, false, false},
	} {
		if _, mark, full := b.arrive(step.now, 1000); mark != step.mark || full != step.full {
			t.Errorf("packets, step %d: mark %v, full %v, want %+v", i, mark, full, step)
		}
	}
}

// TestPolicerEdges: the bucket fills at the rate, up to its depth and no further.
func TestPolicerEdges(t *testing.T) {
	const ms = int64(time.Millisecond) // which puts 1000 bytes into it
	b := newBucket(Policer{Rate: 8 * unit.Mbps, Burst: 2000})
	for i, step := range []struct {
		now  int64
		size int
		pass bool
	}{
		{0, 2001, false}, {0, 2000, true}, {0, 1, false}, {ms, 1001, false}, {ms, 1000, true}, {3 * ms, 1500, true}, {3 * ms, 501, false}, {3 * ms, 500, true}, {99 * ms, 2001, false}, {99 * ms, 2000, true},
	} {
		if pass := b.pass(step.now, step.size); pass != step.pass {
			t.Errorf("step %d: %v, want %+v", i, pass, step)
		}
	}
}

func TestLoss(t *testing.T) {
	bursts := Loss{Model: "gilbert", P: 0.01, R: 0.19, Share: 0.5}
	if got, want := bursts.Mean().String(), "2.5%"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := bursts.Says(), "loses 2.5% in bursts (gilbert p 1%, r 19%, 50% lost in the bad state)"; got != want {
		t.Errorf("says %q", got)
	}
	alone := Loss{Share: 0.03, P: 0.5, R: 0.5} // of which only the share counts without a model
	if alone.Mean() != 0.03 || alone.Says() != "loses 3%" {
		t.Errorf("%v, %q", alone.Mean(), alone.Says())
	}
	for _, l := range []Loss{{Model: "gilbert"}, {Model: "gilbert", Share: 0.5}, {}} {
		want := l
		if l.Model != "" && l.Share == 0 {
			want.Share = 1
		}
		if l.Complete(); l != want {
			t.Errorf("completed to %+v, want %+v", l, want)
		}
	}
	word := bursts
	if err := word.FromWord("1%"); err != nil || word != (Loss{Share: 0.01}) {
		t.Errorf("%+v, %v", word, err)
	}
}

// TestGilbertLoss: in the bad state the share is lost, in the good one nothing is.
func TestGilbertLoss(t *testing.T) {
	d := Direction{Loss: Loss{Model: "gilbert", P: 1, R: 1, Share: 0.25}, Seed: 1} // every other segment is in the bad state
	l, out := drive(d, 1000, 1, time.Millisecond)
	odd := 0
	for _, a := range out {
		odd += a.id % 2
	}
	if lost := l.stats().Drops.Loss; len(out)-odd != 500 || odd < 340 || odd > 410 || lost != uint64(500-odd) {
		t.Errorf("%d of 500 arrived in the good state, %d in the bad one, %d lost", len(out)-odd, odd, lost)
	}
}
