package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Enough is the smallest value of a factor that does as well as the best.
type Enough struct {
	Factor string           `json:"factor"`
	Value  Value            `json:"value"`
	Why    string           `json:"why"`
	Sure   bool             `json:"sure"`            // the intervals show it; if not, they only do not show the opposite
	Each   []Enough         `json:"each,omitempty"`  // where other factors vary too: for each of their combinations
	Where  map[string]Value `json:"where,omitempty"` // the combination, in Each

	kind Kind
}

// series is what was measured of one value: goodputs in bit/s, by block.
type series struct {
	value float64
	runs  map[int]float64
}

// enoughOf finds the smallest value that is enough: its goodput overlaps that of the
// best value within the margin. Both are compared block by block (stat.PairedAt), so
// that a drift falls on both alike; one-sided, at 95 %: the value is not enough if its
// goodput is surely below that of the best by more than the margin. That leaves in
// what is not known at all, so its middle must not be further below than twice that.
//
// It is not a knee: where a curve bends depends on how its axes are drawn (CMG, "Does
// the knee in a queuing curve exist or is it just a myth?", 2009).
func enoughOf(all []series, margin float64, text func(float64) string) (Enough, bool) {
	slices.SortFunc(all, func(a, b series) int { return int(math.Copysign(1, a.value-b.value)) })
	best := -1
	for i := range all {
		if len(all[i].runs) > 0 && (best < 0 || typical(all[i].runs) > typical(all[best].runs)) {
			best = i
		}
	}
	if best < 0 {
		return Enough{}, false
	}
	sure := true // that no smaller value is enough
	for i := range all {
		if i == best {
			why := "it is the fastest, and no smaller value is within " + unit.Percent(margin) + " of it"
			if best == len(all)-1 && len(all) > 1 {
				why += "; it is the largest that was tried, so more might be faster still"
			}
			return Enough{Value: number(all[i].value), Why: why, Sure: sure}, true
		}
		a, b := paired(all[best].runs, all[i].runs)
		if len(a) < 2 {
			sure = false
			continue
		}
		e := stat.PairedAt(0.90, a, b) // its upper end alone errs in 5 %
		if e.High < 1-margin || e.Gain < 1-2*margin {
			sure = sure && e.High < 1-margin
			continue
		}
		return Enough{
			Value: number(all[i].value), Sure: e.Low >= 1-margin,
			Why: fmt.Sprintf("it carries %s what %s does, the fastest (90 %%: %s)", share(e.Gain), text(all[best].value), between(e)),
		}, true
	}
	return Enough{}, false
}

// typical is the middle of runs.
func typical(runs map[int]float64) float64 {
	var x []float64
	for _, v := range runs {
		x = append(x, v)
	}
	return stat.Typical(x).Typical
}

// paired are the runs of two values in the blocks that have both.
func paired(a, b map[int]float64) (x, y []float64) {
	var blocks []int
	for block := range a {
		if _, both := b[block]; both {
			blocks = append(blocks, block)
		}
	}
	slices.Sort(blocks)
	for _, block := range blocks {
		x, y = append(x, a[block]), append(y, b[block])
	}
	return x, y
}

// between writes an interval of ratios: "95 to 103 %", "1.9 to 2.2 times".
func between(e stat.Effect) string {
	if e.Gain >= twice {
		return fmt.Sprintf("%.3g to %.3g times", e.Low, e.High)
	}
	return fmt.Sprintf("%.3g to %.3g %%", 100*e.Low, 100*e.High)
}

// share writes a ratio before what it is of: "97 % of", "2.1 times".
func share(ratio float64) string {
	if ratio >= twice {
		return fmt.Sprintf("%.3g times", ratio)
	}
	return fmt.Sprintf("%.3g %% of", 100*ratio)
}

// twice as much is written as that, also where it is a little less.
const twice = 1.995

// together is what is enough in each combination of the other factors: the largest of
// all, since less would not do in one of them.
func together(each []Enough, where func(Enough) string) *Enough {
	if len(each) == 0 {
		return nil
	}
	most := each[0]
	for _, e := range each {
		if e.Value.Number > most.Value.Number {
			most = e
		}
	}
	out := Enough{Factor: most.Factor, Value: most.Value, Why: most.Why, Sure: most.Sure, kind: most.kind}
	if len(each) > 1 {
		out.Each = each
		out.Why = strings.TrimSpace("with " + where(most) + ", " + most.Why)
	}
	return &out
}
