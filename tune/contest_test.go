package tune

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Runs that are more than threefold apart decide at once: one that helps, and two
// that hurt. Without a change, one run is enough where it is more than tenfold below.
func TestFarApart(t *testing.T) {
	rates := func(all ...unit.Rate) []unit.Rate { return all }
	for _, test := range []struct {
		old, fresh []unit.Rate
		want       stat.Decision
		needed     bool // the fresh one is far below the old one
	}{
		{rates(100), nil, stat.Undecided, false},
		{nil, rates(100), stat.Undecided, false},
		{rates(100), rates(300), stat.Undecided, false},
		{rates(100), rates(301), stat.Better, false},
		{rates(100, 101), rates(302, 400), stat.Undecided, false},
		{rates(300), rates(10), stat.Undecided, true},
		{rates(100), rates(10), stat.Undecided, false},
		{rates(101, 500), rates(10), stat.Undecided, true},
		{rates(300), rates(100, 100), stat.Undecided, false},
		{rates(301), rates(100, 99), stat.Worse, true},
		{rates(301, 299), rates(100, 99), stat.Undecided, false},
		{rates(301), rates(99, 101, 100), stat.Undecided, false},
	} {
		old, fresh := candidateOf(test.old...), candidateOf(test.fresh...)
		if got := farApart(old, fresh); got != test.want {
			t.Errorf("%v, then %v: %s, want %s", test.old, test.fresh, got, test.want)
		}
		if got := farBelow(fresh, old); got != test.needed {
			t.Errorf("%v, without it %v: far below: %v, want %v", test.old, test.fresh, got, test.needed)
		}
	}
}

