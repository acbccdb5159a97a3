package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
)

func (c *nfsTestCmd) Run(app *app) error {
	load, err := c.timed()
	if err != nil {
		return err
	}
	repeats, err := c.repeats()
	if err != nil {
		return err
	}
	target, err := c.file(app, "test")
	if target == nil {
		return err
	}
	if c.Far != "" {
		far, err := c.dial(app, "")
		if err != nil {
			return err
		}
		defer func() { _ = far.Close() }()
		if _, err := far.Processor(app.ctx); err != nil {
			return fmt.Errorf("--far %s: %w", c.Far, err)
		}
		load.Far = func(ctx context.Context) (nfs.Processor, error) {
			p, err := far.Processor(ctx)
			return nfs.Processor(p), err
		}
	}
	kept := c.keepFile(app, record.NFSTest, target.Host, load.Op)
	d := &experiment.RequestsDocument{}
	failed := c.series(app, kept, *target, load, repeats, d)
	defer func() { kept.end(requested(d), ifAny(d), failed) }() // people see the result first
	left := "what was measured until then is not told"
	if d.Repeat != nil {
		left = "what was measured until then is reported"
	}
	if failed = interruptedNFS(app, failed, left); failed != nil {
		d.Error = failed.Error()
	}
	switch {
	case d.Document == nil: // nothing is to be told
	case c.JSON:
		failed = cmp.Or(printJSON(app.stdout, d), failed)
	case d.Repeat != nil:
		_, _ = fmt.Fprintln(app.stdout)
		report.NFSRepeated(app.stdout, d.Repeat)
	}
	if failed == nil && d.Repeat != nil {
		return unsettled("the rate", &d.Repeat.Repeated)
	}
	return failed
}

// series runs the requests as often as the plan says, over new connections each time: what
// one run's windows have grown to is no matter of the next one's.
func (c *nfsTestCmd) series(app *app, kept *keeper, target nfs.Target, load nfs.Load, p experiment.Repetition, d *experiment.RequestsDocument) error {
	for {
		began := time.Now()
		one, err := c.once(app, kept, target, load, p.Several(), len(d.Runs)+1)
		if err != nil {
			return err
		}
		d.Document = one
		if !p.Several() {
			return nil
		}
		d.Runs = append(d.Runs, experiment.NewRequests(began, one))
		d.Repeat = p.RepeatRequests(d.Runs)
		if p.EnoughRequests(d.Runs) {
			return nil
		}
	}
}

// once runs the requests once: as text with a row a second, or with one for all of the run
// where it is one of several.
func (c *nfsTestCmd) once(app *app, kept *keeper, target nfs.Target, load nfs.Load, several bool, number int) (_ *nfs.Document, err error) {
	mount, err := nfs.Open(app.ctx, target, nfs.Options{Connections: c.Connections, Depth: load.Depth})
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, mount.Close()) }() // after an error the server need not listen
	watch := func(elapsed time.Duration, requests, bytes int64) {
		report.NFSRow(app.stdout, elapsed, requests, bytes)
	}
	if c.JSON || several {
		watch = nil
	}
	if !c.JSON && number == 1 {
		report.NFSBegin(app.stdout, mount, load, c.Connections)
	}
	kept.phase(report.NFSLoad(load, c.Connections))
	f, err := mount.Run(app.ctx, load, watch)
	if err != nil {
		return nil, err
	}
	d := nfs.NewDocument(c.Target, mount, load, f)
	kept.result(report.NFSRate(f.Requests, f.Bytes, f.Elapsed))
	switch {
	case c.JSON:
	case several:
		report.NFSRun(app.stdout, number, f)
	default:
		report.NFS(app.stdout, load, d, f)
	}
	return d, nil
}
