package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/plan/format"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// keep leaves the hosts with the best configuration, confirmed.
func (t *tuning) keep(ctx context.Context, best *candidate) error {
	if err := t.hosts.bring(ctx, best.config); err != nil {
		return err
	}
	in, err := t.input(ctx, best)
	if err != nil {
		return err
	}
	if len(best.config) > 0 {
		t.result.Remaining = &in.Diagnosis.Verdict
	}
	t.adviseFinding(in.Diagnosis.Verdict)
	for _, ch := range best.config {
		t.result.Kept = append(t.result.Kept, t.outcome(ch, ""))
		// What brought nothing by itself may be kept together with others.
		t.result.PutBack = slices.DeleteFunc(t.result.PutBack, func(o Outcome) bool {
			return o.Host == ch.Host && o.Tunable == ch.Tunable && o.To == ch.To
		})
	}
	if t.o.Apply == ApplyNone {
		return nil
	}
	for _, e := range []*end{t.hosts.near, t.hosts.far} {
		if len(e.held.Live) == 0 {
			continue
		}
		if err := t.confirm(ctx, e); err != nil {
			return fmt.Errorf("keep the changes on %s: %w", e.name, err)
		}
	}
	return nil
}

// confirm keeps what is set on one host. A host that cannot keep it over a boot
// keeps it until then: the gain is proven, and what prevents it is for its
// administrator to resolve.
func (t *tuning) confirm(ctx context.Context, e *end) error {
	e.confirming = true
	kept := ChangeSet{Host: e.name, ID: e.held.ID, Undo: "fullbore revert " + e.held.ID, Persisted: t.o.Apply == ApplyPersist}
	refused := e.held.Host.Confirm(ctx, e.held.ID, kept.Persisted)
	if refused != nil && kept.Persisted && ctx.Err() == nil {
		kept.Persisted = false
		if err := e.held.Host.Confirm(ctx, e.held.ID, false); err != nil {
			return errors.Join(refused, err)
		}
		t.advise(Advice{
			Host:     e.name,
			Says:     fmt.Sprintf("what helped is kept until the next boot only: %v; once that is resolved, to keep it for good, run", refused),
			Commands: []string{"fullbore confirm " + e.held.ID + " --persist"},
		})
		refused = nil
	}
	if refused == nil {
		t.result.ChangeSets = append(t.result.ChangeSets, kept)
	}
	return refused
}

// describe is the end of a dry run: the plan becomes advice.
func (t *tuning) describe(ctx context.Context) error {
	in, err := t.input(ctx, t.baseline)
	if err != nil {
		return err
	}
	t.adviseAll(in)
	return nil
}

// adviseAll makes advice of all that is planned.
func (t *tuning) adviseAll(in plan.Input) {
	t.adviseUnseen(in)
	p := t.hooks.plan(in)
	for _, step := range p.Steps {
		t.adviseStep(step, func(plan.Change) bool { return true })
	}
	for _, note := range p.Notes {
		t.advise(Advice{Says: note})
	}
	t.adviseFinding(in.Diagnosis.Verdict)
}

// fill writes both figures into the result; there is a gain once one is proven.
func (t *tuning) fill(before, after *candidate) {
	r := t.result
	r.Before, r.After = before.figure(), after.figure()
	r.Latency = LatencyPair{milliseconds(before.latency()), milliseconds(after.latency())}
}

