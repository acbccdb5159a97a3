package examine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// Settle diagnoses, and runs trials as long as one could change the verdict and
// most of the budget of test traffic allows it. Each is appended to the evidence
// with its result, also one that failed: the next diagnosis uses what it can of it.
// judge is [diagnose.Diagnose], except in tests.
//
// When ctx ends or the far end goes away in the middle of a trial, that is the
// error, and the diagnosis rests on what came before.
func Settle(ctx context.Context, m *Meter, e *diagnose.Evidence, most time.Duration, judge func(*diagnose.Evidence) diagnose.Diagnosis) (diagnose.Diagnosis, error) {
	d := judge(e)
	most = min(most, m.Left())
	for {
		if d.Next == nil || ran(e.Trials, d.Next) {
			return d, nil
		}
		trial := *d.Next
		omit, measured, ok := trialTiming(trial.Kind, m.rtt, most)
		if !ok {
			return d, nil
		}
		trial.Spec.Omit, trial.Spec.Duration = omit, measured
		m.watch.Phase("ask: " + question(&trial))
		r := m.Move(ctx, trial.Spec, most)
		most -= r.Spent.Time
		if err := r.Fatal(ctx); err != nil {
			return d, err
		}
		if r.Began() {
			trial.Result = r.Result
		}
		if r.Err != nil {
			trial.Failed = r.Err.Error()
		}
		e.Trials = append(e.Trials, trial)
		d = judge(e)
		m.watch.Result(outcome(&trial, d.Verdict))
	}
}

// ran says whether a trial was run already: asking the same again shows nothing
// new.
func ran(trials []diagnose.Trial, next *diagnose.Trial) bool {
	asked := next.Spec
	return slices.ContainsFunc(trials, func(t diagnose.Trial) bool {
		asked.Omit, asked.Duration = t.Spec.Omit, t.Spec.Duration
		return t.Kind == next.Kind && t.Spec == asked
	})
}

// question is what a trial is to answer, and what each cause predicts of it.
func question(t *diagnose.Trial) string {
	var predicted []string
	for _, x := range t.Expects {
		predicted = append(predicted, fmt.Sprintf("%s: %v", x.Cause, x.Goodput))
	}
	if len(predicted) == 0 {
		return t.Why
	}
	return fmt.Sprintf("%s (%s)", t.Why, strings.Join(predicted, ", "))
}

// outcome is a trial's result, and the diagnosis after it.
func outcome(t *diagnose.Trial, verdict diagnose.Finding) string {
	came := "failed: " + t.Failed
	if t.Failed == "" {
		came = Goodput(t).String()
		if again := Repeated(t.Result, t.Spec.Direction); again > 0 {
			came += fmt.Sprintf(", %.2g %% sent again", 100*again)
		}
	}
	return fmt.Sprintf("%s; now %s", came, Sure(&verdict))
}

// Unsure is the confidence below which a cause is said to be the most likely one, and not the one: people act on what is named.
const Unsure = 0.6

// Sure names a verdict's cause, and how sure it is.
func Sure(f *diagnose.Finding) string {
	if f.Cause != diagnose.Unknown && f.Confidence > 0 && f.Confidence < Unsure {
		return fmt.Sprintf("unknown, most likely %s (%.0f %%)", f.Cause, 100*f.Confidence)
	}
	return Found(f)
}

// Found names the cause of a finding that need not be the verdict, and how sure it is, if it is at all.
func Found(f *diagnose.Finding) string {
	if f.Cause == diagnose.Unknown || f.Confidence <= 0 {
		return f.Cause
	}
	return fmt.Sprintf("%s (%.0f %% sure)", f.Cause, 100*f.Confidence)
}

// Repeated is the share (0..1) of the bytes sent in one direction that were sent
// again; 0 where the sender's kernel does not report it.
func Repeated(r *bulk.Result, d bulk.Direction) float64 {
	if r == nil {
		return 0
	}
	if f := r.Figures(d); f.Repeated != nil && f.Repeated.Share != nil {
		return *f.Repeated.Share
	}
	return 0
}

// Goodput of a trial, 0 if nothing arrived.
func Goodput(t *diagnose.Trial) unit.Rate {
	if t.Result == nil {
		return 0
	}
	return t.Result.Goodput(t.Spec.Direction)
}
