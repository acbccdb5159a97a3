package tune

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// candidate is one configuration with everything measured of it.
type candidate struct {
	config   config
	readings []reading
	trials   []diagnose.Trial // that settled its diagnosis
}

// goodputs of all its runs, in bit/s.
func (c *candidate) goodputs() []float64 {
	out := make([]float64, len(c.readings))
	for i, r := range c.readings {
		out[i] = float64(r.goodput)
	}
	return out
}

// goodput is the median over the runs.
func (c *candidate) goodput() unit.Rate { return c.median().goodput }

// median is the run in the middle by goodput: the one to diagnose.
func (c *candidate) median() reading {
	sorted := slices.Clone(c.readings)
	slices.SortFunc(sorted, func(a, b reading) int {
		switch {
		case a.goodput < b.goodput:
			return -1
		case a.goodput > b.goodput:
			return 1
		}
		return 0
	})
	return sorted[len(sorted)/2]
}

// measure brings the hosts to the candidate's configuration and runs one transfer.
func (t *tuning) measure(ctx context.Context, c *candidate) error {
	if err := t.hosts.bring(ctx, c.config); err != nil {
		return err
	}
	r, err := t.meter.read(ctx)
	if err != nil && len(c.readings) == 0 && len(c.config) == 0 {
		t.explain(ctx, r.transfer, err)
	}
	if err != nil {
		return err
	}
	c.readings = append(c.readings, r)
	return nil
}

// baseline measures the path as it is, at least twice.
func (t *tuning) baseline(ctx context.Context) (*candidate, error) {
	if !t.meter.affords(2) {
		return nil, fmt.Errorf("%w: %v of test traffic; on this path one transfer takes %v and a baseline needs two, so use --budget %v or more",
			ErrBudget, t.o.Budget, t.meter.cost().Round(100*time.Millisecond), (8 * t.meter.cost()).Round(time.Second))
	}
	t.o.Watch.Phase("measure as it is now")
	baseline := &candidate{}
	for range 2 {
		if err := t.measure(ctx, baseline); err != nil {
			return nil, err
		}
	}
	diagnosis, err := t.settle(ctx, baseline)
	if err != nil {
		return nil, err
	}
	t.result.Verdict = diagnosis.Verdict
	t.fill(baseline, baseline)
	t.o.Watch.Result(fmt.Sprintf("%s; the limit is %s", baseline.goodput(), examine.Sure(&diagnosis.Verdict)))
	return baseline, nil
}

// diagnose names what limits a candidate, from its median run.
func (t *tuning) diagnose(ctx context.Context, c *candidate) (diagnose.Diagnosis, error) {
	in, err := t.input(ctx, c)
	if err != nil {
		return diagnose.Diagnosis{}, err
	}
	return *in.Diagnosis, nil
}

// input is what a plan is made from: the candidate's evidence and both hosts as
// they are now.
func (t *tuning) input(ctx context.Context, c *candidate) (plan.Input, error) {
	e, err := t.evidence(ctx, c.median().transfer)
	if err != nil {
		return plan.Input{}, err
	}
	e.Trials = c.trials
	return t.plannable(e, diagnose.Diagnose(e)), nil
}

// maxRounds bounds the climb; each round removes one limit.
const maxRounds = 8

