package main

import (
	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/report"
)

type planCmd struct {
	Target
	Direction string `enum:"forward,reverse" default:"forward" help:"Which way data flows: forward (this host sends) or reverse."`
	Parallel  int    `short:"P" default:"1" help:"TCP connections to plan for."`
	Format    string `enum:"text,sysctl,json" default:"text" help:"How to write it: text, sysctl (sysctl.d files), json (for 'fullbore apply')."`
	JSON      bool   `help:"The same as --format json."`
	For       string `name:"for-host" placeholder:"NAME" help:"Host whose part --format sysctl writes (default: this host)."`
}

func (c *planCmd) Run(app *app) error {
	if err := connections(c.Parallel); err != nil {
		return usageError("%w", err)
	}
	if c.Lab != "" {
		return inLab(app, c.Lab)
	}
	x, err := examineFar(app, &c.optionalTarget, examine.Options{
		Direction: bulk.Direction(c.Direction), Streams: c.Parallel,
		Watch: newWatcher(app.stderr, c.JSON && !isTerminal(app.stderr)),
	})
	if err != nil {
		return err
	}
	in := plan.Input{
		Path: x.Evidence.Path, Direction: x.Evidence.Direction, Sender: x.Evidence.SenderHost, Receiver: x.Evidence.ReceiverHost,
		Diagnosis: &x.Diagnosis, Baseline: x.Evidence.Transfer, Streams: c.Parallel,
	}
	if in.Sender != nil && in.Receiver != nil && in.Sender.Name == in.Receiver.Name {
		other(in).Name += " (far end)" // as in tune: a plan tells its hosts apart by name
	}
	p := plan.Make(in)
	if c.For == "" {
		c.For = near(in).Name
	} else if there := other(in); c.For != near(in).Name && (there == nil || c.For != there.Name) {
		return usageError("--for-host %s: nothing is known of such a host", c.For)
	}
	switch {
	case c.JSON || c.Format == "json":
		return printJSON(app.stdout, planDocument{Schema: planSchema, Plan: *p})
	case c.Format == "sysctl":
		return plan.WriteSysctl(app.stdout, p, c.For)
	}
	report.Verdict(app.stdout, in.Diagnosis, style(app))
	return plan.WriteText(app.stdout, p)
}

// planDocument is a plan as a file (docs/json.md).
type planDocument struct {
	Schema string `json:"schema"`
	plan.Plan
}

const planSchema = "fullbore/plan/1"

// near is this host's facts among the two ends of a plan.
func near(in plan.Input) *host.Facts {
	if in.Direction == bulk.Reverse {
		return in.Receiver
	}
	return in.Sender
}

// other is the far host's facts, nil if it does not tell.
func other(in plan.Input) *host.Facts {
	if in.Direction == bulk.Reverse {
		return in.Sender
	}
	return in.Receiver
}
