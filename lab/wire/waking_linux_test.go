package wire

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestWaking: nine in ten sleeps end in time once the thread knows how late they end.
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
		w := waking{credit: mostCredit}
		for range 2000 { // to learn it
			w.ended(lateness())
		}
		inTime := 0
		var late []int64
		for range 5000 {
			l := lateness()
			if l > mostEarly {
				continue // no sleep can end early enough for that
			}
			if l <= w.early(0) {
				inTime++
			}
			late = append(late, l)
			w.ended(l)
		}
		slices.Sort(late)
		if share := float64(inTime) / float64(len(late)); share < 0.85 || share > 0.95 {
			t.Errorf("%s: %.2f of the sleeps end in time, with %v to spare; nine in ten end within %v", name, share, time.Duration(w.early(0)), time.Duration(late[len(late)*9/10]))
		}
	}
}

// TestWakingOfABusyMachine: what others did with the processor is not learned, and what
// was learned is forgotten once sleeps end in time.
func TestWakingOfABusyMachine(t *testing.T) {
	w := waking{credit: mostCredit}
	for range 10_000 {
		w.ended(30_000)
		w.ended(50_000_000)
	}
	if e := w.early(0); e < 29_000 || e > 32_000 {
		t.Errorf("sleeps end 30 µs late or, as often, 50 ms: %v before its time they end", time.Duration(e))
	}
	for range 10_000 {
		w.ended(0)
	}
	if e := w.early(0); e > 2*wakingStep*10 {
		t.Errorf("where sleeps end in time again, %v is still waited for awake", time.Duration(e))
	}
}

// TestAwakeShare: with packets that are always due soon a tenth of the time is waited for
// awake, and no more; with one in 10 ms, as of a ping, each is.
func TestAwakeShare(t *testing.T) {
	const late = 30_000 // ns
	for _, test := range []struct {
		every       int64 // ns
		least, most float64
	}{
		{every: 12_000, least: 0.09, most: 0.11},
		{every: 10_000_000, least: 0.0029, most: 0.0031}, // 30 µs
	} {
		w := waking{late: late, credit: mostCredit}
		var now, awake int64
		for now < 10e9 {
			for due := now + test.every; now < due; {
				switch left := due - now - w.early(now); {
				case left <= 0: // it looks again and again
					const look = 500
					w.waited(look)
					awake += look
					now += look
				case left == due-now:
					now += left + late
				default:
					now += left
				}
			}
		}
		if share := float64(awake) / float64(now); share < test.least || share > test.most {
			t.Errorf("a packet every %v: %.4f of the time is waited for awake", time.Duration(test.every), share)
		}
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
