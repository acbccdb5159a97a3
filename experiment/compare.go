package experiment

import (
	"fmt"
	"math"

	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Comparison is what interleaved runs of two variants of a transfer say.
type Comparison struct {
	A         Summary     `json:"-"`
	B         Summary     `json:"-"`
	Goodput   Difference  `json:"goodput"`
	Processor []CPUChange `json:"cpu"` // of each end, as far as both variants tell
}

// Difference is B against A.
type Difference struct {
	Ratio    stat.Effect `json:"ratio"`    // B divided by A, with its 95 % interval
	Decision Decision    `json:"decision"` // whether they differ
	Says     string      `json:"says"`
}

// CPUChange is a Difference in CPU seconds for each 10^9 bytes received.
type CPUChange struct {
	Measure
	Difference
}

// Decision says whether B has more than A.
type Decision string

// The decisions.
const (
	More      Decision = "more"
	Less      Decision = "less"
	Same      Decision = "same"      // no difference that matters: the whole interval is too small
	Undecided Decision = "undecided" // the runs scatter too much to tell
)

// Compare compares the runs of A and B that count. least is the smallest
// difference that matters (0.03: 3 %).
func Compare(a, b []Run, least float64) Comparison {
	c := Comparison{
		A: Summarise(a), B: Summarise(b),
		Goodput: differ(Goodputs(a), Goodputs(b), least, "is %s faster", "is %s slower", "is %.3g times as fast"),
	}
	for _, m := range Measures {
		if x, y := m.values(a), m.values(b); len(x) > 0 && len(y) > 0 {
			c.Processor = append(c.Processor, CPUChange{m,
				differ(x, y, least, "needs %s more CPU time", "needs %s less CPU time", "needs %.3g times the CPU time")})
		}
	}
	return c
}

// differ compares two lists of figures. more and less have a place for a share,
// times for a factor.
func differ(a, b []float64, least float64, more, less, times string) Difference {
	decision, effect := stat.Decide(a, b, least, 0.05)
	d := Difference{Ratio: effect}
	switch decision {
	case stat.Better:
		d.Decision, d.Says = More, fmt.Sprintf("B "+more+" (95 %%: %s)", above(effect.Gain), span(effect))
		if effect.Gain >= 2 {
			d.Says = fmt.Sprintf("B "+times+" (95 %%: %.3g to %.3g times)", effect.Gain, effect.Low, effect.High)
		}
	case stat.Worse:
		d.Decision, d.Says = Less, fmt.Sprintf("B "+less+" (95 %%: %s)", above(effect.Gain), span(effect))
	case stat.Same:
		d.Decision, d.Says = Same, fmt.Sprintf("no difference above %s was found (95 %%: %s)", unit.Percent(least), span(effect))
	case stat.Undecided:
		d.Decision, d.Says = Undecided, fmt.Sprintf("undecided, the runs scatter too much (95 %%: %s)", span(effect))
		if effect.Low > 1 || effect.High < 1 {
			d.Says = fmt.Sprintf("undecided, there is a difference, perhaps below %s (95 %%: %s)", unit.Percent(least), span(effect))
		}
	}
	return d
}

// above is how far a ratio is from 1, either way: "4 %".
func above(ratio float64) string { return unit.Percent(math.Abs(ratio - 1)) }

// span writes an interval of ratios: "2 % to 6 %" where all of it lies on the
// same side of 1, "-1.2 % to +3.4 %" where it does not.
func span(e stat.Effect) string {
	switch {
	case e.Low >= 1:
		return above(e.Low) + " to " + above(e.High)
	case e.High <= 1:
		return above(e.High) + " to " + above(e.Low)
	}
	return fmt.Sprintf("-%s to +%s", above(e.Low), above(e.High))
}
