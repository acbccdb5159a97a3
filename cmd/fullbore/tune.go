package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/tune"
)

type tuneCmd struct {
	Target
	recordFlags
	Direction string        `enum:"forward,reverse" default:"forward" help:"Which way data flows: forward (this host sends) or reverse."`
	Parallel  int           `short:"P" default:"1" help:"TCP connections of each transfer."`
	Budget    time.Duration `default:"90s" help:"Test traffic to spend at most, in time."`
	Apply     string        `enum:"none,live,persist" default:"live" help:"What becomes of what helped: none (prove it, then put it back), live (until the next boot), persist."`
	DryRun    bool          `help:"Measure, explain and plan; change nothing."`
	JSON      bool          `help:"One JSON document on stdout."`
}

func (c *tuneCmd) Run(app *app) error {
	if err := errors.Join(connections(c.Parallel), c.checkTags()); err != nil {
		return usageError("%w", err)
	}
	if c.Budget < tune.MinBudget {
		return usageError("budget %v is too small: a baseline and one try need at least %v, and more on a long path", c.Budget, tune.MinBudget)
	}
	if c.From != "" {
		return c.runThere(app, c.Host, c.Token)
	}
	if c.Lab != "" {
		return inLab(app, c.Lab)
	}
	far, err := c.dial(app)
	if err != nil {
		return err
	}
	defer far.Close()
	changes, err := localChanges()
	if err != nil {
		return err
	}
	kept := c.keep(app, record.Tune, bulk.Direction(c.Direction), far.Hello())
	watch := kept.watching(report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr)))
	result, err := tune.Run(app.ctx, tune.Near{Facts: kept.near, Changes: changes}, kept.far(far), tune.Options{
		Direction: bulk.Direction(c.Direction), Streams: c.Parallel, Budget: c.Budget,
		Apply: tune.Mode(c.Apply), DryRun: c.DryRun, Watch: watch,
	})
	watch.End()
	kept.after(app.ctx, far)
	defer kept.end(tuned(result), result, err) // people see the result first
	if c.JSON {
		if err := printJSON(app.stdout, result); err != nil {
			return err
		}
	} else if err == nil || result.Verdict.Cause != "" {
		_, _ = fmt.Fprintln(app.stdout)
		report.Tune(app.stdout, result)
	}
	switch {
	case errors.Is(err, tune.ErrNotUndone):
		return &hinted{err: err, hint: "run fullbore status on that host", code: exitFailed}
	case errors.Is(err, context.Canceled):
		return &hinted{err: errors.New("interrupted: both hosts are as they were"), code: exitFailed}
	case errors.Is(err, tune.ErrBudget):
		return &hinted{err: err, hint: "fullbore tune --budget 90s", code: exitUsage}
	case err == nil && len(result.UntilBoot()) > 0:
		return &hinted{err: fmt.Errorf("what helped is kept until the next boot only on %s", strings.Join(result.UntilBoot(), " and ")), hint: "see the advice for what keeps it from lasting", code: exitRefused}
	}
	return err
}

// tuned is what a tuning came to, for the record.
func tuned(r *tune.Result) record.Outcome {
	o := record.Outcome{Goodput: r.After.Goodput, Verdict: r.Verdict.Cause, From: r.From, To: r.To}
	for _, kept := range r.Kept {
		o.Changes = append(o.Changes, record.Change{Host: kept.Host, Tunable: kept.Tunable, From: kept.From, To: kept.To, Who: record.ByTune})
	}
	return o
}