// climb removes one limit after the other, as long as that measurably helps.
func (t *tuning) climb(ctx context.Context, baseline *candidate) (*candidate, error) {
	best := baseline
	var tried []plan.Step
	for range maxRounds {
		if err := t.hosts.bring(ctx, best.config); err != nil {
			return nil, err
		}
		in, err := t.input(ctx, best)
		if err != nil {
			return nil, err
		}
		switch cause := in.Diagnosis.Verdict.Cause; {
		case cause == diagnose.Healthy:
			return t.stretch(ctx, best)
		case plan.Full(cause): // larger buffers would only lengthen the queue, or take from others
			return best, nil
		}
		step, seen := t.next(in, tried)
		if step == nil {
			return best, nil
		}
		tried = seen
		better, err := t.try(ctx, best, *step)
		if err != nil {
			return nil, err
		}
		if better == nil {
			continue
		}
		if best, err = t.double(ctx, better, *step, in.Diagnosis.Verdict.Cause); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// next is the first planned step that was not tried and that this tune may make,
// and all that were tried, with it. What it may not make becomes advice. After
// each that is left out the plan is made anew: the next step may have counted on
// a limit that this one raises.
func (t *tuning) next(in plan.Input, tried []plan.Step) (*plan.Step, []plan.Step) {
	t.adviseUnseen(in)
	if p := plan.Make(in); len(p.Steps) == 0 { // why nothing can be done is worth knowing
		for _, note := range p.Notes {
			t.advise(Advice{Says: note})
		}
	}
	for {
		in.Tried = tried
		p := plan.Make(in)
		if len(p.Steps) == 0 {
			return nil, tried
		}
		step := p.Steps[0]
		tried = append(slices.Clone(tried), step)
		mine := slices.DeleteFunc(slices.Clone(step.Changes), func(c plan.Change) bool { return t.notOurs(c.Host) })
		if len(mine) < len(step.Changes) {
			t.adviseStep(step, t.notOurs)
		}
		if len(mine) > 0 {
			step.Changes = mine
			return &step, tried
		}
	}
}

// notOurs says whether tune may not change a host.
func (t *tuning) notOurs(host string) bool { return t.hosts.find(host).changes == nil }

// try measures a step on top of the best candidate, and gives the new candidate
// if it is better, or nil with the step put on record.
func (t *tuning) try(ctx context.Context, best *candidate, step plan.Step) (*candidate, error) {
	t.o.Watch.Phase("try: " + step.Idea + describeChanges(step.Changes))
	next := &candidate{config: best.config.with(step.Changes)}
	verdict, err := t.compare(ctx, best, next)
	if err != nil {
		return nil, err
	}
	effect := describeEffect(best, next, verdict)
	if verdict == stat.Better {
		if reason := worseElsewhere(best, next); reason != "" {
			verdict, effect = stat.Same, effect+", but "+reason
		}
	}
	t.o.Watch.Result(effect)
	if verdict != stat.Better {
		t.putBack(step.Changes, effect)
		return nil, nil
	}
	return next, nil
}

// double repeats a step that helped with its buffers doubled, until nothing
// more is gained (S4's procedure, with a test in the place of the eye). It stops
// when the limit has become another one: on a path that is full, say, there is
// nothing to gain, so nothing is spent on it.
func (t *tuning) double(ctx context.Context, best *candidate, step plan.Step, cause string) (*candidate, error) {
	for {
		in, err := t.input(ctx, best)
		if err != nil {
			return nil, err
		}
		if now := in.Diagnosis.Verdict.Cause; now != cause && now != diagnose.Unknown {
			return best, nil
		}
		doubled := plan.Double(step, in)
		if doubled == nil || !t.meter.affords(2) {
			return best, nil
		}
		next, err := t.try(ctx, best, *doubled)
		if err != nil || next == nil {
			return best, err
		}
		best, step = next, *doubled
	}
}

// stretch is the last of the climb, on a path that is all but full: each buffer
// that was raised, doubled once more. One that holds the BDP keeps a path full
// until the first loss; while that is repaired, the receiver has to hold what
// comes after it too.
func (t *tuning) stretch(ctx context.Context, best *candidate) (*candidate, error) {
	for _, ch := range slices.Clone(best.config) {
		in, err := t.input(ctx, best)
		if err != nil {
			return nil, err
		}
		limit := in.Diagnosis.Verdict.PathGoodput
		if limit == 0 || float64(best.goodput()) >= (1-minEffect)*float64(limit) || !t.meter.affords(2) {
			return best, nil
		}
		step := plan.Double(plan.Step{Idea: "room to repair losses in " + ch.Tunable, Changes: []plan.Change{ch}}, in)
		if step == nil {
			continue
		}
		next, err := t.try(ctx, best, *step)
		if err != nil {
			return nil, err
		}
		if next != nil {
			best = next
		}
	}
	return best, nil
}

// leaveOneOut puts back every change without which the path is as fast.
func (t *tuning) leaveOneOut(ctx context.Context, best *candidate) (*candidate, error) {
	if len(best.config) < 2 {
		return best, nil
	}
	for _, ch := range slices.Clone(best.config) {
		if !t.meter.affords(1) {
			break
		}
		if slices.ContainsFunc(best.config, func(o plan.Change) bool { return plan.Needs(t.hosts.find(o.Host).facts, o, ch) }) {
			continue // it makes the room for what is kept
		}
		t.o.Watch.Phase(fmt.Sprintf("do without: %s on %s", ch.Tunable, ch.Host))
		less := &candidate{config: best.config.without(ch)}
		verdict, err := t.compare(ctx, less, best)
		if err != nil {
			return nil, err
		}
		if verdict == stat.Better {
			t.effectOf(ch, fmt.Sprintf("%s with it, %s without", best.goodput(), less.goodput()))
			t.o.Watch.Result(fmt.Sprintf("needed: %s without it", less.goodput()))
			continue
		}
		effect := fmt.Sprintf("contributes nothing: %s without it, %s with it", less.goodput(), best.goodput())
		t.o.Watch.Result(effect)
		t.putBack([]plan.Change{ch}, effect)
		best = less
	}
	return best, nil
}