// When the budget allows no more runs, a gain counts that the interval shows, or the
// ranks do where one outlier makes the interval wide, or that is so large that no
// single outlier causes it; but none below 3 %, and none that rests on one run.
func TestAtEndOfBudget(t *testing.T) {
	rates := func(all ...unit.Rate) []unit.Rate { return all }
	for _, test := range []struct {
		name       string
		old, fresh []unit.Rate
		allowed    float64
		want       stat.Decision
	}{
		{"one run says nothing", rates(100, 101, 102), rates(200), 0.2, stat.Undecided},
		{"two may", rates(100, 101), rates(110, 111), 0.2, stat.Better},
		{"the interval shows it", rates(100, 101, 102), rates(110, 111, 112), 0.05, stat.Better},
		{"the ranks show it", rates(30, 100, 101), rates(110, 111, 112), 0.2, stat.Better},
		{"neither does", rates(100, 101, 130), rates(110, 111, 112), 0.2, stat.Same},
		{"more than twofold, with an outlier", rates(100, 100, 1000), rates(250, 250, 250), 0.05, stat.Better},
		{"the same with two runs", rates(100, 101), rates(210, 1000), 0.05, stat.Same},
		{"certain, and too little", rates(1000, 1001, 1002), rates(1010, 1011, 1012), 0.2, stat.Same},
		{"less", rates(1000, 1001, 1002), rates(900, 901, 902), 0.2, stat.Worse},
		{"hardly less", rates(1000, 1001, 1002), rates(980, 981, 982), 0.2, stat.Same},
	} {
		if got := atEndOfBudget(candidateOf(test.old...), candidateOf(test.fresh...), errorRates{final: test.allowed}); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// A step is gone on with where the closest of too few runs are twofold apart: the proof is of
// fresh ones. What is kept among others needs two runs of each.
func TestChoosingByOneRun(t *testing.T) {
	for _, test := range []struct {
		old, fresh []unit.Rate
		rates      errorRates
		want       stat.Decision
	}{
		{[]unit.Rate{153}, []unit.Rate{365, 952}, choosing, stat.Better},
		{[]unit.Rate{153}, []unit.Rate{365, 952}, keeping, stat.Undecided},
		{[]unit.Rate{153, 190}, []unit.Rate{365}, choosing, stat.Undecided},
		{[]unit.Rate{365}, []unit.Rate{153, 150}, choosing, stat.Undecided},
		{nil, []unit.Rate{365}, choosing, stat.Undecided},
		{[]unit.Rate{365}, nil, choosing, stat.Undecided},
	} {
		if got := atEndOfBudget(candidateOf(test.old...), candidateOf(test.fresh...), test.rates); got != test.want {
			t.Errorf("%v, then %v: %s, want %s", test.old, test.fresh, got, test.want)
		}
	}
}

// Two runs of each side are measured although the share of this step does not cover them,
// as the first ones were not steady, where the reserve leaves the time.
func TestTwoRunsOfEach(t *testing.T) {
	for reserve, want := range map[time.Duration]int{0: 4, 4 * time.Second: 2} {
		synctest.Test(t, func(t *testing.T) {
			const left = 9 * time.Second // four runs of 2 s, and the time to stop the last one
			far := &clocked{rates: scale([]unit.Rate{100, 150, 140, 101})}
			tuning := tuned(far, left)
			tuning.path.RTT = path.RTT{}
			tuning.meter = examine.NewMeter(far, 0, left, silent{})
			tuning.baseline, tuning.reserve = tuning.candidate(nil), reserve
			_, _, _ = tuning.contest(t.Context(), tuning.baseline, tuning.candidate(config{set("b", "rmem", "2")}), 3*time.Second, choosing)
			if len(far.specs) != want {
				t.Errorf("with %v kept back: %d runs, want %d", reserve, len(far.specs), want)
			}
		})
	}
}

// A step that seemed to lift the path twofold, and was given up while one run astray hid it, is
// measured on where nothing else helped; one that did not is left alone.
func TestAgain(t *testing.T) {
	for name, test := range map[string]struct {
		tried []unit.Rate
		left  time.Duration
		want  int // runs more
		helps bool
	}{
		"one of two went astray":  {[]unit.Rate{900, 100}, 20 * time.Second, 2, true},
		"less than twofold":       {[]unit.Rate{200, 100}, 20 * time.Second, 0, false},
		"the proof's is all left": {[]unit.Rate{900, 100}, 9 * time.Second, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			far := &clocked{rates: scale([]unit.Rate{101, 905, 910, 99, 100, 908, 911, 98})}
			tuning := tuned(far, test.left)
			tuning.path.RTT = path.RTT{}
			tuning.meter = examine.NewMeter(far, 0, test.left, silent{})
			tuning.baseline = tuning.candidate(nil)
			tuning.baseline.readings = candidateOf(100, 102).readings
			tuning.proving, tuning.reserve = 8*time.Second, test.left
			step := plan.Step{Idea: "more room", Changes: config{set("b", "rmem", "2")}}
			tuning.candidate(step.Changes).readings = candidateOf(test.tried...).readings
			best, err := tuning.again(t.Context(), tuning.baseline, []plan.Step{step})
			if err != nil || len(far.specs) < test.want || (test.want == 0) != (len(far.specs) == 0) || (len(best.config) == 1) != test.helps {
				t.Errorf("%s: %d runs, %v, %v", name, len(far.specs), best, err)
			}
		})
	}
}

// clocked is a far end whose transfers take just their time, and come out as a list
// says; 0 is one that fails.
type clocked struct {
	Far
	rates []unit.Rate
	specs []bulk.Spec
	setUp time.Duration // of each transfer
}

func (c *clocked) Transfer(ctx context.Context, spec bulk.Spec, _ func(bulk.Progress)) (*bulk.Result, error) {
	c.specs = append(c.specs, spec)
	time.Sleep(c.setUp + spec.Omit + spec.Duration)
	rate := unit.Rate(0)
	if len(c.rates) > 0 {
		rate, c.rates = c.rates[0], c.rates[1:]
	}
	r := &bulk.Result{Spec: spec, Server: bulk.End{Streams: []bulk.Stream{{ID: 1, Bytes: int64(rate.BytesIn(spec.Duration)), Elapsed: spec.Duration}}}}
	switch {
	case rate == 0:
		return r, errors.New("it broke")
	case rate < 0:
		<-ctx.Done()
		return r, context.Cause(ctx)
	}
	return r, nil
}

// A run is begun as long as the budget covers it with the time that it takes to stop
// it, to the last nanosecond: 2 s and 200 ms on a path without delay.
func TestBudgetToTheEnd(t *testing.T) {
	const run, stop = 2 * time.Second, 200 * time.Millisecond
	fresh := config{set("b", "rmem", "2")}
	for _, test := range []struct {
		name       string
		runs, less int // with the budget for so many, and a nanosecond less
		do         func(t *tuning) error
	}{
		{"the baseline", 1, 0, func(t *tuning) error { return t.found(context.Background()) }},
		{"a contest", 4, 3, func(t *tuning) error {
			_, failed, err := t.contest(context.Background(), t.baseline, t.candidate(fresh), t.meter.Left(), keeping)
			return errors.Join(failed, err)
		}},
		{"the proof, which is of pairs", 4, 2, func(t *tuning) error {
			c := t.candidate(fresh)
			c.readings = candidateOf(100).readings
			_, err := t.prove(context.Background(), c)
			return err
		}},
	} {
		for less, want := range map[time.Duration]int{0: test.runs, 1: test.less} {
			t.Run(fmt.Sprintf("%s, less %v", test.name, less), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					far := &clocked{rates: scale([]unit.Rate{100, 103, 101, 102, 104, 101, 103, 102})}
					tuning := tuned(far, time.Duration(test.runs)*run+stop-less)
					tuning.path.RTT = path.RTT{}
					tuning.meter = examine.NewMeter(far, 0, time.Duration(test.runs)*run+stop-less, silent{})
					tuning.baseline = tuning.candidate(nil)
					_ = test.do(tuning)
					if len(far.specs) != want {
						t.Errorf("%d runs, want %d", len(far.specs), want)
					}
				})
			})
		}
	}
}

