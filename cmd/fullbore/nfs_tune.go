package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/mounted"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
)

type nfsTuneCmd struct {
	nfsFile
	farServer
	Budget time.Duration `default:"3m" help:"Time to spend on requests at most."`
	Apply  string        `enum:"none,live,persist" default:"live" help:"What becomes of windows, server threads, slots and a mount's read-ahead that helped: none (prove it, then put them back), live (until the next boot), persist (windows and slots: for good)."`
}

// Each run of a climb: long enough for windows to open on any path that NFS is used over.
const (
	climbOmit     = 400 * time.Millisecond
	climbMeasured = 1200 * time.Millisecond
)

func (c *nfsTuneCmd) Run(app *app) (err error) {
	load, err := c.load(c.Connections)
	if err != nil {
		return err
	}
	load.Omit, load.Duration = climbOmit, climbMeasured
	place, target, server, err := c.either(app, "tune", load)
	if server == "" {
		return err
	}
	kept := c.keepFile(app, record.NFSTune, server, load.Op)
	var came record.Outcome
	var document any
	defer func() { kept.end(came, document, err) }() // people see the result first
	watch := kept.watching(report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr)))
	defer watch.End()
	hosts, missing, done := c.meet(app, server, load.Op, kept, watch)
	defer done()
	if place != nil {
		hosts.Client = c.client(app, kept)
	}
	bench, options, err := c.bench(app, place, target, load, hosts, watch)
	if err != nil {
		return interruptedNFS(app, err, "nothing was changed")
	}
	result, err := climb.Run(app.ctx, bench, options)
	best := options.Start
	if err == nil {
		best = result.Best()
	}
	helped := len(hosts.Kept(best)) > 0
	keep := helped && c.Apply != "none"
	if !keep {
		best = options.Start
	}
	sets, ended := hosts.End(app.ctx, best, keep, c.Apply == "persist")
	if ended != nil {
		return &hinted{err: errors.Join(err, ended), hint: "run fullbore status on both hosts", code: exitFailed}
	}
	if err == nil {
		result.Changed(hosts, sets)
	}
	if keep {
		came.Changes = changesOf(hosts, result)
	}
	switch {
	case errors.Is(err, climb.ErrBudget):
		return &hinted{err: err, hint: "fullbore nfs tune --budget 3m", code: exitUsage}
	case errors.Is(err, mounted.ErrShared):
		return &hinted{err: err, hint: "fullbore nfs tune nfs://SERVER/EXPORT/FILE has connections of its own", code: exitFailed}
	case err != nil:
		return interruptedNFS(app, err, "both hosts are as they were")
	case c.Apply == "none" && helped:
		result.Advise("what helped of the hosts is proven, and put back (--apply none)")
	}
	if mount, ok := bench.(*climb.Mount); ok {
		came.Changes = append(came.Changes, c.keepMount(app, mount, result)...)
	}
	result.Target = c.Target
	result.Advice = append(result.Advice, missing...)
	came.IOPS, came.Goodput, came.Verdict, document = result.After.IOPS, result.After.Goodput, result.Verdict.Cause, result
	watch.End()
	if c.JSON {
		return printJSON(app.stdout, result)
	}
	_, _ = fmt.Fprintln(app.stdout)
	if place != nil {
		report.NFSMounted(app.stdout, place)
	}
	report.NFSTune(app.stdout, result)
	return nil
}

// bench is what a climb measures: programs that read through trial mounts where the file has a
// place, else requests of fullbore's own.
func (c *nfsTuneCmd) bench(app *app, place *mounted.Place, target *nfs.Target, load nfs.Load, hosts *climb.Hosts, watch report.Monitor) (climb.Bench, climb.Options, error) {
	o := climb.Options{Budget: c.Budget, Watcher: watch}
	if place != nil {
		m := &climb.Mount{Place: place, Load: mounted.Load{Size: load.Size, Random: load.Random}, Readers: load.Depth, Hosts: hosts}
		o.Start, o.Most, o.Least, o.InOrder, o.Limits, o.Mounted = m.Begin(), m.Most(), m.Least(), m.InOrder(), m.Limits(watch), true
		switch {
		case o.InOrder > 0:
			hosts.Client = nil // the client makes few large requests of what it reads ahead: slots do not hold it back
		case hosts.Client != nil:
			hosts.Client.Found = o.Start.Depth
		}
		return m, o, nil
	}
	f := &climb.File{Target: *target, Load: load, Hosts: hosts}
	o.Start, o.InOrder, o.Limits = f.Begin(c.Connections), f.InOrder(), f.Limits(watch)
	var err error
	o.Most, err = f.Most(app.ctx)
	return f, o, err
}

// client is this host, whose kernel mounts the file; nil: its mounts' slots cannot be changed.
func (c *nfsTuneCmd) client(app *app, kept *keeper) *climb.Client {
	facts, err := kept.near(app.ctx)
	changes, failed := localChanges()
	if err != nil || failed != nil {
		return nil
	}
	return climb.ClientOf(facts, changes)
}

// meet plans for the windows of both hosts, if a far end runs on the file's server. Missing says
// what is not tried without one.
func (c *nfsTuneCmd) meet(app *app, server string, op nfs.Op, kept *keeper, watch report.Monitor) (hosts *climb.Hosts, missing []string, done func()) {
	changes, err := localChanges()
	var far *peer.Client
	if err == nil {
		far, err = c.dial(app, server)
	}
	if err == nil {
		direction := bulk.Reverse // data of reads come from the server
		if op == nfs.Write {
			direction = bulk.Forward
		}
		hosts, err = climb.Meet(app.ctx, kept.near, changes, kept.far(far), direction, watch)
	}
	if err != nil {
		hosts = &climb.Hosts{}
		missing = append(missing, fmt.Sprintf("windows and the server's threads were left as they are: %v; with fullbore serve --allow-changes on the file's server, and its token here, they are tried too", err))
	}
	return hosts, missing, func() {
		kept.after(app.ctx, far)
		if far != nil {
			_ = far.Close()
		}
	}
}
