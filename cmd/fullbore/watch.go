package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/report"
)

// watchCmd shows the running flows of this host.
type watchCmd struct {
	Once     bool          `help:"Explain what limits each flow, and end. What limits a flow shows over time: this takes 1 s, or 11 of the longest round trips if that is more, at most 5 s."`
	JSON     bool          `name:"json" help:"One JSON document a look, each on a line of its own; with --once exactly one."`
	Interval time.Duration `default:"1s" placeholder:"DURATION" help:"Time between two looks (${default})."`
	For      time.Duration `placeholder:"DURATION" help:"End after this time."`
	Count    int           `placeholder:"N" help:"End after so many looks."`

	Process []string `placeholder:"NAME" help:"Only flows of these processes (name or number)."`
	Remote  []string `placeholder:"ADDRESS" help:"Only flows with these far ends: addresses, or prefixes such as 192.0.2.0/24."`
	Port    []uint16 `placeholder:"PORT" help:"Only flows with these ports, at either end."`
	Cause   []string `placeholder:"CAUSE" help:"Only flows that these causes limit, such as application-window."`
	All     bool     `help:"Idle flows too."`
	Sort    string   `enum:"rate,rtt,retransmissions,process" default:"rate" help:"By rate, rtt, retransmissions or process (${default})."`
	Top     int      `placeholder:"N" help:"At most so many flows."`

	PrometheusListen string `placeholder:"ADDRESS" help:"Serve the latest look to Prometheus at http://ADDRESS/metrics, such as 127.0.0.1:9101."`
	PrometheusFlows  int    `default:"20" placeholder:"N" help:"How many flows, and processes, have metrics of their own (${default}); the rest is in sums."`
}

// watchSchema is the version of watchDocument.
const watchSchema = "fullbore/watch/1"

// watchDocument is the JSON contract of watch (docs/json.md): flows are those
// that are shown.
type watchDocument struct {
	Schema string `json:"schema"`
	Open   int    `json:"open"` // flows there are, shown or not
	flow.Snapshot
}

func (c *watchCmd) Run(app *app) error {
	selection, err := c.selection()
	if err != nil {
		return err
	}
	watcher, err := flow.New()
	if err != nil {
		return err
	}
	defer watcher.Close()
	ctx, stop := context.WithCancelCause(app.ctx)
	defer stop(nil)
	if c.For > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, c.For)
		defer end()
	}
	looks := &looks{watcher: watcher, selection: selection}
	if c.PrometheusListen != "" {
		looks.exporter, err = export(c.PrometheusListen, *selection, c.PrometheusFlows, stop)
		if err != nil {
			return err
		}
		defer looks.exporter.Close()
		_, _ = fmt.Fprintf(app.stderr, ".. metrics at http://%v/metrics\n", looks.exporter.at)
	}
	if c.Once {
		err = c.once(ctx, app, looks)
	} else if c.onScreen(app) {
		err = c.screen(ctx, app, looks)
	} else {
		err = c.lines(ctx, app, looks)
	}
	if failed := context.Cause(ctx); err == nil && ctx.Err() != nil && !errors.Is(failed, context.Canceled) && !errors.Is(failed, context.DeadlineExceeded) {
		return failed // of what serves metrics
	}
	return err
}

// onScreen says whether a person looks on, with a terminal that can be drawn on.
func (c *watchCmd) onScreen(app *app) bool {
	in, ok := app.stdin.(*os.File)
	return !c.JSON && ok && isTerminal(in) && isTerminal(app.stdout.Writer) && os.Getenv("TERM") != "dumb"
}

// once looks until verdicts can be given, and explains.
func (c *watchCmd) once(ctx context.Context, app *app, l *looks) error {
	look, err := l.look(ctx)
	if err != nil {
		return err
	}
	for wait := onceAfter(look.Flows); wait > 0; {
		next := wait
		if wait > keepsLooking {
			next = wait / 2
		}
		if !sleep(ctx, next) {
			return errors.New("interrupted before the flows were known")
		}
		if look, err = l.look(ctx); err != nil {
			return err
		}
		wait -= next
	}
	shown := l.selected(look)
	l.hint(app.stderr, look)
	if c.JSON {
		return printJSON(app.stdout, documentOf(look, shown))
	}
	return report.WatchExplained(app.stdout, look, shown, style(app))
}

// keepsLooking is how long a watch goes on by itself after a look (flow.New).
const keepsLooking = 3 * time.Second

// onceAfter is how long --once takes: a second shows what flows move, and ten
// round trips what limits them (flow.Watcher.Look). A flow with an absurd round
// trip must not keep all others waiting.
func onceAfter(flows []flow.Flow) time.Duration {
	wait := time.Second
	for i := range flows {
		wait = max(wait, 11*flows[i].RTT)
	}
	return min(wait, 5*time.Second)
}

// lines writes what each look shows, for a log or another program.
func (c *watchCmd) lines(ctx context.Context, app *app, l *looks) error {
	if _, err := l.look(ctx); err != nil {
		return unlessOver(ctx, err)
	}
	var noted []string
	for n := 0; c.Count == 0 || n < c.Count; n++ {
		if !sleep(ctx, c.Interval) {
			return nil
		}
		look, err := l.look(ctx)
		if err != nil {
			return unlessOver(ctx, err)
		}
		shown := l.selected(look)
		if n == 0 {
			l.hint(app.stderr, look)
		}
		if c.JSON {
			err = json.NewEncoder(app.stdout).Encode(documentOf(look, shown))
		} else {
			text := *look
			if slices.Equal(text.Notes, noted) {
				text.Notes = nil // once is enough
			}
			noted = slices.Clone(look.Notes)
			err = report.Watch(app.stdout, &text, shown)
		}
		if err != nil {
			return fmt.Errorf("write flows: %w", err) // nobody reads any more
		}
	}
	return nil
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

func documentOf(look *flow.Snapshot, shown []flow.Flow) watchDocument {
	d := watchDocument{Schema: watchSchema, Open: len(look.Flows), Snapshot: *look}
	d.Flows = append([]flow.Flow{}, shown...) // never null
	return d
}
