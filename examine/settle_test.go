package examine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/unit"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// Trials are run one after the other, as far as the budget goes.
func TestSettle(t *testing.T) {
	paced := func(rate unit.Rate) diagnose.Trial { return trial(diagnose.TrialPaced, rate) }
	for _, test := range []struct {
		name   string
		rtt    time.Duration
		budget time.Duration
		asks   []diagnose.Trial
		want   []time.Duration // of each transfer, omitted and measured
	}{
		{"nothing in doubt", 20 * ms, 10 * s, nil, nil},
		{"one question", 20 * ms, 10 * s, []diagnose.Trial{paced(1e6)}, []time.Duration{2 * s}},
		{"a long path takes longer", 150 * ms, 10 * s, []diagnose.Trial{trial(diagnose.TrialCongestion, 0)}, []time.Duration{6 * s}},
		{"and gets by with less", 150 * ms, 6 * s, []diagnose.Trial{trial(diagnose.TrialCongestion, 0)}, []time.Duration{2400*ms + 2100*ms}},
		{"small segments tell at once", 150 * ms, 10 * s, []diagnose.Trial{trial(diagnose.TrialSegment, 0)}, []time.Duration{1650*ms + 1350*ms}},
		{"the budget ends it", 20 * ms, 4060 * ms, []diagnose.Trial{paced(1e6), paced(2e6), paced(3e6), paced(4e6)}, []time.Duration{2 * s, 1700 * ms}},
		{"there is no budget", 20 * ms, -s, []diagnose.Trial{paced(1e6)}, nil},
		{"the same again tells nothing new", 20 * ms, 10 * s, []diagnose.Trial{paced(1e6), paced(1e6), paced(2e6)}, []time.Duration{2 * s}},
		{"more time takes all that is left", 20 * ms, 8 * s, []diagnose.Trial{paced(1e6), trial(diagnose.TrialLonger, 0)}, []time.Duration{2 * s, 5640 * ms}},
		{"too little is left for more time", 20 * ms, 3900 * ms, []diagnose.Trial{paced(1e6), trial(diagnose.TrialLonger, 0)}, []time.Duration{2 * s}},
		{"more time has an end", 20 * ms, time.Hour, []diagnose.Trial{trial(diagnose.TrialLonger, 0)}, []time.Duration{time.Minute}},
		{"a kind that is not known here", 20 * ms, 10 * s, []diagnose.Trial{trial("reverse", 0)}, []time.Duration{2 * s}},
	} {
		t.Run(test.name, func(t *testing.T) {
			far := newFake(t, reaches(unit.Mbps))
			e := evidence(test.rtt)
			spent, err := settled(t, far, e, test.rtt, test.budget, test.asks)
			if err != nil {
				t.Fatal(err)
			}
			var took []time.Duration
			sum := Spent{}
			for i, spec := range far.specs {
				took = append(took, spec.Omit+spec.Duration)
				sum.Time += took[i]
				sum.Bytes += int64(unit.Mbps.BytesIn(spec.Duration))
				if spec != e.Trials[i].Spec || e.Trials[i].Result == nil {
					t.Errorf("transfer %+v, trial %+v", spec, e.Trials[i])
				}
			}
			if d := cmp.Diff(test.want, took); d != "" {
				t.Errorf("transfers (-want +got):\n%s", d)
			}
			if spent != sum || spent.Time > max(0, test.budget) || len(e.Trials) != len(took) {
				t.Errorf("spent %+v, want %+v; %d trials", spent, sum, len(e.Trials))
			}
		})
	}
}

// settled runs the trials in a bubble of their own time.
func settled(t *testing.T, far Far, e *diagnose.Evidence, rtt, budget time.Duration, trials []diagnose.Trial) (spent Spent, err error) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter(far, rtt, budget, silent{})
		_, err = Settle(t.Context(), m, e, m.Left(), asks(trials...))
		spent = m.Spent()
	})
	return spent, err
}

// A trial that fails is evidence like any other, and the next one is run.
func TestSettleFailing(t *testing.T) {
	for name, test := range map[string]struct {
		transfer func(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error)
		failed   string
		spent    time.Duration // of one transfer
		result   bool
	}{
		"it never begins": {neverBegins, "start transfer: refused", 0, false},
		"it stands still": {standsStill, "nothing arrived for 3s", 3100 * ms, true}, // 3.04 s, and the next look
	} {
		t.Run(name, func(t *testing.T) {
			far := newFake(t, test.transfer)
			e := evidence(20 * ms)
			spent, err := settled(t, far, e, 20*ms, 10*s, []diagnose.Trial{trial(diagnose.TrialPaced, 1e6), trial(diagnose.TrialSegment, 0)})
			if err != nil || len(e.Trials) != 2 {
				t.Fatalf("%d trials, error %v: want two", len(e.Trials), err)
			}
			for _, tried := range e.Trials {
				if tried.Failed != test.failed || (tried.Result != nil) != test.result {
					t.Errorf("%+v", tried)
				}
			}
			if spent.Time != 2*test.spent {
				t.Errorf("spent %v on two, want %v each", spent.Time, test.spent)
			}
		})
	}
}

