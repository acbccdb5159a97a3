package bulk

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