// A budget below what a baseline takes is refused, with one that is worth a try.
func TestBudgetRefused(t *testing.T) {
	tuning := at(&scripted{}, 2*time.Second)
	err := tuning.found(t.Context())
	if !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "one transfer takes 2.2s") || !strings.HasSuffix(err.Error(), "use --budget 18s or more") {
		t.Errorf("%v", err)
	}
}

// An allowance is for pairs of runs: 4 s each on a path without delay, up to twelve.
// Runs that were made before are counted.
func TestPayable(t *testing.T) {
	tuning := at(&scripted{}, time.Hour)
	fresh := tuning.candidate(config{set("b", "rmem", "2")})
	for _, test := range []struct {
		before    int // runs of the old one
		allowance time.Duration
		want      int
	}{
		{0, 4*time.Second - 1, 0}, {0, 4 * time.Second, 1}, {0, 7 * time.Second, 1}, {0, 48 * time.Second, 12}, {0, time.Hour, 12},
		{1, 2 * time.Second, 1}, {1, 6 * time.Second, 2}, {3, 6 * time.Second, 3}, {3, 10 * time.Second, 4}, {3, 10*time.Second - 1, 3},
	} {
		old := candidateOf(make([]unit.Rate, test.before)...)
		if got := tuning.payable(old, fresh, test.allowance); got != test.want {
			t.Errorf("%v, after %d runs: %d of each, want %d", test.allowance, test.before, got, test.want)
		}
	}
}

// A step is begun only if what is left pays for two runs of each side, without what is
// kept for later; and, where it is not the only change, for a run without each of them
// beside the proof.
func TestPays(t *testing.T) {
	const s = time.Second
	one, two := config{set("b", "rmem", "2")}, config{set("b", "rmem", "2"), set("a", "wmem", "2")}
	for _, test := range []struct {
		name             string
		reserve, proving time.Duration
		next             config
		share, allowance time.Duration
		ok               bool
	}{
		{"enough is left", 4 * s, 0, one, 6 * s, 6 * s, true},
		{"just enough", 6 * s, 0, one, 1 * s, 4 * s, true},
		{"not quite", 6*s + 1, 0, one, 1 * s, 4 * s, false},
		{"one change is the proof's", 6 * s, 6 * s, one, 1 * s, 4 * s, true},
		{"two have runs without them", 2 * s, 2 * s, two, 1 * s, 4 * s, true},
		{"which do not fit", 2 * s, 2*s + 1, two, 1 * s, 4 * s, false},
		{"what is kept does not fit, the runs without them do", 7 * s, 0, two, 1 * s, 4 * s, false},
	} {
		tuning := at(&scripted{}, 10*s)
		tuning.baseline.readings = candidateOf(1, 2).readings
		tuning.reserve, tuning.proving = test.reserve, test.proving
		allowance, ok := tuning.pays(tuning.baseline, tuning.candidate(test.next), test.share)
		if allowance != test.allowance || ok != test.ok {
			t.Errorf("%s: %v, %v, want %v, %v", test.name, allowance, ok, test.allowance, test.ok)
		}
	}
}

// Of what is left after the baseline 40 % is kept for the proof, and 20 % for leaving
// changes out; but never less than two pairs take, and the time to stop the last run.
func TestKeepBack(t *testing.T) {
	far := far100(bulk.Forward, true)
	far.meter = examine.NewMeter(nil, far.rtt(), time.Second, silent{})
	far.keepBack()
	run := far.firstTiming(&candidate{config: config{{}}})
	if want := 4*(run.omit+run.measured+600*ms) + 400*ms; far.proving != want { // a run's set-up, and the last one's stop
		t.Errorf("over 100 ms %v, want %v", far.proving, want)
	}
	for budget, want := range map[time.Duration][2]time.Duration{
		100 * time.Second: {40 * time.Second, 60 * time.Second},
		10 * time.Second:  {8200 * time.Millisecond, 10200 * time.Millisecond},
	} {
		tuning := at(&scripted{}, budget)
		tuning.keepBack()
		if tuning.proving != want[0] || tuning.reserve != want[1] {
			t.Errorf("of %v: %v for the proof, %v in all, want %v", budget, tuning.proving, tuning.reserve, want)
		}
	}
}

