package wire

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestWaking: nine in ten sleeps end in time once the thread knows how late they end,
// and what is waited for awake is bounded however late some do.
func TestWaking(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, lateness := range map[string]func() int64{
		"always the same": func() int64 { return 24_000 },
		"scattered":       func() int64 { return 5_000 + random.Int64N(40_000) },
		"a virtual machine that loses its processor now and then": func() int64 {
			if random.IntN(20) == 0 {
				return 3_000_000
			}
			return 20_000 + random.Int64N(10_000)
		},
	} {
		var w waking
		for range 2000 { // to learn it
			w.timed(lateness())
		}
		inTime := 0
		var late []int64
		for range 5000 {
			l := lateness()
			if l <= w.early() {
				inTime++
			}
			late = append(late, l)
			w.timed(l)
		}
		slices.Sort(late)
		if share := float64(inTime) / 5000; share < 0.85 || share > 0.95 {
			t.Errorf("%s: %.2f of the sleeps end in time, with %v to spare; nine in ten end within %v", name, share, time.Duration(w.early()), time.Duration(late[4500]))
		}
	}
	var w waking
	for range 10_000 {
		w.timed(50_000_000)
	}
	if w.early() != mostEarly {
		t.Errorf("where every sleep ends 50 ms late, %v is waited for awake, not %v", time.Duration(w.early()), time.Duration(mostEarly))
	}
	for range 10_000 {
		w.timed(0)
	}
	if w.early() > 2*wakingStep*10 {
		t.Errorf("where sleeps end in time again, %v is still waited for awake", time.Duration(w.early()))
	}
}

// What is taken off an arrival is the median of how long waking up took: from the start,
// and when the machine is another one later.
func TestWakingByArrival(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var w waking
	for n, off := range map[int]int64{15: 4_000, 500: 1_500} {
		w = waking{}
		for range n {
			w.woken(15_000 + random.Int64N(10_000))
		}
		if got := int64(w.arrival); !w.known() || got < 20_000-off || got > 20_000+off {
			t.Errorf("after %d times, waking up is taken to last %v", n, time.Duration(got))
		}
	}
	for range 500 {
		w.woken(5_000_000)
	}
	if w.arrival > mostEarly+2*wakingStep {
		t.Errorf("where the processor is somebody else's, %v is taken off", time.Duration(w.arrival))
	}
	for range 1000 {
		w.woken(4_000)
	}
	if w.arrival > 5_000 {
		t.Errorf("of a thread that wakes up within 4 µs, %v is taken off", time.Duration(w.arrival))
	}
}
