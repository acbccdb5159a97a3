package bulk

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/host"
)

func TestCPUSpent(t *testing.T) {
	const s = time.Second
	start := time.Unix(0, 0)
	from := host.CPUTimes{
		At: start, User: 1 * s, System: 2 * s, Quota: 2, Throttled: 5 * s,
		Cores: []host.CoreTimes{
			{ID: 0, Total: 100 * s, Idle: 90 * s, SoftIRQ: 1 * s},
			{ID: 1, Total: 100 * s, Idle: 50 * s},
			{ID: 2, Total: 100 * s, Idle: 50 * s},
		},
	}
	to := host.CPUTimes{
		At: start.Add(10 * s), User: 3 * s, System: 8 * s, Quota: 0.5, Throttled: 6 * s,
		Cores: []host.CoreTimes{
			{ID: 0, Total: 110 * s, Idle: 92 * s, SoftIRQ: 6 * s, Steal: 1 * s},
			{ID: 1, Total: 110 * s, Idle: 49 * s}, // its idle time stepped back
			{ID: 3, Total: 10 * s},                // came meanwhile, as core 2 went
		},
	}
	want := CPU{
		Elapsed: 10 * s, User: 2 * s, System: 6 * s, Quota: 0.5, Throttled: 1 * s,
		Cores: []Core{{ID: 0, Busy: 0.8, SoftIRQ: 0.5, Steal: 0.1}, {ID: 1, Busy: 1}},
	}
	if diff := cmp.Diff(want, CPUSpent(from, to)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Clocks of a kernel may step back: no share leaves 0..1 for it.
func TestCPUShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reading := func(name string) host.CPUTimes {
			clock := rapid.Custom(func(t *rapid.T) time.Duration {
				return time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "clock"))
			})
			core := host.CoreTimes{Total: clock.Draw(t, name+" total"), Idle: clock.Draw(t, name+" idle"), SoftIRQ: clock.Draw(t, name+" softirq"), Steal: clock.Draw(t, name+" steal")}
			return host.CPUTimes{Throttled: clock.Draw(t, name+" throttled"), Cores: []host.CoreTimes{core}}
		}
		spent := CPUSpent(reading("first"), reading("second"))
		for _, c := range spent.Cores {
			for _, share := range []float64{c.Busy, c.SoftIRQ, c.Steal} {
				if !(share >= 0 && share <= 1) {
					t.Fatalf("%+v", c)
				}
			}
		}
		if spent.Throttled < 0 {
			t.Fatalf("throttled for %v", spent.Throttled)
		}
	})
}
