package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/unit"
)

type nfsTuneCmd struct {
	nfsFile
	Far    string        `placeholder:"HOST" help:"Where 'fullbore serve' runs on the file's server, for windows that are too small (the file's host)."`
	Token  string        `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"What that 'serve' printed: allows to read that host's facts and change its tunables."`
	Budget time.Duration `default:"3m" help:"Time to spend on requests at most."`
	Apply  string        `enum:"none,live,persist" default:"live" help:"What becomes of windows that helped: none (prove it, then put them back), live (until the next boot), persist."`
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
	target, err := c.file(app, "tune")
	if target == nil {
		return err
	}
	file := &climb.File{Target: *target, Load: load}
	kept := c.keepFile(app, record.NFSTune, target.Host, load.Op)
	var came record.Outcome
	var document any
	defer func() { kept.end(came, document, err) }() // people see the result first
	watch := kept.watching(report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr)))
	defer watch.End()
	missing, done := c.meet(app, file, kept, watch)
	defer done()
	most, err := file.Most(app.ctx)
	if err != nil {
		return interruptedNFS(app, err, "nothing was changed")
	}
	options := climb.Options{Start: climb.State{Connections: c.Connections, Depth: load.Depth}, Most: most, Budget: c.Budget, Watcher: watch, Limits: file.Limits(watch)}
	if load.ReadAhead != nil {
		options.InOrder = unit.Size(load.Size)
		options.Most.Depth = min(most.Depth, max(load.Depth, limit.MostInOrder(options.InOrder)))
	}
	result, err := climb.Run(app.ctx, file, options)
	if file.Hosts != nil {
		keep := err == nil && c.Apply != "none" && result.Windows()
		sets, ended := file.Hosts.End(app.ctx, keep, c.Apply == "persist")
		if ended != nil {
			return &hinted{err: errors.Join(err, ended), hint: "run fullbore status on both hosts", code: exitFailed}
		}
		if err == nil {
			result.Changed(file.Hosts, sets)
		}
		if keep {
			came.Changes = changesOf(file.Hosts)
		}
	}
	switch {
	case errors.Is(err, climb.ErrBudget):
		return &hinted{err: err, hint: "fullbore nfs tune --budget 3m", code: exitUsage}
	case err != nil:
		return interruptedNFS(app, err, "both hosts are as they were")
	case c.Apply == "none" && result.Windows():
		result.Advice = append(result.Advice, "the larger windows are proven, and put back (--apply none)")
	}
	result.Target = c.Target
	result.Advice = append(result.Advice, missing...)
	came.IOPS, came.Goodput, came.Verdict, document = result.After.IOPS, result.After.Goodput, result.Verdict.Cause, result
	watch.End()
	if c.JSON {
		return printJSON(app.stdout, result)
	}
	_, _ = fmt.Fprintln(app.stdout)
	report.NFSTune(app.stdout, result)
	return nil
}

// meet plans for the windows of both hosts, if a far end runs on the file's server. Missing
// says what is not tried without one.
func (c *nfsTuneCmd) meet(app *app, file *climb.File, kept *keeper, watch report.Monitor) (missing []string, done func()) {
	name := c.Far
	if name == "" {
		name = file.Target.Host
	}
	changes, err := localChanges()
	var far *peer.Client
	if err == nil {
		far, err = peer.Dial(app.ctx, name, c.Token)
	}
	if err == nil {
		direction := bulk.Reverse // data of reads come from the server
		if file.Load.Op == nfs.Write {
			direction = bulk.Forward
		}
		file.Hosts, err = climb.Meet(app.ctx, kept.near, changes, kept.far(far), direction, watch)
	}
	if err != nil {
		missing = append(missing, fmt.Sprintf("windows were left as they are: %v; with fullbore serve --allow-changes on the file's server, and its token here, they are tried too", err))
	}
	return missing, func() {
		kept.after(app.ctx, far)
		if far != nil {
			_ = far.Close()
		}
	}
}