// After Ctrl-C, or without a far end, no further trial is begun; what was found
// before stands.
func TestSettleEnds(t *testing.T) {
	lost := func(_ context.Context, spec bulk.Spec, _ func(bulk.Progress)) (*bulk.Result, error) {
		return moved(spec, 0), peer.ErrLost
	}
	for name, test := range map[string]struct {
		transfer func(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error)
		stop     time.Duration // when the user does
		want     error
	}{
		"Ctrl-C":         {standsStill, 500 * ms, context.Canceled},
		"a dead far end": {lost, 0, peer.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			stop := func() {}
			far := newFake(t, func(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
				return test.transfer(ctx, spec, func(p bulk.Progress) {
					if test.stop > 0 && p.At > test.stop {
						stop()
					}
					watch(p)
				})
			})
			e := evidence(20 * ms)
			var d diagnose.Diagnosis
			var spent Spent
			var err error
			synctest.Test(t, func(t *testing.T) {
				var ctx context.Context
				ctx, stop = context.WithCancel(t.Context())
				defer stop()
				m := NewMeter(far, 20*ms, 10*s, silent{})
				d, err = Settle(ctx, m, e, m.Left(), asks(trial(diagnose.TrialPaced, 1e6), trial(diagnose.TrialSegment, 0)))
				spent = m.Spent()
			})
			if !errors.Is(err, test.want) || len(far.specs) != 1 || len(e.Trials) != 0 || d.Verdict.Cause != diagnose.RandomLoss {
				t.Errorf("%d transfers, %d trials, verdict %q, error %v", len(far.specs), len(e.Trials), d.Verdict.Cause, err)
			}
			if spent.Time > test.stop+100*ms {
				t.Errorf("spent %v", spent.Time)
			}
		})
	}
}

// Whoever watches sees the question, what each cause predicts, and the answer.
func TestSettleTells(t *testing.T) {
	var told diary
	transfers := []func(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error){reaches(10e6), neverBegins}
	far := newFake(t, func(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
		next := transfers[0]
		transfers = transfers[1:]
		return next(ctx, spec, watch)
	})
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter(far, 20*ms, 10*s, &told)
		if _, err := Settle(t.Context(), m, evidence(20*ms), m.Left(), asks(trial(diagnose.TrialPaced, 12e6), trial(diagnose.TrialPaced, 14e6))); err != nil {
			t.Fatal(err)
		}
	})
	want := `.. ask: does loss remain at 12 Mb/s? (random-loss: 12 Mb/s, policer: 6 Mb/s)
   10 Mb/s; now random-loss (60 % sure)
.. ask: does loss remain at 14 Mb/s? (random-loss: 14 Mb/s, policer: 7 Mb/s)
   failed: start transfer: refused; now random-loss (70 % sure)`
	if d := cmp.Diff(want, strings.Join(told, "\n")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// The answer to a trial says how much had to be sent again, where the kernel tells.
func TestOutcome(t *testing.T) {
	loses := lossy(t)
	verdict := diagnose.Finding{Cause: diagnose.RandomLoss, Confidence: 0.9}
	tried := diagnose.Trial{Spec: loses.Spec, Result: loses}
	if got, want := outcome(&tried, verdict), "65.3 Mb/s, 0.084 % sent again; now random-loss (90 % sure)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Repeated(nil, bulk.Forward); got != 0 {
		t.Errorf("%v sent again in a transfer that never was", got)
	}
}

// TestSure: below 60 % a verdict says that it is not known, and what it would be most likely.
func TestSure(t *testing.T) {
	for _, c := range []struct {
		cause      string
		confidence float64
		want       string
	}{
		{diagnose.RandomLoss, 0.97, "random-loss (97 % sure)"},
		{diagnose.RandomLoss, 0.6, "random-loss (60 % sure)"},
		{diagnose.RandomLoss, 0.59, "unknown, most likely random-loss (59 %)"},
		{diagnose.Unknown, 0.3, "unknown"},
		{diagnose.Healthy, 0, "healthy"}, // of a version that did not say
	} {
		f := &diagnose.Finding{Cause: c.cause, Confidence: c.confidence}
		if got := Sure(f); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := Found(&diagnose.Finding{Cause: diagnose.SmallMSS, Confidence: 0.3}); got != "small-mss (30 % sure)" {
		t.Error(got)
	}
}
