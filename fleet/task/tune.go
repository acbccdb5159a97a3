package task

import (
	"context"
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

// Tune tunes the path to the other host: both must have given leave.
func (h Host) Tune(ctx context.Context, doing *peer.Doing) (s job.Status, err error) {
	task := doing.Order.Task
	if h.Changes == nil {
		return s, noLeave("this host")
	}
	if doing.Far.Changes() == nil {
		return s, noLeave(doing.Far.Hello().Host)
	}
	if task.Budget < tune.MinBudget {
		return s, fmt.Errorf("a budget of %v is too small: a baseline and one try need at least %v", task.Budget, tune.MinBudget)
	}
	if err := doing.Begin(ctx); err != nil {
		return s, err
	}
	r, err := tune.Run(ctx, tune.Near{Facts: host.Collect, Changes: h.Changes}, doing.Far, tune.Options{
		Direction: bulk.Forward, Streams: max(1, task.Streams), Budget: task.Budget, Apply: tune.Mode(task.Apply), Watch: saying{doing.Say},
	})
	if r == nil || r.Verdict.Cause == "" {
		return s, err
	}
	var failed error
	s.Report, failed = job.NewReport(float64(r.After.Goodput), r.TestBytes, r, tuned(r)...)
	if err == nil {
		err = failed
	}
	return s, err
}

// tuned is what a tuning came to, line by line.
func tuned(r *tune.Result) []string {
	gain := fmt.Sprintf("%v as before: %s", r.Before.Goodput, r.Verdict.Says)
	if len(r.Kept) > 0 {
		gain = fmt.Sprintf("%v instead of %v (%s; 95 %% sure of %.3g to %.3g times)", r.After.Goodput, r.Before.Goodput, unit.Factor(r.Gain), r.GainCI95[0], r.GainCI95[1])
		if r.Apply == tune.ApplyNone {
			gain += ", proven and put back"
		}
	}
	lines := []string{gain}
	for _, k := range r.Kept {
		lines = append(lines, fmt.Sprintf("%s: %s is %s instead of %s", k.Host, k.Tunable, k.To, k.From))
	}
	for _, c := range r.ChangeSets {
		until := "until the next boot"
		if c.Persisted {
			until = "for good"
		}
		lines = append(lines, fmt.Sprintf("%s: kept %s; there, %s undoes it", c.Host, until, c.Undo))
	}
	for _, a := range r.Advice {
		line := a.Says
		if a.Host != "" {
			line = a.Host + ": " + line
		}
		lines = append(lines, "advice: "+strings.Join(append([]string{line}, a.Commands...), "; "))
	}
	return lines
}
