package examine

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// wayward is a far end whose transfers begin late, end late, stand still, or hang
// before they begin. One that is stopped has stopped, and told of it, within two
// round trips and the 100 ms of bulk.Run.
func wayward(rng *rand.Rand, rtt, late, over time.Duration, stalls bool) *fake {
	upTo := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d) + 1)) }
	return &fake{transfer: func(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
		begins := upTo(late)
		ends := spec.Omit + spec.Duration + upTo(over)
		silent := false
		if stalls {
			switch rng.IntN(4) {
			case 0:
				begins = time.Hour
			case 1:
				silent = true
			}
		}
		ended := func(d time.Duration) bool {
			select {
			case <-ctx.Done():
				time.Sleep(2*rtt + upTo(100*ms))
				return true
			case <-time.After(d):
				return false
			}
		}
		if ended(begins) {
			return &bulk.Result{Spec: spec}, context.Cause(ctx)
		}
		for at := time.Duration(0); silent || at < ends; {
			step := bulk.DefaultInterval
			if !silent {
				step = min(step, ends-at)
			}
			if ended(step) {
				return moved(spec, unit.Mbps), context.Cause(ctx)
			}
			at += step
			p := bulk.Progress{At: at}
			if !silent {
				p.Rate = unit.Mbps
			}
			watch(p)
		}
		return moved(spec, unit.Mbps), nil
	}}
}

// examined runs the first transfer and the trials, and gives what they took.
func examined(t *testing.T, rng *rand.Rand, far Far, rtt, budget time.Duration) *Examination {
	x := &Examination{Evidence: *evidence(rtt)}
	m := NewMeter(far, rtt, budget, silent{})
	if err := x.transfer(context.Background(), m, Options{Direction: bulk.Forward, Watch: silent{}}); err != nil {
		if x.Spent = m.Spent(); errors.Is(err, ErrBudget) && x.Spent.Time > 0 {
			t.Errorf("%v, %v spent", err, x.Spent.Time)
		}
		return x
	}
	kinds := []diagnose.TrialKind{
		diagnose.TrialPaced, diagnose.TrialStreams, diagnose.TrialCongestion, diagnose.TrialSegment,
		diagnose.TrialAgain, diagnose.TrialLonger, diagnose.TrialDepth,
	}
	var trials []diagnose.Trial
	for _, i := range rng.Perm(len(kinds)) {
		trials = append(trials, trial(kinds[i], unit.Mbps))
	}
	if _, err := Settle(context.Background(), m, &x.Evidence, m.Left(), asks(trials...)); err != nil {
		t.Error(err)
	}
	x.Spent = m.Spent()
	return x
}

// Whatever a transfer does, all of them together take no more than the budget, by
// the clock on the wall.
func TestBudgetHolds(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			rtt := 1 + time.Duration(rng.Int64N(int64(2*s)))
			budget := DefaultBudget(rtt)
			if rng.IntN(2) == 0 {
				budget = time.Duration(rng.Int64N(int64(2 * time.Minute)))
			}
			began := time.Now()
			x := examined(t, rng, wayward(rng, rtt, 5*s, 10*s, true), rtt, budget)
			if took := time.Since(began); x.Spent.Time > budget || took != x.Spent.Time {
				t.Errorf("seed %d: %v of transfers, %v by the clock, the budget is %v", seed, x.Spent.Time, took, budget)
			}
		})
	}
}

// What takes as long as transfers do beside their own time is never stopped for it.
func TestBudgetCutsNothing(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			rtt := 1 + time.Duration(rng.Int64N(int64(2*s)))
			x := examined(t, rng, wayward(rng, rtt, 5*rtt, rtt, false), rtt, DefaultBudget(rtt))
			if x.Evidence.Failed != "" {
				t.Errorf("seed %d: failed: %q", seed, x.Evidence.Failed)
			}
			for _, tried := range x.Evidence.Trials {
				if tried.Failed != "" {
					t.Errorf("seed %d: %s failed: %s", seed, tried.Kind, tried.Failed)
				}
			}
		})
	}
}
