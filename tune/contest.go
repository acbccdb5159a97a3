package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/stat"
)

// minEffect is the smallest change of goodput that counts: runs on one unchanged
// path already differ by up to 3 %.
const minEffect = 0.03

// Factors between the closest runs of two candidates from which one or two runs are
// enough to decide. Runs of a few seconds on one lossy path may differ by a factor
// of two, but rarely of three; an outlier may be anywhere, but rarely at a tenth.
const (
	threefold = 3.0
	tenfold   = 10.0
)

// maxRuns of one candidate in a contest.
const maxRuns = 12

// errorRates are the chances that a contest may decide wrongly, false gains and
// false losses together: over all interim looks at the growing samples, and once
// more at the final one, when the allowance is used up.
type errorRates struct{ interim, final float64 }

var (
	// choosing is for picking the step to continue from, and proves nothing: a false
	// gain costs the traffic of a proof that fails, and a missed gain is lost.
	choosing = errorRates{0.10, 0.20}
	// keeping is for whether a change is needed among others, which the proof of all
	// of them together cannot show.
	keeping = errorRates{0.02, 0.03}
)

// contest measures two candidates in turn until it is clear which is better, or the
// allowance is used up: two runs of each may take more than that, as a run that is not
// steady makes the next ones longer, where the reserve allows it. The one with fewer
// runs is next, so that one measured before is not measured again without need; of two
// with as many the one measured last, which saves changing the hosts, and makes the
// order old, fresh, fresh, old, in which a steady drift cancels out.
//
// A fresh candidate with which a transfer fails is Worse, and failed says why.
func (t *tuning) contest(ctx context.Context, old, fresh *candidate, allowance time.Duration, allowed errorRates) (d stat.Decision, failed, err error) {
	least := t.meter.Left() - allowance
	runs := t.payable(old, fresh, allowance)
	last := old
	for looked := 0; ; {
		if d := farApart(old, fresh); d != stat.Undecided {
			return d, nil, nil
		}
		if n := min(len(old.readings), len(fresh.readings)); n >= 2 && n > looked {
			looked = n
			if d := decide(old, fresh, stat.Spend(allowed.interim, n-1, max(n, runs)-1)); d != stat.Undecided {
				return d, nil, nil
			}
		}
		next := fewer(old, fresh, last)
		spend := t.timingOf(next, old, fresh)
		kept := least
		if len(next.readings) < fewestTried {
			kept = min(least, t.reserve)
		}
		if len(next.readings) >= max(runs, fewestTried) || t.meter.Left()-t.meter.Cost(spend.omit, spend.measured) < kept {
			return atEndOfBudget(old, fresh, allowed), nil, nil
		}
		if err := t.measure(ctx, next, spend); err != nil {
			if errors.Is(err, errTransfer) && next == fresh {
				return stat.Worse, err, nil
			}
			return stat.Undecided, nil, err
		}
		last = next
	}
}

// fewer is the candidate with fewer runs, or the last one measured if both have the
// same number.
func fewer(a, b, last *candidate) *candidate {
	switch {
	case len(a.readings) < len(b.readings):
		return a
	case len(b.readings) < len(a.readings):
		return b
	}
	return last
}

// timingOf the next run of one of two candidates in a contest.
func (t *tuning) timingOf(next, old, fresh *candidate) timing {
	if len(next.readings) == 0 {
		return t.firstTiming(next)
	}
	ofOld, ofFresh := t.repeated(old, fresh)
	if next == old {
		return ofOld
	}
	return ofFresh
}

// payable is how many runs of each of two candidates the allowance covers, at most
// maxRuns.
func (t *tuning) payable(old, fresh *candidate, allowance time.Duration) int {
	n := 0
	for n < maxRuns && t.takes(old, fresh, n+1) <= allowance {
		n++
	}
	return n
}

