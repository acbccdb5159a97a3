package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// leaveOneOut puts back every change that is not shown to be needed: one that does
// nothing, or hurts, must not be kept for what others gain. The last one that was
// added goes first: where the budget ends, what it was added to is left, which was
// measured to be better than what came before. Below one that is needed nothing is
// put back unmeasured: that was measured with all that came before it.
func (t *tuning) leaveOneOut(ctx context.Context, best *candidate) (*candidate, error) {
	if len(best.config) < 2 {
		return best, nil
	}
	t.reserve = t.proving
	changes := slices.Clone(best.config)
	slices.Reverse(changes)
	fresh := &candidate{config: best.config, steady: best.steady, steadyAt: best.steadyAt}
	for i, ch := range changes {
		if slices.ContainsFunc(best.config, func(o plan.Change) bool { return t.hooks.needs(t.hosts.of(o).facts, o, ch) }) {
			continue // it makes the room for what is kept
		}
		if len(best.config) == 1 { // that it is needed is the proof itself
			break
		}
		t.o.Watch.Phase(fmt.Sprintf("do without: %s on %s", ch.Tunable, ch.Host))
		less := t.candidate(best.config.without(ch))
		needed, without, err := t.needed(ctx, less, best, fresh, t.share(len(changes)-i))
		if err != nil {
			return nil, err
		}
		if needed == stat.Better {
			t.effectOf(ch, fmt.Sprintf("%s with it, %s without", best.goodput(), without))
			t.o.Watch.Result(fmt.Sprintf("needed: %s without it", without))
			continue
		}
		if last := best.config[len(best.config)-1]; needed == stat.Undecided && last != ch {
			t.o.Watch.Result("it stays: the budget does not cover runs without it, and what was added later was measured with it")
			continue
		}
		effect := "not shown to be needed: the budget does not cover runs without it"
		if less.measured() && best.measured() {
			effect = fmt.Sprintf("not shown to be needed: %s without it, %s with it", without, best.goodput())
		}
		t.o.Watch.Result(effect)
		t.putBack([]plan.Change{ch}, effect)
		best, fresh = less, &candidate{config: less.config, steady: less.steady, steadyAt: less.steadyAt}
	}
	return best, nil
}

// needed says whether the best candidate is better than one with a change less (undecided:
// the budget does not cover the runs that would tell), and what that reached, at most or in the median. Where both are tenfold apart, one run
// without the change says enough, and two where they are threefold apart; those may
// have been measured before. Otherwise both are measured afresh: the runs for which
// the best candidate was chosen favour it.
func (t *tuning) needed(ctx context.Context, less, best, fresh *candidate, allowance time.Duration) (needed stat.Decision, without unit.Rate, err error) {
	least := t.meter.Left() - allowance
	afresh := &candidate{config: less.config, steady: less.steady, steadyAt: less.steadyAt}
	for {
		if farBelow(less, best) {
			return stat.Better, unit.Rate(slices.Max(less.all())), nil
		}
		// Another run of it helps only where the first one is far enough off.
		if n := len(less.all()); n > 1 || n == 1 && farApart(less, best) != stat.Better {
			break
		}
		spend := t.timingOf(less, best, less)
		if best.steady {
			spend = t.shortTiming(less, best)
		}
		if t.meter.Left()-t.meter.Cost(spend.omit, spend.measured) < least {
			return stat.Undecided, less.goodput(), nil
		}
		one := &candidate{config: less.config}
		if err := t.measure(ctx, one, spend); err != nil {
			if errors.Is(err, errTransfer) {
				return stat.Better, 0, nil
			}
			return stat.Undecided, 0, err
		}
		if best.steady {
			less.short = append(less.short, one.goodputs()...)
			continue
		}
		afresh.readings = append(afresh.readings, one.readings...)
		less.readings = append(less.readings, one.readings...)
	}
	before := len(afresh.readings)
	d, failed, err := t.contest(ctx, afresh, fresh, t.meter.Left()-least, keeping)
	if err != nil || failed != nil {
		return stat.Undecided, 0, errors.Join(err, failed)
	}
	less.readings = append(less.readings, afresh.readings[before:]...)
	if d != stat.Better { // it was measured as often as the budget has it
		d = stat.Same
	}
	return d, afresh.goodput(), nil
}

// all are the goodputs of all runs, including the short ones.
func (c *candidate) all() []float64 { return append(c.goodputs(), c.short...) }

// measured says whether it was run at all.
func (c *candidate) measured() bool { return len(c.all()) > 0 }

// farBelow says whether one or two runs of one candidate are enough to show that
// another is better.
func farBelow(less, best *candidate) bool {
	a, b := less.all(), best.goodputs()
	switch {
	case len(a) == 0 || len(b) == 0:
		return false
	case len(a) == 1:
		return slices.Min(b) > tenfold*a[0]
	}
	return slices.Min(b) > threefold*slices.Max(a)
}
