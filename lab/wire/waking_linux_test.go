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
			w.ended(lateness())
		}
		inTime := 0
		var late []int64
		for range 5000 {
			l := lateness()
			if l <= w.early() {
				inTime++
			}
			late = append(late, l)
			w.ended(l)
		}
		slices.Sort(late)
		if share := float64(inTime) / 5000; share < 0.85 || share > 0.95 {
			t.Errorf("%s: %.2f of the sleeps end in time, with %v to spare; nine in ten end within %v", name, share, time.Duration(w.early()), time.Duration(late[4500]))
		}
	}
	var w waking
	for range 10_000 {
		w.ended(50_000_000)
	}
	if w.early() != mostEarly {
		t.Errorf("where every sleep ends 50 ms late, %v is waited for awake, not %v", time.Duration(w.early()), time.Duration(mostEarly))
	}
	for range 10_000 {
		w.ended(0)
	}
	if w.early() > 2*wakingStep*10 {
		t.Errorf("where sleeps end in time again, %v is still waited for awake", time.Duration(w.early()))
	}
}

// TestShorten: what is taken off a delay is off for all that comes later, and no delay
// becomes negative.
func TestShorten(t *testing.T) {
	w := &Wire{carriers: [2]*carrier{{lane: newLane(Direction{Delay: 75 * time.Microsecond}, 0, 1500)}, {lane: newLane(Direction{Delay: 20 * time.Microsecond}, 0, 1500)}}}
	w.Shorten(35 * time.Microsecond)
	if got := [2]int64{w.carriers[0].lane.delay.Load(), w.carriers[1].lane.delay.Load()}; got != [2]int64{40_000, 0} {
		t.Errorf("75 and 20 µs, 35 off: %d ns", got)
	}
}
