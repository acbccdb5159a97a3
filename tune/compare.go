package tune

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/stat"
)

// minEffect is the smallest change of goodput that counts: below 3 % the runs
// of one unchanged path differ among themselves.
const minEffect = 0.03

// clear is the factor between two candidates' closest runs from which a single
// run of each will do: a lossy path's runs of a few seconds may differ twofold
// among themselves, hardly more.
const clear = 3.0

// maxRuns of one candidate in a comparison, and so also how often a comparison
// looks at its growing samples at most.
const maxRuns = 5

// compare measures two candidates, interleaved, until the confidence interval of
// their ratio decides or the budget is spent. The candidate with fewer runs goes
// first, so that one measured before is not measured again without need.
func (t *tuning) compare(ctx context.Context, old, fresh *candidate) (stat.Decision, error) {
	for {
		if len(old.readings) > 0 && len(fresh.readings) > 0 {
			o := decide(old.goodputs(), fresh.goodputs())
			// One run is enough to go on with what helps: it is measured again
			// before it is kept. It is not enough to give an idea up.
			if o == stat.Better || o != stat.Undecided && min(len(old.readings), len(fresh.readings)) >= 2 {
				return o, nil
			}
		}
		next := fresh
		if len(old.readings) < len(fresh.readings) {
			next = old
		}
		if len(next.readings) >= maxRuns || !t.meter.affords(1) {
			if len(old.readings) == 0 || len(fresh.readings) == 0 {
				return stat.Undecided, nil
			}
			return lean(old.goodputs(), fresh.goodputs()), nil
		}
		if err := t.measure(ctx, next); err != nil {
			return stat.Undecided, err
		}
	}
}

// decide compares the runs of two candidates.
func decide(old, fresh []float64) stat.Decision {
	if slices.Min(fresh) > clear*slices.Max(old) {
		return stat.Better
	}
	if slices.Max(fresh)*clear < slices.Min(old) {
		return stat.Worse
	}
	decision, _ := stat.Decide(old, fresh, minEffect, maxRuns)
	return decision
}

// plain is the factor between two medians that no single odd run makes.
const plain = 2.0

// lean is the verdict when the runs or the budget end before the interval
// decides: what is not proven to help is not kept. One run that went astray (a
// flow that left slow start too early, a machine that stood still) widens the
// interval beyond use, but not the medians of three runs or more.
func lean(old, fresh []float64) stat.Decision {
	gain := stat.Median(fresh) / stat.Median(old)
	switch {
	case gain > plain && min(len(old), len(fresh)) >= 3:
		return stat.Better
	case gain < 1-minEffect:
		return stat.Worse
	}
	return stat.Same
}

// Guards: a gain is not worth any price. Goodput that grows by less than
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

// latency under load, median over the runs.
func (c *candidate) latency() time.Duration {
	var all []float64
	for _, r := range c.readings {
		all = append(all, float64(r.latency))
	}
	return time.Duration(stat.Median(all))
}

// retrans is the share of bytes sent again, median over the runs.
func (c *candidate) retrans() float64 {
	var all []float64
	for _, r := range c.readings {
		all = append(all, r.retrans)
	}
	return stat.Median(all)
}
