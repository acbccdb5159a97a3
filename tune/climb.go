package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/stat"
)

// found measures the path as it is, once, and names what limits it. What is
// compared with it later is measured in turns with it again.
func (t *tuning) found(ctx context.Context) error {
	t.baseline = t.candidate(nil)
	once := t.firstTiming(t.baseline)
	if cost := t.meter.Cost(once.omit, once.measured); cost > t.meter.Left() {
		return fmt.Errorf("%w: %v of test traffic; on this path one transfer takes %v, and to try changes takes several, so use --budget %v or more",
			ErrBudget, t.o.Budget, cost.Round(100*time.Millisecond), (8 * cost).Round(time.Second))
	}
	t.o.Watch.Phase("measure as it is now")
	if err := t.measure(ctx, t.baseline, once); err != nil {
		return err
	}
	diagnosis, err := t.settle(ctx, t.baseline)
	if err != nil {
		return err
	}
	t.result.Verdict = diagnosis.Verdict
	t.fill(t.baseline, t.baseline)
	t.o.Watch.Result(fmt.Sprintf("%s; the limit is %s", t.baseline.goodput(), examine.Sure(&diagnosis.Verdict)))
	t.keepBack()
	return nil
}

// input is what a plan is made from: the candidate's evidence and both hosts as
// they are now.
func (t *tuning) input(ctx context.Context, c *candidate) (plan.Input, error) {
	e, err := t.evidence(ctx, c.typical())
	if err != nil {
		return plan.Input{}, err
	}
	e.Trials = c.trials
	return t.plannable(e, t.hooks.diagnose(e)), nil
}

// maxRounds bounds the climb, whatever the plans are: each round tries one step.
const maxRounds = 8

// climb tries one planned step after the other, and goes on from each that helps.
func (t *tuning) climb(ctx context.Context) (*candidate, error) {
	best := t.baseline
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
		step, seen, steps := t.next(in, tried)
		if step == nil {
			break
		}
		tried = seen
		if steps > 1 || len(tried) > 1 {
			steps++ // all together, at the end
		}
		better, err := t.try(ctx, best, *step, t.share(steps))
		switch {
		case errors.Is(err, errUnpaid):
			t.adviseUntried(*step)
			continue
		case err != nil:
			return nil, err
		case better == nil:
			continue
		}
		if best, err = t.double(ctx, better, *step, in.Diagnosis.Verdict.Cause); err != nil {
			return nil, err
		}
	}
	if len(best.config) == 0 {
		var err error
		if best, err = t.again(ctx, best, tried); err != nil {
			return nil, err
		}
	}
	return t.together(ctx, best)
}

// again measures on with the one of the steps that seemed to do most, if that was twofold at least:
// the median of two runs is their mean, and one that goes astray can hide anything. Where nothing
// was adopted there will be little to leave out, so that all but the proof's part is free for it.
func (t *tuning) again(ctx context.Context, best *candidate, tried []plan.Step) (*candidate, error) {
	var most *plan.Step
	for gain, i := twofold, 0; i < len(tried); i++ {
		step := tried[i]
		step.Changes = t.ours(step.Changes)
		c := t.candidate(best.config.with(step.Changes))
		if len(c.readings) == 0 {
			continue
		}
		if came := float64(c.goodput() / best.goodput()); came > gain {
			gain, most = came, &step
		}
	}
	if most == nil {
		return best, nil
	}
	t.reserve = t.proving
	next, err := t.try(ctx, best, *most, t.share(1))
	switch {
	case errors.Is(err, errUnpaid) || next == nil && err == nil:
		return best, nil
	case err != nil:
		return nil, err
	}
	return next, nil
}

// share of what may be spent before the proof, for the next of so many things to
// find out.
func (t *tuning) share(steps int) time.Duration {
	return max(0, t.meter.Left()-t.reserve) / time.Duration(max(1, steps))
}

// next is the first planned step that was not tried and that this tune may make, all
// steps tried so far including it, and how many are planned from it on. Steps that
// it may not make become advice. After each of those the plan is made again: the
// next step may have relied on a limit that this one raises.
func (t *tuning) next(in plan.Input, tried []plan.Step) (*plan.Step, []plan.Step, int) {
	t.adviseUnseen(in)
	if p := t.hooks.plan(in); len(p.Steps) == 0 { // why nothing can be done is worth knowing
		for _, note := range p.Notes {
			t.advise(Advice{Says: note})
		}
	}
	for {
		in.Tried = tried
		p := t.hooks.plan(in)
		if len(p.Steps) == 0 {
			return nil, tried, 0
		}
		step := p.Steps[0]
		tried = append(slices.Clone(tried), step)
		mine := t.ours(step.Changes)
		if len(mine) < len(step.Changes) {
			t.adviseStep(step, func(c plan.Change) bool { return !t.mayMake(c) })
		}
		if len(mine) > 0 {
			step.Changes = mine
			return &step, tried, len(p.Steps)
		}
	}
}

// ours filters the changes to those that tune may make.
func (t *tuning) ours(changes []plan.Change) []plan.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c plan.Change) bool { return !t.mayMake(c) })
}

