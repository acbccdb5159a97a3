package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/report"
)

type planCmd struct {
	optionalTarget
	described
	Direction   string `enum:",forward,reverse" default:"" placeholder:"WAY" help:"Which way data flows: forward (this host sends, the default) or reverse."`
	Parallel    int    `short:"P" default:"1" help:"TCP connections to plan for."`
	Workload    string `enum:",nfs" default:"" placeholder:"nfs" help:"What the connections carry, if it has settings of its own: nfs."`
	Connections int    `placeholder:"N" help:"Connections that each host serves at once: their buffers have to fit into its memory."`
	written
}

// Help is called by kong.
func (*planCmd) Help() string {
	return `Plans for a path that it measures:

  fullbore plan HOST
  fullbore plan --lab SCENARIO

or for hosts that are not at hand, on a path that you describe:

  fullbore plan --for solaris10 --memory 8GiB --rate 1gbit --rtt 67ms
  fullbore plan --facts sender.txt --facts receiver.txt --rate 10gbit --rtt 40ms
  fullbore plan --facts server.txt --as sender --rate 10gbit --rtt 1ms --workload nfs --format ansible --output plan/`
}

// AfterApply is called by kong once the command line is read.
func (c *planCmd) AfterApply() error {
	sources := 0
	for _, given := range []bool{c.Host != "", c.Lab != "", len(c.Facts) > 0, c.For != ""} {
		if given {
			sources++
		}
	}
	switch {
	case sources == 0:
		return errors.New("name the far end, or a scenario with --lab; or a host that is not at hand, with --facts FILE or --for SYSTEM")
	case sources > 1:
		return fmt.Errorf("%s were given: use one", strings.Join(c.sources(), " and "))
	case c.Connections < 0:
		return fmt.Errorf("--connections %d: must not be negative", c.Connections)
	case c.measured() && c.about() != "":
		return fmt.Errorf("%s describes a path or host that is not measured: it goes with --facts or --for", c.about())
	case !c.measured() && c.Direction != "":
		return errors.New("--direction goes with a far end; of a host that is not at hand, say --as sender or --as receiver")
	}
	if err := c.written.check(); err != nil {
		return err
	}
	if !c.measured() {
		return c.described.check()
	}
	return nil
}

func (c *planCmd) measured() bool { return c.Host != "" || c.Lab != "" }

// sources are what was given to plan for, as people wrote it.
func (c *planCmd) sources() []string {
	var all []string
	if c.Host != "" {
		all = append(all, "the far end "+c.Host)
	}
	if c.Lab != "" {
		all = append(all, "the scenario "+c.Lab)
	}
	if len(c.Facts) > 0 {
		all = append(all, "--facts")
	}
	if c.For != "" {
		all = append(all, "--for")
	}
	return all
}

func (c *planCmd) Run(app *app) error {
	if err := connections(c.Parallel); err != nil {
		return planUsage("%w", err)
	}
	if c.Lab != "" {
		return inLab(app, c.Lab)
	}
	in, err := c.input(app)
	if err != nil {
		return err
	}
	in.Workload, in.Connections, in.Streams = plan.Workload(c.Workload), c.Connections, c.Parallel
	if in.Sender != nil && in.Receiver != nil && in.Sender != in.Receiver && in.Sender.Name == in.Receiver.Name {
		farHost(in).Name += " (far end)" // as in tune: a plan tells its hosts apart by name
	}
	p := plan.Make(in)
	if c.format() == "json" {
		return printJSON(app.stdout, planDocument{Schema: planSchema, Plan: *p})
	}
	if c.format() == "text" {
		if c.measured() {
			report.Verdict(app.stdout, in.Diagnosis, style(app))
		}
		return plan.WriteText(app.stdout, p)
	}
	h, err := c.one(in)
	if err != nil {
		return err
	}
	return c.write(app, p, h)
}

// input measures the path, or takes it and the hosts as they are described.
func (c *planCmd) input(app *app) (plan.Input, error) {
	if !c.measured() {
		return c.described.input(app)
	}
	direction := bulk.Forward
	if c.Direction != "" {
		direction = bulk.Direction(c.Direction)
	}
	watch := report.NewMonitor(app.stderr, c.format() == "json" && !isTerminal(app.stderr))
	x, _, err := examineFar(app, &c.optionalTarget, &recordFlags{NoRecord: true}, watch, examine.Options{Direction: direction, Streams: c.Parallel})
	if err != nil {
		return plan.Input{}, err
	}
	return plan.Input{
		Path: x.Evidence.Path, Direction: x.Evidence.Direction, Sender: x.Evidence.SenderHost, Receiver: x.Evidence.ReceiverHost,
		Diagnosis: &x.Diagnosis, Baseline: x.Evidence.Transfer,
	}, nil
}

// one is the host whose part of the plan is written.
func (c *planCmd) one(in plan.Input) (*host.Facts, error) {
	var names []string
	for _, h := range []*host.Facts{thisHost(in), farHost(in)} {
		if h == nil {
			continue
		}
		if c.ForHost == "" || c.ForHost == h.Name {
			return h, nil
		}
		names = append(names, h.Name)
	}
	if c.ForHost == "" {
		return nil, &hinted{err: errors.New("nothing is known of the host to write for"), hint: "collect its facts there, and plan with --facts FILE", code: exitUsage}
	}
	return nil, planUsage("--for-host %s: nothing is known of such a host, only of %s", c.ForHost, strings.Join(slices.Compact(names), ", "))
}

// planUsage is a usage error with the help of this verb.
func planUsage(format string, args ...any) error {
	return &hinted{err: fmt.Errorf(format, args...), hint: "see fullbore plan --help", code: exitUsage}
}

// planDocument is a plan as a file (docs/json.md).
type planDocument struct {
	Schema string `json:"schema"`
	plan.Plan
}

const planSchema = "fullbore/plan/1"

// thisHost is this host's facts among the two ends of a plan.
func thisHost(in plan.Input) *host.Facts {
	if in.Direction == bulk.Reverse {
		return in.Receiver
	}
	return in.Sender
}

// farHost is the far host's facts, nil where the far end does not report them.
func farHost(in plan.Input) *host.Facts {
	if in.Direction == bulk.Reverse {
		return in.Sender
	}
	return in.Receiver
}

// causeNames are those that --verdict takes.
func causeNames() []string {
	var names []string
	for _, c := range diagnose.Causes {
		names = append(names, c.ID)
	}
	return names
}
