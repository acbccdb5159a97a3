package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/report"
)

type nfsTuneCmd struct {
	nfsRequests
	Target string        `arg:"" optional:"" help:"File: nfs://HOST[:PORT]/EXPORT/FILE[?version=3|4.1&mountport=N&uid=N&gid=N]."`
	Lab    string        `placeholder:"SCENARIO" help:"Use the two hosts of a scenario instead; host b is a server whose files need no disk."`
	Far    string        `placeholder:"HOST" help:"Where 'fullbore serve' runs on the file's server, for windows that are too small (the file's host)."`
	Token  string        `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"What that 'serve' printed: allows to read that host's facts and change its tunables."`
	Budget time.Duration `default:"3m" help:"Time to spend on requests at most."`
	Apply  string        `enum:"none,live,persist" default:"live" help:"What becomes of windows that helped: none (prove it, then put them back), live (until the next boot), persist."`
	JSON   bool          `short:"J" help:"One JSON document on stdout."`
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
	if (c.Target == "") == (c.Lab == "") {
		return &hinted{err: errors.New("name a file of a server, such as nfs://server/export/file, or a scenario with --lab"), hint: "see fullbore nfs tune --help", code: exitUsage}
	}
	if c.Lab != "" {
		flags := []string{"--nfs", "--nfs-writes", "--nfs-client", "0.0.0.0/0"}
		return inLabWith(app, c.Lab, flags, func(b netip.Addr, serves *serveDocument) string { return serves.NFS.target(b.String()) })
	}
	file := &climb.File{Load: load}
	if file.Target, err = nfs.ParseTarget(c.Target); err != nil {
		return &hinted{err: err, hint: "see fullbore nfs tune --help", code: exitUsage}
	}
	watch := report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr))
	defer watch.End()
	missing, done := c.meet(app, file, watch)
	defer done()
	most, err := file.Most(app.ctx)
	if err != nil {
		return err
	}
	result, err := climb.Run(app.ctx, file, climb.Options{Start: climb.State{Connections: c.Connections, Depth: load.Depth}, Most: most, Budget: c.Budget, Watcher: watch})
	if file.Hosts != nil {
		keep := err == nil && c.Apply != "none" && result.Windows()
		sets, ended := file.Hosts.End(app.ctx, keep, c.Apply == "persist")
		if ended != nil {
			return &hinted{err: errors.Join(err, ended), hint: "run fullbore status on both hosts", code: exitFailed}
		}
		if err == nil {
			result.Changed(file.Hosts, sets)
		}
	}
	switch {
	case errors.Is(err, climb.ErrBudget):
		return &hinted{err: err, hint: "fullbore nfs tune --budget 3m", code: exitUsage}
	case errors.Is(err, context.Canceled):
		return &hinted{err: errors.New("interrupted: both hosts are as they were"), code: exitFailed}
	case err != nil:
		return err
	}
	result.Target = c.Target
	result.Advice = append(result.Advice, missing...)
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
func (c *nfsTuneCmd) meet(app *app, file *climb.File, watch report.Monitor) (missing []string, done func()) {
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
		file.Hosts, err = climb.Meet(app.ctx, host.Collect, changes, far, direction, watch)
	}
	if err != nil {
		missing = append(missing, fmt.Sprintf("windows were left as they are: %v; with fullbore serve --allow-changes on the file's server, and its token here, they are tried too", err))
	}
	return missing, func() {
		if far != nil {
			_ = far.Close()
		}
	}
}
