package html

import (
	"fmt"

	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

// Colours of rows: what is as it was, what helped, what did harm.
const (
	plainColor  = 0
	harmColor   = 1
	helpedColor = 2
)

// runsAxis is that of goodput in rows.
var runsAxis = figure.Axis{Name: "goodput", Of: figure.Rate}

// climbFigure is tune's way step by step, with what each brought; the proof last.
func climbFigure(r *tune.Result) *figure.Rows {
	rows := figure.Rows{Title: "The climb", X: runsAxis,
		Says: "Each step that was tried, from what there was before (circle) to what it reached (diamond), with its single runs (dots); the proof with 95 % intervals."}
	steps, more := first(r.Steps, mostSteps)
	if len(steps) > 0 {
		was := rateValues(steps[0].Before.Runs)
		rows.Rows = append(rows.Rows, figure.Row{Name: "as it was found", Note: "the limit is " + r.Verdict.Cause, Dots: was, Typical: stat.Median(was), From: nan})
	}
	for _, s := range steps {
		row := figure.Row{Name: s.Idea, Note: stepNote(s), Typical: nan, From: nan, Dots: rateValues(s.After.Runs)}
		for _, c := range s.Changes {
			row.Name += "; " + c.Host + " " + c.Tunable + " = " + c.To
		}
		if len(row.Dots) > 0 {
			row.From, row.Typical = float64(s.Before.Goodput), float64(s.After.Goodput)
		}
		switch s.Effect {
		case tune.Helps:
			row.Color = helpedColor
		case tune.Hurts, tune.Breaks:
			row.Color = harmColor
		}
		rows.Rows = append(rows.Rows, row)
	}
	if more > 0 {
		rows.Says += fmt.Sprintf(" %d more steps are not shown.", more)
	}
	rows.Rows = append(rows.Rows, rowOf("as it was, proven", "", rateValues(r.Before.Runs), plainColor))
	if len(r.Kept) > 0 {
		after := rowOf("with all that is kept, proven", fmt.Sprintf("%s (95 %%: %s to %s)", unit.Factor(r.Gain), unit.Factor(r.GainCI95[0]), unit.Factor(r.GainCI95[1])),
			rateValues(r.After.Runs), helpedColor)
		after.From = float64(r.Before.Goodput)
		rows.Rows = append(rows.Rows, after)
	}
	return &rows
}

// mostSteps in the figure: a tuning tries eight ideas, and some of them doubled.
const mostSteps = 28

// stepNote says what a step brought.
func stepNote(s tune.Step) string {
	if s.Before.Goodput <= 0 || s.After.Goodput <= 0 {
		return s.Says
	}
	by := unit.Factor(float64(s.After.Goodput / s.Before.Goodput))
	switch s.Effect {
	case tune.Helps, tune.Hurts:
		return string(s.Effect) + ", " + by
	case tune.Breaks:
		return s.Says
	}
	return "no difference that can be measured, " + by
}

func rateValues(runs []unit.Rate) []float64 {
	var all []float64
	for _, r := range runs {
		all = append(all, float64(r))
	}
	return all
}

// rowOf shows several runs with their typical value and its interval.
func rowOf(name, note string, runs []float64, color int) figure.Row {
	row := figure.Row{Name: name, Note: note, Dots: runs, Typical: nan, From: nan, Color: color}
	if len(runs) > 0 {
		row.Typical = stat.Median(runs)
		row.Low, row.High = interval(runs)
	}
	return row
}

// repeatFigure are the runs of a repeated test.
func repeatFigure(t *tested) *figure.Rows {
	runs := experiment.Goodputs(t.Fullbore.Runs)
	if len(runs) < 2 {
		return nil
	}
	return &figure.Rows{Title: "Goodput of every run", Says: fmt.Sprintf("%s, their median and its 95 %% interval.", unit.Count(len(runs), "run")),
		X: runsAxis, Rows: []figure.Row{rowOf("goodput", "", runs, plainColor)}}
}

// compareFigure are the runs of both variants.
func compareFigure(d *experiment.ABDocument) *figure.Rows {
	if d.Comparison == nil {
		return nil
	}
	rows := figure.Rows{Title: "Goodput of every run", X: runsAxis, Says: sentence(d.Goodput.Says)}
	for i, v := range []struct {
		name, args string
	}{{"A", d.A.Args}, {"B", d.B.Args}} {
		var runs []float64
		for _, r := range d.Runs {
			if r.Variant == v.name && !r.WarmUp {
				runs = append(runs, float64(r.Goodput))
			}
		}
		args := v.args
		if args == "" {
			args = "no flags"
		}
		rows.Rows = append(rows.Rows, rowOf(v.name+": "+args, "", runs, i))
	}
	return &rows
}
