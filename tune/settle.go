package tune

import (
	"context"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/plan"
)

// settleShare of what is left of the budget may go to trials that make the first
// verdict surer. Most of it is for trying changes: that is the better experiment
// where a change can be tried at all.
const settleShare = 0.2

func (t *tuning) trialShare() time.Duration {
	return time.Duration(settleShare * float64(t.meter.Left()))
}

// settle diagnoses the path as it was found, with trials where the verdict is in
// doubt. What is tried later is diagnosed without.
func (t *tuning) settle(ctx context.Context, c *candidate) (diagnose.Diagnosis, error) {
	e, err := t.evidence(ctx, c.typical())
	if err != nil {
		return diagnose.Diagnosis{}, err
	}
	d, err := examine.Settle(ctx, t.meter, e, t.trialShare(), t.hooks.diagnose)
	c.trials = e.Trials
	return d, err
}

// evidence is a transfer with the path and both hosts as they are now.
func (t *tuning) evidence(ctx context.Context, transfer *bulk.Result) (*diagnose.Evidence, error) {
	sender, receiver, err := t.hosts.current(ctx)
	if err != nil {
		return nil, err
	}
	return &diagnose.Evidence{Direction: t.o.Direction, Path: t.path, Transfer: transfer, SenderHost: sender, ReceiverHost: receiver}, nil
}

// plannable is what a plan is made from.
func (t *tuning) plannable(e *diagnose.Evidence, d diagnose.Diagnosis) plan.Input {
	return plan.Input{
		Path: e.Path, Direction: e.Direction, Sender: e.SenderHost, Receiver: e.ReceiverHost,
		Diagnosis: &d, Baseline: e.Transfer, Streams: t.o.Streams,
	}
}

// explain is for a path on which not even the baseline can be measured: nothing is
// tried there, but the result says what is known of the reason, and what would help.
// The transfer is what was recorded until it failed.
func (t *tuning) explain(ctx context.Context, transfer *bulk.Result, failed error) {
	if ctx.Err() != nil || transfer == nil || len(transfer.Client.Streams)+len(transfer.Server.Streams) == 0 {
		return
	}
	e, err := t.evidence(ctx, transfer)
	if err != nil {
		return // the failure of the transfer says enough
	}
	e.Failed = failed.Error()
	d, err := examine.Settle(ctx, t.meter, e, t.trialShare(), t.hooks.diagnose)
	if err != nil {
		return
	}
	t.result.Verdict = d.Verdict
	t.o.Watch.Result("the limit is " + examine.Sure(&d.Verdict))
	t.adviseAll(t.plannable(e, d))
}