// takes is the test traffic needed until both candidates have that many runs.
func (t *tuning) takes(old, fresh *candidate, runs int) (sum time.Duration) {
	ofOld, ofFresh := t.repeated(old, fresh)
	for c, again := range map[*candidate]timing{old: ofOld, fresh: ofFresh} {
		for have := len(c.readings); have < runs; have++ {
			spend := again
			if have == 0 {
				spend = t.firstTiming(c)
			}
			sum += t.meter.Expect(spend.omit, spend.measured)
		}
	}
	return sum
}

// farApart decides where the closest runs are so far apart that no interval is
// needed. One run is enough to go on with what helps: it is measured again before
// it is kept. It is not enough to give an idea up.
func farApart(old, fresh *candidate) stat.Decision {
	a, b := old.goodputs(), fresh.goodputs()
	switch {
	case len(a) == 0 || len(b) == 0:
		return stat.Undecided
	case slices.Min(b) > threefold*slices.Max(a):
		return stat.Better
	case len(b) >= 2 && slices.Max(b)*threefold < slices.Min(a):
		return stat.Worse
	}
	return stat.Undecided
}

// decide is one look at the runs of two candidates, with the chance of an error that
// is allowed. A gain that is certainly below minEffect is Same: no more runs are
// spent on it.
func decide(old, fresh *candidate, allowed float64) stat.Decision {
	d, effect := stat.Decide(stat.Gathered(old.goodputs()), stat.Gathered(fresh.goodputs()), minEffect, allowed)
	if d == stat.Undecided && effect.High < 1+minEffect {
		return stat.Same
	}
	return d
}

// twofold is a factor between two medians that a single outlier cannot cause.
const twofold = 2.0

// atEndOfBudget decides when the budget allows no more runs. A single outlier (a
// flow that left slow start too early, a machine that paused) makes an interval
// too wide to be of use, but barely changes ranks.
//
// To choose by, one run of a side is enough where the closest ones are twofold apart: what
// a proof will show or refute is not given up for want of a run.
func atEndOfBudget(old, fresh *candidate, rates errorRates) stat.Decision {
	a, b, allowed := old.goodputs(), fresh.goodputs(), rates.final
	if min(len(a), len(b)) < fewestTried {
		if rates == choosing && len(a) > 0 && len(b) > 0 && slices.Min(b) > twofold*slices.Max(a) {
			return stat.Better
		}
		return stat.Undecided
	}
	gain := stat.Median(b) / stat.Median(a)
	switch {
	case gain > twofold && min(len(a), len(b)) >= 3:
		return stat.Better
	case gain >= 1+minEffect && (stat.TrimmedRatioAt(1-allowed, a, b).Low > 1 || stat.Ranked(a, b) <= allowed/2):
		return stat.Better
	case gain < 1-minEffect:
		return stat.Worse
	}
	return stat.Same
}

// Limits on what a gain may cost. Goodput that grows by less than
// smallGain must not cost more than these in latency under load or in
// retransmissions.
const (
	smallGain      = 1.10
	latencyFactor  = 1.25
	latencyMinimum = 5 * time.Millisecond
	retransFactor  = 2.0
	retransMinimum = 0.005
)

// worseElsewhere says what a faster candidate costs, if that is out of
// proportion to what it gains.
func worseElsewhere(old, fresh *candidate) string {
	if float64(fresh.goodput()) > smallGain*float64(old.goodput()) {
		return ""
	}
	before, after := old.latency(), fresh.latency()
	if float64(after) > latencyFactor*float64(before) && after-before > latencyMinimum {
		return fmt.Sprintf("latency under load rises from %v to %v", before.Round(time.Millisecond/10), after.Round(time.Millisecond/10))
	}
	if r := fresh.retrans(); r > retransFactor*old.retrans() && r > retransMinimum {
		return fmt.Sprintf("retransmissions rise from %.2f %% to %.2f %%", 100*old.retrans(), 100*r)
	}
	return ""
}
