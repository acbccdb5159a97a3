package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/peer"
)

func (h *simulatedHost) Leave(context.Context, time.Duration) (peer.Leave, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := fmt.Sprint(len(h.leaves))
	h.leaves = append(h.leaves, id)
	return peer.Leave{ID: id, Token: "of " + h.name}, h.call("leave")
}

func (h *simulatedHost) EndLeave(_ context.Context, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaves = append(h.leaves, "-"+id)
	return h.call("end leave")
}

// TestTuneAll: each way is tuned with a leave of the other host, which ends with it; no host is in two tunings at a time; what each does is
// told, and each comes back with its report. A host that gives no leave costs its own ways.
func TestTuneAll(t *testing.T) {
	t.Parallel()
	s := simulate(4, func(_, _ int) float64 { return 1e9 })
	s.hosts[3].fails = func(call string) error {
		if call == "leave" {
			return errors.New("nobody is let in")
		}
		return nil
	}
	e := experiment(t, "shift")
	e.Kind, e.Task = job.Tuning, &job.Task{Budget: time.Minute, Apply: "live"}
	watch := &said{}
	r, err := Run(t.Context(), s.members(), e, watch)
	if err != nil || r.Check() != nil {
		t.Fatal(err, r.Check())
	}
	for _, round := range r.Rounds {
		busy := map[int]bool{}
		for _, f := range round.Flows {
			if busy[f.From] || busy[f.To] {
				t.Errorf("a host is in two tunings: %+v", round.Flows)
			}
			busy[f.From], busy[f.To] = true, true
			if refused := strings.Contains(f.Error, "h3 gives no leave: nobody is let in"); refused != (f.To == 3) || !refused && f.Goodput != 9e8 {
				t.Errorf("%+v", f)
			}
		}
	}
	if len(r.Reports) != 9 {
		t.Errorf("%d reports", len(r.Reports))
	}
	for _, report := range r.Reports {
		if want := fmt.Sprintf("with the leave of h%d", report.To); report.To == 3 || report.Says[0] != want {
			t.Errorf("%+v: %q", report.Flow, report.Says)
		}
	}
	for _, h := range s.hosts[:3] {
		if want := []string{"0", "-0", "2", "-2", "4", "-4"}; !slices.Equal(h.leaves, want) {
			t.Errorf("leaves of %s: %v", h.name, h.leaves)
		}
	}
	if !slices.Contains(watch.lines, "= h0 to h1: try larger buffers") {
		t.Errorf("%q", watch.lines)
	}
}
