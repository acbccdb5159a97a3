package main

import (
	"errors"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/sweep"
	"github.com/fullbore/fullbore/tune"
)

// fleetTaskFlags are those of what takes longer than transfers, way by way.
type fleetTaskFlags struct {
	fleetFlags
	recordFlags
	patternFlags
	Lab  string `placeholder:"SCENARIO" help:"Do it on the hosts of a scenario with a network, in the lab on this machine."`
	JSON bool   `short:"J" name:"json" help:"Write one JSON document."`
}

// run does a task on each way of the pattern, no host in two at a time.
func (c *fleetTaskFlags) run(app *app, kind job.Kind, task *job.Task) error {
	if err := c.checkTags(); err != nil {
		return err
	}
	chosen, err := c.pattern()
	if err != nil {
		return err
	}
	if c.Lab != "" {
		return c.inLab(app, c.Lab, []string{"--allow-link-changes"}, nil)
	}
	return c.experiment(app, &c.recordFlags, c.JSON, func(members []fleet.Member) (fleet.Experiment, error) {
		e := fleet.Experiment{Kind: kind, Task: task, Spec: bulk.Spec{Direction: bulk.Forward, Streams: max(1, task.Streams)}}
		return e, c.between(members, chosen, &e)
	})
}

type fleetTuneCmd struct {
	fleetTaskFlags
	Parallel int           `short:"P" default:"1" placeholder:"N" help:"TCP connections of each transfer (${default})."`
	Budget   time.Duration `default:"90s" placeholder:"DURATION" help:"Test traffic to spend at most on each way, in time (${default})."`
	Apply    string        `enum:"none,live,persist" default:"live" placeholder:"MODE" help:"What becomes of what helped: none (prove it, then put it back), live (until the next boot), persist (${default})."`
}

func (c *fleetTuneCmd) Run(app *app) error {
	task := &job.Task{Budget: c.Budget, Apply: c.Apply, Streams: c.Parallel}
	if err := errors.Join(connections(c.Parallel), (&job.Order{Schema: job.Schema, Kind: job.Tuning, To: "host", Task: task}).Check()); err != nil {
		return usageError("%w", err)
	}
	if c.Budget < tune.MinBudget {
		return usageError("budget %v is too small: a baseline and one try need at least %v, and more on a long path", c.Budget, tune.MinBudget)
	}
	return c.run(app, job.Tuning, task)
}

type fleetSweepCmd struct {
	fleetTaskFlags
	Experiment string `arg:"" help:"Built-in experiment ('fullbore sweep' lists them), or a YAML file (docs/sweep.md)."`
}

func (c *fleetSweepCmd) Run(app *app) error {
	text, err := sweep.Text(c.Experiment)
	if err != nil {
		return &hinted{err: err, hint: "fullbore sweep lists those that are built in; docs/sweep.md describes files", code: exitUsage}
	}
	return c.run(app, job.Sweep, &job.Task{Experiment: string(text)})
}

type fleetNFSCmd struct {
	fleetFlags
	recordFlags
	nfsRequests
	File string  `arg:"" optional:"" help:"File: nfs://HOST[:PORT]/EXPORT/FILE[?version=3|4.1|4.2&mountport=N&uid=N&gid=N], as the hosts reach it."`
	Lab  string  `placeholder:"SCENARIO" help:"Do it on the hosts of a scenario with a network, in the lab on this machine: the last of them is the server, whose files need no disk."`
	Time float64 `short:"t" default:"10" placeholder:"SECONDS" help:"Measured time (10)."`
	Omit float64 `short:"O" default:"1" placeholder:"SECONDS" help:"Do not measure the first seconds (1)."`
	JSON bool    `short:"J" name:"json" help:"Write one JSON document."`
}

func (c *fleetNFSCmd) Run(app *app) error {
	load, err := (&nfsTestCmd{nfsFile: nfsFile{nfsRequests: c.nfsRequests}, Time: c.Time, Omit: c.Omit}).timed()
	if err != nil {
		return err
	}
	if err := c.checkTags(); err != nil {
		return err
	}
	switch {
	case (c.File == "") == (c.Lab == ""):
		return usageError("name a file of a server, such as nfs://server/export/file, or a scenario with --lab")
	case c.Discard || c.Coalesce:
		return usageError("--discard and --coalesce are for this host alone: fullbore nfs test has them")
	case c.Lab != "":
		return c.inLab(app, c.Lab, []string{"--allow-changes", "--nfs", "--nfs-writes", "--nfs-client", "0.0.0.0/0"}, lastServes)
	}
	if _, err := nfs.ParseTarget(c.File); err != nil {
		return usageError("%w", err)
	}
	task := &job.Task{NFS: &job.NFS{
		File: c.File, Op: load.Op.String(), Writes: load.Writes, Size: load.Size, Random: load.Random, Depth: load.Depth, Connections: c.Connections, Duration: load.Duration, Omit: load.Omit,
	}}
	return c.experiment(app, &c.recordFlags, c.JSON, func([]fleet.Member) (fleet.Experiment, error) {
		e := fleet.Experiment{Kind: job.Requests, Task: task, Spec: bulk.Spec{Direction: bulk.Forward, Streams: c.Connections, Duration: load.Duration, Omit: load.Omit}}
		e.Pattern.Name = fleet.Requests
		return e, nil
	})
}

// lastServes has all hosts of a lab but the last one ask that.
func lastServes(l *lab.Lab) []string {
	hosts := l.Hosts()
	var ask []string
	for _, h := range hosts[:len(hosts)-1] {
		ask = append(ask, h.Name())
	}
	return []string{"--only", strings.Join(ask, ","), "nfs://" + hosts[len(hosts)-1].Address().String() + "/synthetic/big"}
}
