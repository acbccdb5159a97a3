package examine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// wayward is a far end whose transfers begin late, end late, stand still, or hang
// before they begin. One that is stopped has stopped, and told of it, within two
// round trips and the 100 ms of bulk.Run.
func wayward(t *rapid.T, rtt time.Duration, late, over *rapid.Generator[time.Duration], stalls bool) *fake {
	within := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.IntRange(0, 100).Draw(t, "ms")) * ms })
	return &fake{transfer: func(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
		begins := late.Draw(t, "begins after")
		ends := spec.Omit + spec.Duration + over.Draw(t, "ends late by")
		silent := false
		if stalls {
			switch rapid.SampledFrom([]string{"well", "well", "stands still", "hangs"}).Draw(t, "goes") {
			case "hangs":
				begins = time.Hour
			case "stands still":
				silent = true
			}
		}
		ended := func(d time.Duration) bool {
			select {
			case <-ctx.Done():
				time.Sleep(2*rtt + within.Draw(t, "stops after"))
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
func examined(t *rapid.T, far Far, rtt, budget time.Duration) *Examination {
	x := &Examination{Evidence: *evidence(rtt)}
	m := NewMeter(far, rtt, budget, nobody{})
	if err := x.transfer(context.Background(), m, Options{Direction: bulk.Forward, Watch: nobody{}}); err != nil {
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
	for _, kind := range rapid.Permutation(kinds).Draw(t, "trials") {
		trials = append(trials, trial(kind, unit.Mbps))
	}
	if _, err := Settle(context.Background(), m, &x.Evidence, m.Left(), asks(trials...)); err != nil {
		t.Error(err)
	}
	x.Spent = m.Spent()
	return x
}

func drawRTT(t *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(1, int64(2*s)).Draw(t, "rtt"))
}

func upTo(d time.Duration) *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, int64(d)).Draw(t, "ns")) })
}

// Whatever a transfer does, all of them together take no more than the budget, by
// the clock on the wall.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			t := r
			rtt := drawRTT(t)
			budget := DefaultBudget(rtt)
			if rapid.Bool().Draw(t, "the user's budget") {
				budget = upTo(2*time.Minute).Draw(t, "budget")
			}
			began := time.Now()
			far := wayward(t, rtt, upTo(5*s), upTo(10*s), true)
			x := examined(t, far, rtt, budget)
			if took := time.Since(began); x.Spent.Time > budget || took != x.Spent.Time {
				t.Errorf("%v of transfers, %v by the clock, the budget is %v", x.Spent.Time, took, budget)
			}
		})
	})
}

// What takes as long as transfers do beside their own time is never stopped for it.
func TestBudgetCutsNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			t := r
			rtt := drawRTT(t)
			far := wayward(t, rtt, upTo(5*rtt), upTo(rtt), false)
			x := examined(t, far, rtt, DefaultBudget(rtt))
			if x.Evidence.Failed != "" {
				t.Errorf("failed: %q", x.Evidence.Failed)
			}
			for _, tried := range x.Evidence.Trials {
				if tried.Failed != "" {
					t.Errorf("%s failed: %s", tried.Kind, tried.Failed)
				}
			}
		})
	})
}
