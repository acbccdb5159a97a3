package bulk

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMeter(t *testing.T) {
	type step struct {
		at    time.Duration
		bytes [2]int // on two streams of one direction
	}
	type count struct {
		Omitted, Total int64
		Measured       time.Duration // at the last step
	}
	const s, ms = time.Second, time.Millisecond
	one := func(at time.Duration, bytes int) step { return step{at: at, bytes: [2]int{bytes}} }
	for name, test := range map[string]struct {
		omit  time.Duration
		steps []step
		want  [2]count
	}{
		"nothing came": {0, []step{one(1*s, 0)}, [2]count{}},
		"without omit the first byte counts": {0, []step{one(3*s, 10), one(4*s, 10)},
			[2]count{{0, 20, 1 * s}, {0, 0, 1 * s}}},
		"without omit a later stream has the time of the first": {0, []step{one(3*s, 10), {at: 5 * s, bytes: [2]int{10, 10}}},
			[2]count{{0, 20, 2 * s}, {0, 10, 2 * s}}},
		"bytes at the end of the omitted time are of it": {2 * s, []step{one(1*s, 5), one(2*s, 5), one(3*s, 5), one(5*s, 7)},
			[2]count{{15, 22, 2 * s}, {0, 0, 2 * s}}},
		"it ends while nothing moves": {2 * s, []step{one(1*s, 5), one(3*s, 0), one(9*s, 7)},
			[2]count{{5, 12, 6 * s}, {0, 0, 6 * s}}},
		"it is not over yet": {2 * s, []step{one(1*s, 5), one(2*s, 5)},
			[2]count{{10, 10, 0}, {}}},
		"silence before does not count": {2 * s, []step{one(1*s, 0), one(8*s, 0), one(9*s, 5)},
			[2]count{{5, 5, 0}, {}}},
		"both streams are measured for the same time": {1 * s, []step{one(1*s, 1), {at: 1900 * ms, bytes: [2]int{0, 1}}, {at: 2 * s, bytes: [2]int{1, 1}}, {at: 4 * s, bytes: [2]int{1, 1}}},
			[2]count{{2, 3, 2 * s}, {2, 3, 2 * s}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &window{omit: test.omit}
			meters := [2]meter{{window: w}, {window: w}}
			var now time.Duration
			for _, step := range test.steps {
				now = step.at
				for i, bytes := range step.bytes {
					if bytes > 0 {
						meters[i].count(bytes, now)
					}
				}
				w.open(now)
				for i := range meters {
					meters[i].tick(now)
				}
			}
			var got [2]count
			for i := range meters {
				got[i] = count{meters[i].omitted.Load(), meters[i].bytes.Load(), meters[i].measured(now)}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Where the caller decides the end, the measured time begins by the clock.
func TestFixedWindow(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		omit              time.Duration
		at                []time.Duration // 10 bytes move
		omitted, measured int64           // after 5 s
	}{
		"without omit all counts":                    {0, []time.Duration{0, 4 * s}, 0, 20},
		"though nothing moved before":                {2 * s, []time.Duration{4 * s, 5 * s}, 10, 10},
		"bytes at the end of omitted time are of it": {2 * s, []time.Duration{1 * s, 2 * s, 3 * s}, 20, 10},
		"all is omitted":                             {9 * s, []time.Duration{1 * s, 5 * s}, 20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &window{omit: test.omit}
			w.fix()
			m := meter{window: w}
			var measured int64
			for _, at := range test.at {
				if m.count(10, at) {
					measured += 10
				}
			}
			omitted, split := m.split(m.bytes.Load(), 5*s)
			if omitted != test.omitted || split != test.measured || measured != test.measured {
				t.Errorf("%d bytes omitted, %d and %d measured; want %d and %d", omitted, split, measured, test.omitted, test.measured)
			}
			if open := w.open(5 * s); open != (test.omit < 5*s) {
				t.Errorf("open after 5 s: %v", open)
			}
		})
	}
}

// When the measured time begins is known once the clock runs, and told once.
func TestOpensIn(t *testing.T) {
	const s = time.Second
	clock := make(chan struct{}, 1)
	for name, test := range map[string]struct {
		omit          time.Duration
		fixed         bool
		begun, now    time.Duration // begun 0: not yet
		wait          time.Duration
		known, opened bool
	}{
		"nothing came":                  {omit: 2 * s, now: 5 * s},
		"it came just now":              {omit: 2 * s, begun: 5 * s, now: 5 * s, wait: 2 * s, known: true},
		"half of it is over":            {omit: 2 * s, begun: 5 * s, now: 6 * s, wait: 1 * s, known: true},
		"all of it is over":             {omit: 2 * s, begun: 5 * s, now: 7 * s, known: true, opened: true},
		"all of it is long over":        {omit: 2 * s, begun: 5 * s, now: 9 * s, known: true, opened: true},
		"nothing is omitted":            {begun: 5 * s, now: 5 * s, known: true, opened: true},
		"by the clock, not yet":         {omit: 2 * s, fixed: true, now: 1 * s, wait: 1 * s, known: true},
		"by the clock":                  {omit: 2 * s, fixed: true, now: 2 * s, known: true, opened: true},
		"by the clock, nothing omitted": {fixed: true, now: 1, known: true, opened: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &window{omit: test.omit, runs: clock}
			if test.fixed {
				w.fix()
			}
			if test.begun > 0 {
				w.begin(test.begun)
				w.begin(test.begun + 1) // of another stream
				if len(clock) != 1 {
					t.Errorf("%d were told that the clock runs", len(clock))
				}
				<-clock
			}
			wait, known := w.opensIn(test.now)
			if wait != test.wait || known != test.known {
				t.Errorf("in %v, %v; want %v, %v", wait, known, test.wait, test.known)
			}
			if opened := w.open(test.now); opened != test.opened {
				t.Errorf("open: %v", opened)
			}
			if from, again := w.from.Load(), w.open(test.now+10*s); test.opened && (!again || w.from.Load() != from) {
				t.Errorf("the measured time began at %d, then at %d", from, w.from.Load())
			}
		})
	}
}
