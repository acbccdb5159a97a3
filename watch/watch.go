// Package watch looks at the running flows of this host again and again, and shows
// what limits each: once and explained, as lines for a log or a program, or on a
// screen with keys; and to Prometheus.
package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/report"
)

// Watch is a series of looks at the flows of this host. Its zero value lacks only
// Watcher.
type Watch struct {
	Watcher   *flow.Watcher
	Selection Selection     // of what is shown: keys on the screen change it
	Exporter  *Exporter     // nil: no metrics
	Interval  time.Duration // between two looks
	Count     int           // looks, after which it ends; 0: no end
	Notes     io.Writer     // for people; nil: nobody reads them
}

// look gives all flows, after it has published them. It leaves the selection
// alone, which keys may change meanwhile.
func (w *Watch) look(ctx context.Context) (*flow.Snapshot, error) {
	look, err := w.Watcher.Look(ctx)
	if err != nil {
		return nil, err
	}
	if w.Exporter != nil {
		err = w.Exporter.publish(look)
	}
	return look, err
}

// Once looks until verdicts can be given. It gives the last look, and of its
// flows those that are selected.
func (w *Watch) Once(ctx context.Context) (look *flow.Snapshot, shown []flow.Flow, err error) {
	if look, err = w.look(ctx); err != nil {
		return nil, nil, err
	}
	for wait := onceAfter(look.Flows); wait > 0; {
		next := wait
		if wait > keepsLooking {
			next = wait / 2
		}
		if !sleep(ctx, next) {
			return nil, nil, errors.New("interrupted before the flows were known")
		}
		if look, err = w.look(ctx); err != nil {
			return nil, nil, err
		}
		wait -= next
	}
	w.hint(look)
	return look, w.Selection.Of(look.Flows), nil
}

// keepsLooking is how long a flow.Watcher goes on by itself after a look.
const keepsLooking = 3 * time.Second

// onceAfter is how long one explained look takes: a second shows what flows move,
// and ten round trips what limits them (flow.Watcher.Look). A flow with an absurd
// round trip must not keep all others waiting.
func onceAfter(flows []flow.Flow) time.Duration {
	wait := time.Second
	for i := range flows {
		wait = max(wait, 11*flows[i].RTT)
	}
	return min(wait, 5*time.Second)
}

// Lines writes what each look shows as lines for a log, until ctx or Count ends
// it.
func (w *Watch) Lines(ctx context.Context, out io.Writer) error {
	var noted []string
	return w.each(ctx, func(look *flow.Snapshot, shown []flow.Flow) error {
		text := *look
		if slices.Equal(text.Notes, noted) {
			text.Notes = nil // once is enough
		}
		noted = slices.Clone(look.Notes)
		return report.Watch(out, &text, shown)
	})
}

// Documents writes each look as one line of JSON, until ctx or Count ends it.
func (w *Watch) Documents(ctx context.Context, out io.Writer) error {
	return w.each(ctx, func(look *flow.Snapshot, shown []flow.Flow) error {
		return json.NewEncoder(out).Encode(NewDocument(look, shown))
	})
}

// each calls write after every interval with a look, and what is selected of it.
func (w *Watch) each(ctx context.Context, write func(*flow.Snapshot, []flow.Flow) error) error {
	if _, err := w.look(ctx); err != nil {
		return unlessOver(ctx, err)
	}
	for n := 0; w.Count == 0 || n < w.Count; n++ {
		if !sleep(ctx, w.Interval) {
			return nil
		}
		look, err := w.look(ctx)
		if err != nil {
			return unlessOver(ctx, err)
		}
		if n == 0 {
			w.hint(look)
		}
		if err := write(look, w.Selection.Of(look.Flows)); err != nil {
			return fmt.Errorf("write flows: %w", err) // nobody reads any more
		}
	}
	return nil
}

// hint names processes that were asked for and have no flow: a typing error,
// perhaps.
func (w *Watch) hint(look *flow.Snapshot) {
	if w.Notes == nil {
		return
	}
	names := map[string]bool{}
	for i := range look.Flows {
		names[printable.Line(look.Flows[i].Process)] = true
	}
	delete(names, "")
	for _, process := range w.Selection.Processes {
		one := Selection{Processes: []string{process}, Idle: true}
		if len(one.Of(look.Flows)) > 0 {
			continue
		}
		others := "no process whose name is known has one"
		if len(names) > 0 {
			known := slices.Sorted(maps.Keys(names))
			others = "these have: " + strings.Join(known[:min(len(known), 20)], ", ")
		}
		_, _ = fmt.Fprintf(w.Notes, "  note: no flow is of the process %q; %s\n", process, others)
	}
}

// unlessOver is an error that is not only the end of watching.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// sleep waits, and says whether watching goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Schema is the version of Document.
const Schema = "fullbore/watch/1"

// Document is the JSON contract of watch (docs/json.md): flows are those that are
// shown.
type Document struct {
	Schema string `json:"schema"`
	Open   int    `json:"open"` // flows there are, shown or not
	flow.Snapshot
}

// NewDocument is the document of a look that shows some of its flows.
func NewDocument(look *flow.Snapshot, shown []flow.Flow) Document {
	d := Document{Schema: Schema, Open: len(look.Flows), Snapshot: *look}
	d.Flows = append([]flow.Flow{}, shown...) // never null
	return d
}