func (c *candidate) figure() Figure {
	f := Figure{Runs: []unit.Rate{}}
	if len(c.readings) == 0 { // its transfers failed: there is nothing to take a median of
		return f
	}
	f.Goodput, f.Retrans = c.goodput(), c.retrans()
	for _, r := range c.readings {
		f.Runs = append(f.Runs, r.goodput)
	}
	return f
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// outcome reports one change.
func (t *tuning) outcome(ch plan.Change, effect string) Outcome {
	if effect == "" {
		effect = t.effects[nameOf(ch)]
	}
	if effect == "" {
		effect = fmt.Sprintf("%s before, %s after", t.result.Before.Goodput, t.result.After.Goodput)
	}
	return Outcome{Host: ch.Host, Tunable: ch.Tunable, From: ch.From, To: ch.To, Effect: effect, Why: ch.Why, Source: ch.Source}
}

// effectOf remembers what a change was measured to do.
func (t *tuning) effectOf(ch plan.Change, effect string) {
	t.effects[nameOf(ch)] = effect
}

// putBack records changes that were tried and not kept: each with what it did when it was
// tried first, as later it may have been one of several.
func (t *tuning) putBack(changes []plan.Change, effect string) {
	for _, ch := range changes {
		put := t.outcome(ch, effect)
		if !slices.ContainsFunc(t.result.PutBack, func(o Outcome) bool { return o.Host == put.Host && o.Tunable == put.Tunable && o.To == put.To }) {
			t.result.PutBack = append(t.result.PutBack, put)
		}
	}
}

// stepped records a step that was tried.
func (t *tuning) stepped(step plan.Step, best, next *candidate, came Effect, says string) {
	s := Step{Idea: step.Idea, Changes: []Setting{}, Before: best.figure(), After: next.figure(), Effect: cmp.Or(came, None), Says: says}
	for _, ch := range step.Changes {
		s.Changes = append(s.Changes, Setting{ch.Host, ch.Tunable, ch.To})
	}
	t.result.Steps = append(t.result.Steps, s)
}

// advise adds advice once.
func (t *tuning) advise(a Advice) {
	if !slices.ContainsFunc(t.result.Advice, func(o Advice) bool { return o.Says == a.Says && o.Host == a.Host }) {
		t.result.Advice = append(t.result.Advice, a)
	}
}

// adviseStep turns a step that tune does not make into commands for the
// administrators of those of its hosts that may be advised.
func (t *tuning) adviseStep(step plan.Step, may func(plan.Change) bool) {
	changes := map[*end][]plan.Change{}
	var order []*end
	for _, ch := range step.Changes {
		e := t.hosts.of(ch)
		if !may(ch) {
			continue
		}
		if changes[e] == nil {
			order = append(order, e)
		}
		changes[e] = append(changes[e], ch)
	}
	for _, e := range order {
		todo := format.Advise(e.facts, changes[e])
		says := "to " + step.Idea + ", its administrator should "
		switch {
		case len(todo.ByHand) == 0:
			says += "run"
		case len(todo.Commands) == 0:
			says += "set by hand: " + strings.Join(todo.ByHand, "; ")
		default:
			says += "set by hand: " + strings.Join(todo.ByHand, "; ") + "; and run"
		}
		if step.Predicted > 0 {
			says += fmt.Sprintf(" (predicted: %s)", step.Predicted)
		}
		t.advise(Advice{Host: e.name, Says: says, Commands: todo.Commands})
	}
}

// adviseUntried says that the budget ended before a planned step was tried.
func (t *tuning) adviseUntried(step plan.Step) {
	t.advise(Advice{Says: fmt.Sprintf("not tried, as what is left of the budget of %v does not cover trying it and proving that it helps: %s%s; use a larger --budget",
		t.o.Budget, step.Idea, describeChanges(step.Changes))})
}

// adviseUnseen advises the administrator of a far end that does not report its
// settings what to raise, when the verdict says that it is the limit ("tell the user
// that the maximum is too small", as the article on California and the UK asks).
func (t *tuning) adviseUnseen(in plan.Input) {
	receive, send := plan.Unseen(in)
	var name string
	var most unit.Size
	switch cause := in.Diagnosis.Verdict.Cause; {
	case cause == diagnose.ReceiverBuffer && in.Receiver == nil:
		name, most = "net.ipv4.tcp_rmem", receive
	case cause == diagnose.SenderBuffer && in.Sender == nil:
		name, most = "net.ipv4.tcp_wmem", send
	default:
		return
	}
	t.advise(Advice{
		Host: t.hosts.far.name,
		Says: fmt.Sprintf("its buffer maximum is too small for this path: on Linux, let the third value of %s be at least %d (%s); its administrator should run", name, most, most),
		Commands: []string{
			format.RaiseUnseen(name, most),
		},
	})
}

// adviseFinding passes on a verdict's advice that tune cannot carry out.
func (t *tuning) adviseFinding(f diagnose.Finding) {
	if f.Cause != diagnose.Healthy && f.Action != "" {
		t.advise(Advice{Says: f.Cause + ": " + f.Action})
	}
}

// describeChanges lists what a step sets, for one line.
func describeChanges(changes []plan.Change) string {
	var parts []string
	for _, ch := range changes {
		parts = append(parts, fmt.Sprintf("%s %s = %s", ch.Host, ch.Tunable, ch.To))
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// describeEffect compares two candidates' rates, in words.
func describeEffect(old, fresh *candidate, verdict stat.Decision) string {
	from, to := old.goodput(), fresh.goodput()
	switch verdict {
	case stat.Better:
		return fmt.Sprintf("helps: %s -> %s (%s)", from, to, unit.Factor(float64(to/from)))
	case stat.Worse:
		return fmt.Sprintf("hurts: %s -> %s", from, to)
	}
	return fmt.Sprintf("no difference that can be measured: %s -> %s", from, to)
}
