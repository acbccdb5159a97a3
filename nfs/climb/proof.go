package climb

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

const (
	// fewestPairs of a proof: one pair says nothing of scatter.
	fewestPairs = 2
	// mostPairs of a proof, and firstMost that the first look may wait for.
	mostPairs, firstMost = 20, 6
	// confidence of the interval.
	confidence = 0.95
	// sureAtOnce is the confidence with which a look must show the gain for the proof to
	// end there: there are up to three.
	sureAtOnce = 0.98
)

// proof is what must be left of the budget for it.
func (c *climb) proof() time.Duration { return 2 * fewestPairs * c.bench.Takes() }

// prove measures the beginning and the best state again, in pairs and in turns, and writes
// down what came. No run counts that was made to choose.
func (c *climb) prove(ctx context.Context, start, best *point) error {
	r := c.result
	r.Before = figureOf(start)
	r.After, r.Gain, r.GainCI95 = r.Before, 1, [2]float64{1, 1}
	r.from, r.to = start.State, start.State
	if best == start {
		r.conclude()
		return nil
	}
	c.Watcher.Phase("measure before and after again, alternately, until the gain is certain")
	before, after := &point{State: start.State}, &point{State: best.State}
	// How many pairs there are is decided before the first of them, from the scatter of the
	// runs until then: an interval must not depend on the runs that it is made from.
	first := stat.PairsFor(math.Log(best.rate()/start.rate()), stat.Scatter(c.measured()), confidence, fewestPairs, firstMost)
	for _, upTo := range []int{first, 2 * first, mostPairs} {
		if err := c.pairs(ctx, before, after, min(upTo, mostPairs)); err != nil {
			return err
		}
		if stat.PairedAt(sureAtOnce, before.rates(), after.rates()).Low > 1 {
			break
		}
	}
	gain := stat.PairedAt(confidence, before.rates(), after.rates())
	says := fmt.Sprintf("%s -> %s, %s (95 %%: %s to %s) in %d pairs of runs",
		before, after, unit.Factor(gain.Gain), unit.Factor(gain.Low), unit.Factor(gain.High), len(before.readings))
	c.Watcher.Result(says)
	r.Before, r.After = figureOf(before), figureOf(before)
	if gain.Low <= 1 {
		r.unproven(start.State, best.State, says)
		r.conclude()
		return nil
	}
	r.After, r.Gain, r.GainCI95, r.to = figureOf(after), gain.Gain, [2]float64{gain.Low, gain.High}, best.State
	r.conclude()
	return nil
}

// pairs measures until there are so many, or the budget does not cover another one.
func (c *climb) pairs(ctx context.Context, before, after *point, upTo int) error {
	for n := len(before.readings); n < upTo; n++ {
		if n >= fewestPairs && c.left() < 2*c.bench.Takes() {
			return nil
		}
		pair := []*point{before, after}
		if n%2 == 1 {
			pair = []*point{after, before}
		}
		for _, p := range pair {
			if err := c.measure(ctx, p); err != nil {
				return err
			}
		}
		c.Watcher.Result(fmt.Sprintf("pair %d: %s -> %s", n+1, before.readings[n], after.readings[n]))
	}
	return nil
}

// measured are the runs of each state.
func (c *climb) measured() (rates [][]float64) {
	for _, p := range c.points {
		rates = append(rates, p.rates())
	}
	return rates
}
