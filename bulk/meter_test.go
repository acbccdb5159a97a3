package bulk

import (
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	type step struct {
		at    time.Duration
		bytes int // 0: only the clock
	}
	const s = time.Second
	for name, test := range map[string]struct {
		omit           time.Duration
		steps          []step
		omitted, total int64
		measured       time.Duration // at the last step
	}{
		"nothing came":                     {0, []step{{1 * s, 0}}, 0, 0, 0},
		"without omit the first counts":    {0, []step{{3 * s, 10}, {4 * s, 10}}, 0, 20, 1 * s},
		"the omitted time has its own":     {2 * s, []step{{1 * s, 5}, {2 * s, 5}, {3 * s, 5}, {5 * s, 7}}, 15, 22, 2 * s},
		"it ends while nothing moves":      {2 * s, []step{{1 * s, 5}, {3 * s, 0}, {9 * s, 7}}, 5, 12, 6 * s},
		"it ends before it was over":       {2 * s, []step{{1 * s, 5}, {2 * s, 5}}, 10, 10, 0},
		"silence before does not count":    {2 * s, []step{{1 * s, 0}, {8 * s, 0}, {9 * s, 5}}, 5, 5, 0},
		"measured time is entered once":    {0, []step{{1 * s, 1}, {2 * s, 0}, {3 * s, 1}, {4 * s, 0}}, 0, 2, 3 * s},
		"omitted bytes stop at the border": {1 * s, []step{{0, 1}, {1 * s, 1}, {1*s + 1, 1}}, 2, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			entered := 0
			m := &meter{omit: test.omit, entered: func() { entered++ }}
			var now time.Duration
			for _, step := range test.steps {
				now = step.at
				if step.bytes > 0 {
					m.count(step.bytes, now)
				} else {
					m.tick(now)
				}
			}
			if m.omitted != test.omitted || m.bytes.Load() != test.total {
				t.Errorf("omitted %d of %d bytes, want %d of %d", m.omitted, m.bytes.Load(), test.omitted, test.total)
			}
			if got := m.measured(now); got != test.measured {
				t.Errorf("measured %v, want %v", got, test.measured)
			}
			if measuring := m.measuring.Load(); entered > 1 || measuring != (entered == 1) {
				t.Errorf("entered the measured time %d times, measuring %v", entered, measuring)
			}
		})
	}
}
