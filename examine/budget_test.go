package examine

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// wayward is a far end whose transfers begin and end late, or stand still. One
// that is stopped has stopped within 100 ms, as bulk.Run promises.
func wayward(t *rapid.T, late, over *rapid.Generator[time.Duration], stalls bool) *fake {
	within := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.IntRange(0, 100).Draw(t, "ms")) * ms })
	return &fake{transfer: func(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
		begins := late.Draw(t, "first byte comes after")
		ends := begins + spec.Omit + spec.Duration + over.Draw(t, "ends late by")
		if stalls && rapid.Bool().Draw(t, "stands still") {
			ends = time.Hour
		}
		at := time.Duration(0)
		for ctx.Err() == nil && at+bulk.DefaultInterval < ends {
			at += bulk.DefaultInterval
			p := bulk.Progress{At: at}
			if at > begins && ends < time.Hour {
				p.Rate = unit.Mbps
			}
			watch(p)
		}
		last := ends
		if ctx.Err() != nil {
			last = min(ends, at+within.Draw(t, "stops after"))
		}
		r := moved(spec, unit.Mbps)
		r.Client.Streams[0].Samples = []bulk.Sample{{At: last}}
		return r, context.Cause(ctx)
	}}
}

// examined runs the first transfer and the trials, and gives what they took.
func examined(t *rapid.T, far Far, rtt, budget time.Duration) *Examination {
	x := &Examination{Evidence: *evidence(rtt)}
	if err := x.transfer(t.Context(), far, Options{Direction: bulk.Forward, Watch: nobody{}}, budget); err != nil {
		if !errors.Is(err, ErrBudget) || x.Spent.Time > 0 {
			t.Fatalf("%v, %v spent", err, x.Spent.Time)
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
	_, spent, err := settle(t.Context(), far, &x.Evidence, budget-x.Spent.Time, nobody{}, asks(trials...))
	if err != nil {
		t.Fatal(err)
	}
	x.Spent = x.Spent.Add(spent)
	return x
}

func drawRTT(t *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(1, int64(2*s)).Draw(t, "rtt"))
}

func upTo(d time.Duration) *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, int64(d)).Draw(t, "ns")) })
}

// Whatever a transfer does, all of them together take no more than the budget.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rtt := drawRTT(t)
		budget := DefaultBudget(rtt)
		if rapid.Bool().Draw(t, "the user's budget") {
			budget = upTo(2*time.Minute).Draw(t, "budget")
		}
		far := wayward(t, upTo(5*s), upTo(10*s), true)
		if x := examined(t, far, rtt, budget); x.Spent.Time > budget {
			t.Errorf("%v of transfers, the budget is %v", x.Spent.Time, budget)
		}
	})
}

// What ends a round trip late, as transfers do, is never stopped for it.
func TestBudgetCutsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rtt := drawRTT(t)
		far := wayward(t, upTo(rtt/2), upTo(rtt/2), false)
		x := examined(t, far, rtt, DefaultBudget(rtt))
		if x.Evidence.Failed != "" || x.Evidence.Transfer == nil {
			t.Errorf("failed: %q", x.Evidence.Failed)
		}
		for _, tried := range x.Evidence.Trials {
			if tried.Failed != "" {
				t.Errorf("%s failed: %s", tried.Kind, tried.Failed)
			}
		}
	})
}
