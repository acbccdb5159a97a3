package html

import (
	"fmt"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// predicted is what a tuning in the path's twin came to, beside what came on the path.
type predicted struct {
	Says string
	Rows []predictedRow
}

// predictedRow is one figure of both.
type predictedRow struct{ What, Twin, Came, Agree string }

// predictedBy compares a tuning with the one in its path's twin; nil if there was none.
func predictedBy(run *record.Run, d *documents, clean func(string) string) *predicted {
	p := run.Predicted
	if p == nil || d.tune == nil {
		return nil
	}
	came := d.tune
	after := came.After.Goodput
	if len(came.Kept) == 0 {
		after = came.Before.Goodput
	}
	shown := &predicted{Says: "Before this run the same was tried in the path's twin, a scenario of the lab that was made from what had been measured of it"}
	if id := clean(p.Run); id != "" {
		shown.Says += " (run " + id + ")"
	}
	shown.Says += "."
	verdict := predictedRow{"verdict", clean(p.Verdict), clean(came.Verdict.Cause), "the same"}
	if p.Verdict != came.Verdict.Cause {
		verdict.Agree = "another one"
	}
	shown.Rows = []predictedRow{
		verdict,
		goodputRow("before", p.Before, came.Before.Goodput, came.Before.Runs),
		goodputRow("after", p.After, after, came.After.Runs),
		gainRow(p, came.Gain, came.GainCI95),
	}
	return shown
}

func goodputRow(what string, p record.Expected, came unit.Rate, runs []unit.Rate) predictedRow {
	var all []float64
	for _, r := range runs {
		all = append(all, float64(r))
	}
	low, high := interval(all)
	is := record.Expected{Goodput: came, Low: unit.Rate(low), High: unit.Rate(high)}
	row := predictedRow{What: what, Twin: expected(p), Came: expected(is)}
	switch {
	case p.Goodput <= 0 || came <= 0:
	case p.High > 0 && is.High > 0:
		row.Agree = overlap(float64(p.Low), float64(p.High), low, high) + ", "
	}
	if p.Goodput > 0 && came > 0 {
		row.Agree += fmt.Sprintf("%+.0f %%", 100*(float64(came/p.Goodput)-1))
	}
	return row
}

func expected(e record.Expected) string {
	if e.High <= 0 {
		return e.Goodput.String()
	}
	return fmt.Sprintf("%s (%s to %s)", e.Goodput, e.Low, e.High)
}

// gainRow says nothing of intervals where one of the two changed nothing: a gain that
// was not measured has none.
func gainRow(p *record.Prediction, gain float64, ci [2]float64) predictedRow {
	write := func(gain float64, ci [2]float64) string {
		if ci[0] == ci[1] {
			return unit.Factor(gain)
		}
		return fmt.Sprintf("%s (%s to %s)", unit.Factor(gain), unit.Factor(ci[0]), unit.Factor(ci[1]))
	}
	row := predictedRow{What: "gain", Twin: write(p.Gain, p.GainCI95), Came: write(gain, ci)}
	if p.GainCI95[0] < p.GainCI95[1] && ci[0] < ci[1] {
		row.Agree = overlap(p.GainCI95[0], p.GainCI95[1], ci[0], ci[1])
	}
	return row
}

func overlap(low, high, otherLow, otherHigh float64) string {
	if low <= otherHigh && otherLow <= high {
		return "the intervals overlap"
	}
	return "the intervals do not overlap"
}
