package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/exposition"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/watch"
)

// flows are those that run on this host, as `fullbore watch` exports them.
type flows struct {
	open    func() (Looker, error)
	watcher Looker
	nowhere bool // this system does not show them
}

const (
	// longAgo is a look that says nothing of what flows move now.
	longAgo = time.Minute
	// settles is the time between two looks of one scrape: what flows move shows after a
	// second.
	settles = time.Second
)

// collect looks at the flows. Their rates are of the time since the scrape before; at
// the first, or after a long silence, it looks twice.
func (f *flows) collect(ctx context.Context) (string, error) {
	if f.nowhere {
		return "", nil
	}
	if f.watcher == nil {
		watcher, err := f.open()
		if errors.Is(err, host.ErrUnsupported) {
			f.nowhere = true
			return "", nil
		}
		if err != nil {
			return "", err
		}
		f.watcher = watcher
	}
	look, err := f.watcher.Look(ctx)
	if err == nil && (look.Over <= 0 || look.Over > longAgo) {
		select {
		case <-time.After(settles):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		look, err = f.watcher.Look(ctx)
	}
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = report.WatchMetrics(&text, look, (&watch.Selection{}).Of(look.Flows), mostFlows)
	return text.String(), err
}

func (f *flows) close() error {
	if f.watcher == nil {
		return nil
	}
	return f.watcher.Close()
}

// changes are the change sets of this host.
func changes(read func() ([]change.Set, error)) (string, error) {
	sets, err := read()
	if err != nil {
		return "", fmt.Errorf("read change sets: %w", err)
	}
	states := map[change.State]int{}
	var oldest, next time.Time
	for i := range sets {
		set := &sets[i]
		states[set.State]++
		if !set.Open() {
			continue
		}
		if oldest.IsZero() || set.Created.Before(oldest) {
			oldest = set.Created
		}
		if !set.Deadline.IsZero() && (next.IsZero() || set.Deadline.Before(next)) {
			next = set.Deadline
		}
	}
	m := exposition.New("fullbore_")
	for _, state := range []change.State{change.Planned, change.Applying, change.Live, change.Confirmed, change.Reverted, change.Lost, change.Unreadable} {
		m.Gauge("change_sets", "Change sets of this host, by their state; planned, applying and live ones are pending.", float64(states[state]), "state", string(state))
	}
	if !oldest.IsZero() {
		m.Gauge("change_oldest_pending_timestamp_seconds", "When the oldest pending change set was made.", float64(oldest.UnixMilli())/1000)
	}
	if !next.IsZero() {
		m.Gauge("change_next_revert_timestamp_seconds", "When the first pending change set reverts by itself, unless it is confirmed or renewed.", float64(next.UnixMilli())/1000)
	}
	return m.String(), nil
}

// serving is what the far end in this process does, and was asked for.
func serving(a peer.Activity) string {
	m := exposition.New("fullbore_serve_")
	m.Gauge("running_tests", "Tests that clients are running, of all protocols.", float64(a.Running))
	for _, t := range a.Finished {
		for _, came := range []struct {
			result string
			tests  int64
		}{{"done", t.Done}, {"failed", t.Failed}, {"refused", t.Refused}} {
			m.Counter("tests_total", "Tests that clients asked for, by protocol, and by what came of them.", float64(came.tests), "protocol", t.Protocol, "result", came.result)
		}
	}
	for _, t := range a.Finished {
		m.Counter("moved_bytes_total", "Bytes that tests moved, as the application here read or wrote them, once they are over.", float64(t.Received), "protocol", t.Protocol, "direction", "in")
		m.Counter("moved_bytes_total", "Bytes that tests moved, as the application here read or wrote them, once they are over.", float64(t.Sent), "protocol", t.Protocol, "direction", "out")
	}
	return m.String()
}
