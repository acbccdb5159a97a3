package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Proof is the gain of all changes together, from runs made only to prove it, whether
// they were kept or not.
type Proof struct {
	Pairs    int        `json:"pairs"` // of runs, one as found and one changed
	Gain     float64    `json:"gain"`  // factor on goodput
	GainCI95 [2]float64 `json:"gain_ci95"`
}

const (
	// fewestPairs of a proof: a single pair says nothing about scatter.
	fewestPairs = 2
	// mostPairs of a proof: more only find differences that no user would notice.
	mostPairs = 30
	// firstMost is how many pairs the first look may wait for.
	firstMost = 8
	// trimmedPairs are enough to leave outliers out ([stat.PairedAt]).
	trimmedPairs = 6
	// provingShare of what is left once the path is measured is for the proof, and
	// needingShare for leaving out each change once.
	provingShare, needingShare = 0.4, 0.2
	// confidence of the interval, and of the decision.
	confidence = 0.95
	// sureAtOnce is the confidence with which a look must show the gain for the proof to
	// end there. It is higher than confidence, since there are up to three looks.
	sureAtOnce = 0.98
)

// keepBack reserves part of the budget for leaving out and for the proof: a share of
// what is left, and for the proof never less than the fewest pairs take.
func (t *tuning) keepBack() {
	spend := t.firstTiming(&candidate{config: config{{}}})
	least := 2*fewestPairs*t.meter.Expect(spend.omit, spend.measured) + t.meter.Cost(0, 0) - t.meter.Expect(0, 0)
	left := float64(t.meter.Left())
	t.proving = max(least, time.Duration(provingShare*left))
	t.reserve = t.proving + time.Duration(needingShare*left)
}

// prove measures before and after again, in pairs, and writes both down. It gives
// the candidate to keep: what is not proven is put back.
//
// No run counts that was made to choose: the best of several is better by chance
// too (the winner's curse). The number of pairs is fixed before the first of
// them, from the scatter of all runs until then and from what is left of the
// budget, so that the interval does not depend on the runs it is made from (C.
// Stein, "A two-sample test for a linear hypothesis whose power is independent of
// the variance", Annals of Mathematical Statistics 16, 1945). One run in twenty is
// an outlier: if those pairs do not show a gain, as many again and at least
// trimmedPairs are looked at, and then all that the budget holds. All pairs count.
func (t *tuning) prove(ctx context.Context, best *candidate) (proven *candidate, err error) {
	t.fill(t.baseline, t.baseline)
	if len(best.config) == 0 {
		return t.baseline, nil
	}
	before := &candidate{steady: t.baseline.steady, steadyAt: t.baseline.steadyAt}
	after := &candidate{config: best.config, steady: best.steady, steadyAt: best.steadyAt}
	ofBefore, ofAfter := t.repeated(before, after)
	pair := t.meter.Expect(ofBefore.omit, ofBefore.measured) + t.meter.Expect(ofAfter.omit, ofAfter.measured)
	t.reserve = 0
	most := min(mostPairs, int((t.meter.Left()-t.meter.Cost(0, 0)+t.meter.Expect(0, 0))/pair))
	first := min(most, t.firstPairs(best))
	t.o.Watch.Phase("measure before and after again, alternately, until the gain is certain")
	for _, upTo := range []int{first, min(most, max(2*first, trimmedPairs)), most} {
		err := t.pairs(ctx, before, after, ofBefore, ofAfter, upTo)
		if after.failed != nil && errors.Is(err, errTransfer) {
			return t.unproven(best, "with this change the transfer failed: "+err.Error()), nil
		}
		if err != nil {
			return nil, err
		}
		if stat.PairedAt(sureAtOnce, before.goodputs(), after.goodputs()).Low > 1 {
			break
		}
	}
	n := min(len(before.readings), len(after.readings))
	if n < fewestPairs {
		return t.unproven(best, "not proven: what was left of the budget did not cover two runs before and two after"), nil
	}
	gain := stat.PairedAt(confidence, before.goodputs(), after.goodputs())
	t.result.Proof = &Proof{n, gain.Gain, [2]float64{gain.Low, gain.High}}
	says := fmt.Sprintf("%s -> %s, %s (95 %%: %s to %s) in %d pairs of runs",
		before.goodput(), after.goodput(), unit.Factor(gain.Gain), unit.Factor(gain.Low), unit.Factor(gain.High), n)
	t.o.Watch.Result(says)
	if gain.Low <= 1 {
		return t.unproven(best, "not proven: "+says), nil
	}
	if reason := worseElsewhere(before, after); reason != "" {
		return t.unproven(best, says+", but "+reason), nil
	}
	t.fill(before, after)
	t.result.Gain, t.result.GainCI95 = gain.Gain, [2]float64{gain.Low, gain.High}
	best.readings = after.readings
	return best, nil
}

// pairs measures until there are so many of them, in the order before, after,
// after, before, or until the budget does not cover another run.
func (t *tuning) pairs(ctx context.Context, before, after *candidate, ofBefore, ofAfter timing, upTo int) error {
	for len(after.readings) < upTo || len(before.readings) < upTo {
		next, spend := before, ofBefore
		if n := len(before.readings) + len(after.readings); n%4 == 1 || n%4 == 2 {
			next, spend = after, ofAfter
		}
		if t.meter.Cost(spend.omit, spend.measured) > t.meter.Left() {
			return nil
		}
		if err := t.measure(ctx, next, spend); err != nil {
			// A run that did not end in its time is an outlier where there are enough to leave one out.
			if errors.Is(err, examine.ErrSpent) && min(len(before.readings), len(after.readings)) >= trimmedPairs {
				return nil
			}
			next.failed = err
			return err
		}
		if n := len(before.readings); n == len(after.readings) {
			t.o.Watch.Result(fmt.Sprintf("pair %d: %s -> %s", n, before.readings[n-1].goodput, after.readings[n-1].goodput))
		}
	}
	return nil
}

// unproven puts everything back.
func (t *tuning) unproven(best *candidate, effect string) *candidate {
	t.putBack(best.config, effect)
	return t.baseline
}

// firstPairs is how many pairs should show the gain that was seen.
func (t *tuning) firstPairs(best *candidate) int {
	if len(best.readings) == 0 { // leaveOneOut took a change from it, and it was not run since
		return firstMost
	}
	gain := math.Log(float64(best.goodput() / t.baseline.goodput()))
	return stat.PairsFor(gain, t.scatter(), confidence, fewestPairs, firstMost)
}

// scatter of one run, as the configurations that were measured show it.
func (t *tuning) scatter() float64 {
	var measured [][]float64
	for _, c := range t.known {
		measured = append(measured, c.goodputs())
	}
	return stat.Scatter(measured)
}