// mayMake says whether tune may change the host that a change is for.
func (t *tuning) mayMake(c plan.Change) bool { return t.hosts.of(c).held.Host != nil }

// errUnpaid says that a step was not started, as the budget does not cover it.
var errUnpaid = errors.New("the budget does not cover it")

// try measures a step on top of the best candidate, and gives the new candidate
// if it is better, or nil with the step put on record.
func (t *tuning) try(ctx context.Context, best *candidate, step plan.Step, share time.Duration) (*candidate, error) {
	next := t.candidate(best.config.with(step.Changes))
	allowance, ok := t.pays(best, next, share)
	if !ok {
		return nil, errUnpaid
	}
	t.o.Watch.Phase("try: " + step.Idea + describeChanges(step.Changes))
	decision, failed, err := t.contest(ctx, best, next, allowance, choosing)
	if err != nil {
		return nil, err
	}
	effect := describeEffect(best, next, decision)
	if failed != nil {
		effect = "with this change the transfer failed: " + failed.Error()
	}
	came := map[stat.Decision]Effect{stat.Better: Helps, stat.Worse: Hurts}[decision]
	if decision == stat.Better {
		if reason := worseElsewhere(best, next); reason != "" {
			came, effect = Breaks, effect+", but "+reason
		}
	}
	t.o.Watch.Result(effect)
	t.stepped(step, best, next, came, effect)
	if came != Helps {
		t.putBack(step.Changes, effect)
		return nil, nil
	}
	return next, nil
}

// fewestTried is how many runs each side of a try can have at least, once begun.
const fewestTried = 2

// pays is how much traffic a try may take, and whether the budget covers it to its
// end: a share of what is left, but never less than two runs of each side, and where
// there is more than one change, one run without each of them later.
func (t *tuning) pays(best, next *candidate, share time.Duration) (allowance time.Duration, ok bool) {
	least := t.takes(best, next, fewestTried)
	later := time.Duration(0)
	if n := len(next.config); n > 1 {
		once := t.firstTiming(next)
		later = time.Duration(n) * t.meter.Expect(once.omit, once.measured)
	}
	return max(share, least), least <= t.meter.Left()-t.reserve && least+later <= t.meter.Left()-t.proving
}

// double repeats a step that helped with its buffers doubled, until nothing
// more is gained (the GigaSwift article's procedure, with a statistical test instead
// of judging by eye). It stops when the limit has become another one: on a full path,
// for example, there is nothing to gain, so no traffic is spent on it.
func (t *tuning) double(ctx context.Context, best *candidate, step plan.Step, cause string) (*candidate, error) {
	for {
		in, err := t.input(ctx, best)
		if err != nil {
			return nil, err
		}
		if now := in.Diagnosis.Verdict.Cause; now != cause && now != diagnose.Unknown {
			return best, nil
		}
		doubled := t.hooks.double(step, in)
		if doubled == nil {
			return best, nil
		}
		next, err := t.try(ctx, best, *doubled, t.share(2))
		if errors.Is(err, errUnpaid) {
			return best, nil
		}
		if err != nil || next == nil {
			return best, err
		}
		best, step = next, *doubled
	}
}

// stretch ends the climb on a path that is almost full: each buffer that was raised
// is doubled once more. A buffer of one BDP keeps a path full until the first loss;
// while that is repaired, the receiver also has to hold what arrives after it.
func (t *tuning) stretch(ctx context.Context, best *candidate) (*candidate, error) {
	for i, ch := range slices.Clone(best.config) {
		in, err := t.input(ctx, best)
		if err != nil {
			return nil, err
		}
		limit := in.Diagnosis.Verdict.PathGoodput
		if limit == 0 || float64(best.goodput()) >= (1-minEffect)*float64(limit) {
			return best, nil
		}
		step := t.hooks.double(plan.Step{Idea: "room to repair losses in " + ch.Tunable, Changes: []plan.Change{ch}}, in)
		if step == nil {
			continue
		}
		next, err := t.try(ctx, best, *step, t.share(len(best.config)-i+1))
		if errors.Is(err, errUnpaid) {
			return best, nil
		}
		if err != nil {
			return nil, err
		}
		if next != nil {
			best = next
		}
	}
	return best, nil
}

// together is the last try where single steps brought nothing: all planned changes at
// once, on top of what helped so far. Of two limits that are equally low, raising one
// shows nothing until both are raised. leaveOneOut later removes what is not needed.
func (t *tuning) together(ctx context.Context, best *candidate) (*candidate, error) {
	if err := t.hosts.bring(ctx, best.config); err != nil {
		return nil, err
	}
	in, err := t.input(ctx, best)
	if err != nil {
		return nil, err
	}
	all := plan.Step{Idea: "all that brought nothing before, together"}
	for _, step := range t.hooks.plan(in).Steps {
		all.Changes = config(all.Changes).with(t.ours(step.Changes))
	}
	if len(all.Changes) == 0 || len(t.candidate(best.config.with(all.Changes)).readings) > 0 { // it was tried, as it is
		return best, nil
	}
	next, err := t.try(ctx, best, all, t.share(1))
	if next == nil || err != nil {
		next = best
	}
	if errors.Is(err, errUnpaid) {
		err = nil
	}
	return next, err
}
