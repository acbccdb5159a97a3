package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/watch"
)

// watchCmd shows the running flows of this host.
type watchCmd struct {
	recordFlags
	Once     bool          `help:"Explain what limits each flow, and end. The limit of a flow shows only over time: this takes 1 s, or 11 of the longest round trips if that is more, at most 5 s."`
	JSON     bool          `name:"json" help:"One JSON document a look, each on a line of its own; with --once exactly one."`
	Interval time.Duration `default:"1s" placeholder:"DURATION" help:"Time between two looks (${default})."`
	For      time.Duration `placeholder:"DURATION" help:"End after this time."`
	Count    int           `placeholder:"N" help:"End after this many looks."`

	Process []string `placeholder:"NAME" help:"Only flows of these processes (name or number)."`
	Remote  []string `placeholder:"ADDRESS" help:"Only flows with these far ends: addresses, or prefixes such as 192.0.2.0/24."`
	Port    []uint16 `placeholder:"PORT" help:"Only flows with these ports, at either end."`
	Cause   []string `placeholder:"CAUSE" help:"Only flows that these causes limit, such as application-window."`
	All     bool     `help:"Include idle flows."`
	Sort    string   `enum:"rate,rtt,retransmissions,process" default:"rate" help:"Sort by rate, rtt, retransmissions or process (${default})."`
	Top     int      `placeholder:"N" help:"At most this many flows."`

	PrometheusListen string `placeholder:"ADDRESS" help:"Serve the latest look to Prometheus at http://ADDRESS/metrics, such as 127.0.0.1:9101."`
	PrometheusFlows  int    `default:"20" placeholder:"N" help:"How many flows, and processes, have their own metrics (${default}); the rest are summed."`
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
	w := &watch.Watch{Watcher: watcher, Selection: *selection, Interval: c.Interval, Count: c.Count, Notes: app.stderr}
	if c.PrometheusListen != "" {
		w.Exporter, err = watch.Export(c.PrometheusListen, *selection, c.PrometheusFlows, stop)
		if err != nil {
			return &hinted{err: err, hint: "--prometheus-listen takes an address and a free port, such as 127.0.0.1:9101", code: exitFailed}
		}
		defer w.Exporter.Close()
		_, _ = fmt.Fprintf(app.stderr, ".. metrics at http://%v/metrics\n", w.Exporter.Addr())
	}
	err = c.show(ctx, app, w)
	if failed := context.Cause(ctx); err == nil && ctx.Err() != nil && !errors.Is(failed, context.Canceled) && !errors.Is(failed, context.DeadlineExceeded) {
		return failed // of what serves metrics
	}
	return err
}

// show watches in the way that the flags, or a terminal, ask for.
func (c *watchCmd) show(ctx context.Context, app *app, w *watch.Watch) error {
	switch {
	case c.Once:
		kept := c.keep(app, record.Watch, bulk.Forward, peer.Hello{})
		look, shown, err := w.Once(ctx)
		if err != nil {
			kept.end(record.Outcome{}, nil, err)
			return err
		}
		document := watch.NewDocument(look, shown)
		defer kept.end(record.Outcome{}, document, nil)
		if c.JSON {
			return printJSON(app.stdout, document)
		}
		return report.WatchExplained(app.stdout, look, shown, style(app))
	case c.JSON:
		return w.Documents(ctx, app.stdout)
	case c.onScreen(app):
		return w.Screen(ctx, app.stdin, app.stdout.Writer)
	}
	return w.Lines(ctx, app.stdout)
}

// onScreen says whether a person looks on, with a terminal that can be drawn on.
func (c *watchCmd) onScreen(app *app) bool {
	in, ok := app.stdin.(*os.File)
	return ok && isTerminal(in) && isTerminal(app.stdout.Writer) && os.Getenv("TERM") != "dumb"
}

// Looking more often costs more than it shows; a flow's state of an hour ago is
// nothing that limits it now.
const (
	shortestInterval = 100 * time.Millisecond
	longestInterval  = time.Hour
)

// mostExported flows with series of their own are far more than anyone graphs.
const mostExported = 1000

// selection reads the flags.
func (c *watchCmd) selection() (*watch.Selection, error) {
	if err := c.checkTags(); err != nil {
		return nil, err
	}
	switch {
	case c.Interval < shortestInterval || c.Interval > longestInterval:
		return nil, usageError("--interval: %v: use %v to %v", c.Interval, shortestInterval, longestInterval)
	case c.For < 0 || c.For > 0 && c.For < c.Interval:
		return nil, usageError("--for: %v ends before the first look, after %v", c.For, c.Interval)
	case c.Count < 0:
		return nil, usageError("--count: %d: use 1 or more", c.Count)
	case c.Top < 0:
		return nil, usageError("--top: %d: use 1 or more", c.Top)
	case c.PrometheusFlows < 0 || c.PrometheusFlows > mostExported:
		return nil, usageError("--prometheus-flows: %d: use 0 to %d", c.PrometheusFlows, mostExported)
	case c.Once && c.PrometheusListen != "":
		return nil, usageError("--once ends before anyone could ask for metrics: use --prometheus-listen without it")
	case c.Once && (c.For > 0 || c.Count > 0):
		return nil, usageError("--once is one look: use --for and --count without it")
	}
	s := &watch.Selection{Processes: c.Process, Ports: c.Port, Causes: c.Cause, Idle: c.All, Sort: watch.Order(c.Sort), Top: c.Top}
	for _, text := range c.Remote {
		remote, err := watch.ParseRemote(text)
		if err != nil {
			return nil, usageError("--remote: %w", err)
		}
		s.Remotes = append(s.Remotes, remote)
	}
	for _, cause := range c.Cause {
		if !diagnose.Known(cause) {
			return nil, usageError("--cause: %q is not a cause: use %s", cause, strings.Join(causes(), ", "))
		}
	}
	if slices.Contains(c.Port, 0) {
		return nil, usageError("--port: 0: use 1 to 65535")
	}
	return s, nil
}

func causes() []string {
	var out []string
	for _, c := range diagnose.Causes {
		out = append(out, c.ID)
	}
	return out
}
