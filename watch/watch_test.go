package watch

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/internal/golden"
)

// watchedFlows is a look with a flow that an application limits, one that is
// idle, and more that move data.
func watchedFlows() *flow.Snapshot {
	at := netip.MustParseAddrPort
	look := &flow.Snapshot{
		At: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC), Over: time.Second, TimeWait: 3, Hidden: 1, Notes: []string{"1 flow belongs to another user"},
		Flows: []flow.Flow{
			{ID: "1f", Local: at("198.18.0.1:36200"), Remote: at("198.18.0.2:22"), State: "established", PID: 21, Process: "ssh", Sends: true, Goodput: 111e6,
				Bytes: 80 << 20, RTT: 151 * time.Millisecond, MinRTT: 150 * time.Millisecond, Congestion: "cubic", Lost: 0.0001,
				Limit: diagnose.Finding{Cause: diagnose.ApplicationWindow, Confidence: 0.94,
					Says: "ssh keeps about 2 MiB under way, whatever the path can carry. TCP itself would let it have more than that.",
					Evidence: []diagnose.Fact{
						{Name: "window", Value: 2 << 20, Unit: "B", Says: "in flight at the median: 2 MiB"},
						{Name: "congestion_window", Value: 4 << 20, Unit: "B", Says: "TCP would allow 4 MiB"},
					},
					Action: "TCP tuning will not help; HPN-SSH or several transfers will", Gain: 2, Predicted: 222e6}},
			{ID: "2a", Local: at("[2001:db8:85a3:8d3:1319:8a2e:370:7348]:40000"), Remote: at("[2001:db8:85a3:8d3:1319:8a2e:370:7344]:443"), State: "established",
				PID: 22, Process: "a-very-long-name", Goodput: 20e6, RTT: 300 * time.Millisecond, Limit: diagnose.Finding{Cause: diagnose.SlowReceiver}},
			{ID: "30", Local: at("198.18.0.1:36300"), Remote: at("198.18.0.3:5432"), State: "established", PID: 23, Process: "psql", Idle: true,
				Limit: diagnose.Finding{Cause: diagnose.Unknown, Says: "It moves next to nothing."}},
		},
	}
	return look
}

// TestWatchJSON holds the document's keys fixed (docs/json.md).
func TestWatchJSON(t *testing.T) {
	look := watchedFlows()
	got, err := json.MarshalIndent(NewDocument(look, look.Flows[:1]), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "watch.json", string(got)+"\n")
	none, err := json.Marshal(NewDocument(&flow.Snapshot{}, nil))
	if err != nil || !strings.Contains(string(none), `"flows":[]`) {
		t.Errorf("no flows are no list: %s, %v", none, err)
	}
}

// TestOnceAfter: long enough for a verdict, and never for ever.
func TestOnceAfter(t *testing.T) {
	for longest, want := range map[time.Duration]time.Duration{
		0: time.Second, time.Millisecond: time.Second, 150 * time.Millisecond: 1650 * time.Millisecond, time.Minute: 5 * time.Second,
	} {
		if got := onceAfter([]flow.Flow{{RTT: longest}, {}}); got != want {
			t.Errorf("with a round trip of %v it takes %v, want %v", longest, got, want)
		}
	}
}
