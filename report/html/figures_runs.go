package html

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/record"
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

// step is what tune says of one step: "helps: 2.94 Mb/s -> 965 Mb/s (x 328)". The
// record of a transfer does not say which of the two settings it ran with.
var step = regexp.MustCompile(`^([a-z ]+): ([0-9.]+ [kMGT]?b/s) -> ([0-9.]+ [kMGT]?b/s)`)

// climbFigure is tune's way step by step, with what each brought; the proof last.
func climbFigure(run *record.Run, r *tune.Result) *figure.Rows {
	rows := figure.Rows{Title: "The climb", X: runsAxis,
		Says: "Each step that was tried, from what there was before (circle) to what it reached (diamond), with its single runs (dots); the proof with 95 % intervals."}
	for i, e := range run.Events {
		if e.Kind != record.Phase {
			continue
		}
		name, try := strings.CutPrefix(e.Text, "try: ")
		if !try && len(rows.Rows) > 0 {
			continue
		}
		row := figure.Row{Name: name, Typical: nan, From: nan, Dots: phaseGoodputs(run, e.Text)}
		if len(row.Dots) == 0 {
			continue
		}
		if i+1 < len(run.Events) && run.Events[i+1].Kind == record.Result {
			row.Note = run.Events[i+1].Text
		}
		if !try {
			row.Typical = stat.Median(row.Dots)
		} else if found := step.FindStringSubmatch(row.Note); found != nil {
			from, _ := unit.ParseRate(found[2])
			to, _ := unit.ParseRate(found[3])
			row.From, row.Typical = float64(from), float64(to)
			switch found[1] {
			case "helps":
				row.Color = helpedColor
			case "hurts":
				row.Color = harmColor
			}
			row.Note = found[1] + ", " + unit.Factor(float64(to/from))
		}
		rows.Rows = append(rows.Rows, row)
	}
	if len(rows.Rows) > 30 {
		rows.Rows = rows.Rows[:30]
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

// phaseGoodputs are those of the transfers of one phase.
func phaseGoodputs(run *record.Run, phase string) []float64 {
	var all []float64
	for _, t := range run.Transfers {
		if t.Phase == phase && t.Result != nil && len(all) < 100 {
			if g := goodputOf(t.Result); g > 0 {
				all = append(all, float64(g))
			}
		}
	}
	return all
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