// The typical run is the one nearest to the median, the faster of two.
func TestTypical(t *testing.T) {
	for _, rates := range [][]unit.Rate{{130}, {100, 130}, {130, 100}, {100, 130, 200}, {200, 130, 100}, {130, 10, 1000, 129}, {129, 1000, 10, 130}} {
		c := candidateOf(rates...)
		for i := range c.readings {
			c.readings[i].transfer = &bulk.Result{Spec: bulk.Spec{Streams: int(rates[i])}}
		}
		if got := c.typical().Spec.Streams; got != 130 {
			t.Errorf("of %v: %d", rates, got)
		}
	}
}

// A step that helped is doubled as long as the limit is the same, or not known.
func TestDoubleWhile(t *testing.T) {
	for now, doubles := range map[string]bool{diagnose.ReceiverBuffer: true, diagnose.Unknown: true, diagnose.SenderBuffer: false, diagnose.Healthy: false} {
		tuning := tuned(&hole{}, time.Minute)
		asked := false
		tuning.hooks.diagnose = func(*diagnose.Evidence) diagnose.Diagnosis {
			return diagnose.Diagnosis{Verdict: diagnose.Finding{Cause: now}}
		}
		tuning.hooks.double = func(plan.Step, plan.Input) *plan.Step { asked = true; return nil }
		best := candidateOf(100)
		if got, err := tuning.double(t.Context(), best, plan.Step{}, diagnose.ReceiverBuffer); got != best || err != nil || asked != doubles {
			t.Errorf("%s: doubled: %v, want %v (%v)", now, asked, doubles, err)
		}
	}
}

// A change that the budget does not cover a run without is put back, and says so; the
// last one that is left is the proof's.
func TestLeaveOneOutUnpaid(t *testing.T) {
	const both = 4400 * ms // a run without each of two changes, and the time to stop it
	for budget, runs := range map[time.Duration]bool{both: true, both - 2: false} {
		synctest.Test(t, func(t *testing.T) {
			far := &clocked{}
			tuning := at(far, budget)
			tuning.hooks.needs = func(*host.Facts, plan.Change, plan.Change) bool { return false }
			best := tuning.candidate(config{set("b", "rmem", "2"), set("a", "wmem", "2")})
			best.readings = candidateOf(100, 101).readings
			kept, err := tuning.leaveOneOut(t.Context(), best)
			if len(far.specs) > 0 != runs {
				t.Errorf("%d runs of a budget of %v", len(far.specs), budget)
			}
			if runs {
				return
			}
			if err != nil || !kept.config.same(config{set("b", "rmem", "2")}) {
				t.Errorf("kept %+v, %v, want the first change", kept, err)
			}
			if put := tuning.result.PutBack; len(put) != 1 || put[0].Tunable != "wmem" || put[0].Effect != "not shown to be needed: the budget does not cover runs without it" {
				t.Errorf("put back %+v", put)
			}
		})
	}
}

// What came before a change that is needed stays where the budget does not cover a run without it: the later one alone
// was never measured, and may be worth nothing.
func TestUnpaidBelowNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &clocked{rates: []unit.Rate{8}, setUp: 1500 * ms} // a twelfth without the later one: one run says enough
		tuning := at(far, 4400*ms)
		tuning.hooks.needs = func(*host.Facts, plan.Change, plan.Change) bool { return false }
		best := tuning.candidate(config{set("b", "rmem", "2"), set("a", "wmem", "2")})
		best.readings = candidateOf(100, 101).readings
		kept, err := tuning.leaveOneOut(t.Context(), best)
		if err != nil || !kept.config.same(best.config) || len(tuning.result.PutBack) > 0 || len(far.specs) != 1 {
			t.Errorf("kept %+v after %d runs, put back %+v, %v", kept.config, len(far.specs), tuning.result.PutBack, err)
		}
	})
}

// The proof has as many pairs as the budget covers, with each run's set-up and the time
// to stop the last one: over 10 ms, 60 ms and 220 ms.
func TestPairsInBudget(t *testing.T) {
	for budget, pairs := range map[time.Duration]int{4*2060*ms + 220*ms: 2, 6*2060*ms + 220*ms: 3} {
		synctest.Test(t, func(t *testing.T) {
			far := &clocked{rates: scale([]unit.Rate{100, 101, 150, 99, 102, 98})} // so unsteady that all are needed
			tuning := tuned(far, budget)
			tuning.path.RTT = path.RTT{Median: 10 * ms}
			tuning.meter = examine.NewMeter(far, 10*ms, budget, silent{})
			tuning.baseline = candidateOf(100, 120)
			if _, err := tuning.prove(t.Context(), &candidate{config: config{set("b", "rmem", "2")}}); err != nil || tuning.result.Proof == nil || tuning.result.Proof.Pairs != pairs {
				t.Errorf("of %v: %+v, %v, want %d pairs", budget, tuning.result.Proof, err, pairs)
			}
		})
	}
}
