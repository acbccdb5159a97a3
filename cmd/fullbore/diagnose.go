package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/tune"
)

type diagnoseCmd struct {
	Target
	Direction string `enum:"forward,reverse" default:"forward" help:"Which way data flows: forward (this host sends) or reverse."`
	Parallel  int    `short:"P" default:"1" help:"TCP connections of the transfer."`
	JSON      bool   `help:"One JSON document on stdout."`
}

// diagnosisDocument is the JSON contract of diagnose (docs/json.md).
type diagnosisDocument struct {
	Schema    string         `json:"schema"` // "fullbore/diagnose/1"
	Direction bulk.Direction `json:"direction"`
	Path      *path.Estimate `json:"path"`
	Goodput   float64        `json:"goodput_bps"`
	diagnose.Diagnosis
}

func (c *diagnoseCmd) Run(app *app) error {
	if c.Lab != "" {
		return inLab(app, c.Lab)
	}
	far, err := c.dial(app)
	if err != nil {
		return err
	}
	defer far.Close()
	in, result, err := examine(app.ctx, far, bulk.Direction(c.Direction), c.Parallel, newWatcher(app.stderr, c.JSON && !isTerminal(app.stderr)))
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(app.stdout, diagnosisDocument{
			Schema: "fullbore/diagnose/1", Direction: in.Direction, Path: in.Path,
			Goodput: float64(result.Goodput(in.Direction)), Diagnosis: *in.Diagnosis,
		})
	}
	report.Diagnosis(app.stdout, in.Path, in.Direction, result, in.Diagnosis)
	return nil
}

// examine measures the path and one transfer, and diagnoses: all that a plan is
// made from. The far host's facts are part of it where it tells them.
func examine(ctx context.Context, far *peer.Client, d bulk.Direction, streams int, watch watcher) (plan.Input, *bulk.Result, error) {
	defer watch.end()
	in := plan.Input{Direction: d, Streams: streams}
	near, err := host.Collect(ctx)
	if err != nil {
		return in, nil, fmt.Errorf("collect facts of this host: %w", err)
	}
	farFacts, err := far.Facts(ctx)
	if err != nil {
		farFacts = nil
	}
	in.Sender, in.Receiver = near, farFacts
	if d == bulk.Reverse {
		in.Sender, in.Receiver = farFacts, near
	}
	watch.Phase("probe the path")
	if in.Path, err = path.Probe(ctx, far.Addr(), far, path.Options{}); err != nil {
		return in, nil, fmt.Errorf("probe the path: %w", err)
	}
	watch.Result(fmt.Sprintf("RTT %v", in.Path.RTT.Min.Round(10*time.Microsecond)))
	watch.Phase("measure a transfer")
	omit, measured := tune.Timing(in.Path.RTT.Median)
	result, err := far.Transfer(ctx, bulk.Spec{Direction: d, Streams: streams, Omit: omit, Duration: measured}, watch.Progress)
	if err != nil {
		return in, result, fmt.Errorf("%w%s", err, tune.MTUNote(*in.Path.Way(d == bulk.Reverse)))
	}
	watch.Result(result.Goodput(d).String())
	diagnosis := diagnose.Diagnose(&diagnose.Evidence{
		Direction: d, Path: in.Path, Transfer: result, SenderHost: in.Sender, ReceiverHost: in.Receiver,
	})
	in.Diagnosis, in.Baseline = &diagnosis, result
	return in, result, nil
}
