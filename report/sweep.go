package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/sweep"
	"github.com/fullbore/fullbore/unit"
)

// Experiments lists those that are built in.
func Experiments(w io.Writer, all []*sweep.Spec) error {
	rows := [][]string{{"experiment", "lab", "what it shows"}}
	for _, s := range all {
		rows = append(rows, []string{s.Name, s.Scenario, s.About})
	}
	columnsOf(w, rows)
	_, err := fmt.Fprintln(w, "\nfullbore sweep NAME runs one in the lab, fullbore sweep NAME HOST on the path to a host; fullbore sweep FILE.yaml one of your own.")
	return err
}

// SweepPlan says what an experiment would measure.
func SweepPlan(w io.Writer, spec *sweep.Spec, cost sweep.Cost, points []sweep.Point) error {
	fmt.Fprintf(w, "%s: %s\n%s\n\n", printable.Line(spec.Name), printable.Line(spec.About), cost)
	for _, p := range points {
		fmt.Fprintln(w, printable.Line(p.String()))
	}
	return nil
}

// PointValues are the values of each point by factor.
func PointValues(points []sweep.Point) []map[string]any {
	all := []map[string]any{}
	for _, p := range points {
		values := map[string]any{}
		for name, v := range p.Values() {
			values[name] = v
		}
		all = append(all, values)
	}
	return all
}

// Sweep writes what an experiment showed: a line a point, then what it means.
func Sweep(w io.Writer, d *sweep.Document) {
	var names []string
	if len(d.Points) > 0 {
		names = slices.Sorted(maps.Keys(d.Points[0].Factors))
	}
	head := slices.Clone(names)
	head = append(head, "goodput", "95 %", "against present", "CPUs sending", "receiving")
	requests := slices.ContainsFunc(d.Points, func(p sweep.PointResult) bool { return p.IOPS > 0 })
	if requests {
		head = append(head, "requests")
	}
	if d.Law != nil {
		head = append(head, "law")
	}
	rows := [][]string{append(head, "")}
	var notes []string
	for i := range d.Points {
		p := &d.Points[i]
		var row []string
		for _, name := range names {
			row = append(row, valueText(d, name, p.Factors[name]))
		}
		row = append(row, goodputs(p)...)
		if requests {
			row = append(row, perSecond(p.IOPS))
		}
		if d.Law != nil {
			law := ""
			if p.Law != nil {
				law = p.Law.String()
			}
			row = append(row, law)
		}
		mark := ""
		if p.Present {
			mark = "present"
		}
		if len(p.Notes) > 0 {
			notes = append(notes, p.Notes...)
			mark = strings.TrimSpace(fmt.Sprintf("%s [%d]", mark, len(notes)-len(p.Notes)+1))
		}
		rows = append(rows, append(row, mark))
	}
	columnsOf(w, rows)
	for i, note := range notes {
		if i == mostNotes {
			fmt.Fprintf(w, "and %d more notes\n", len(notes)-i)
			break
		}
		fmt.Fprintf(w, "[%d] %s\n", i+1, printable.Line(note))
	}
	s := sheet{w: w}
	fmt.Fprintln(w)
	s.row("means", d.Says)
	// Each is said once.
	if d.Enough != nil && !strings.Contains(d.Says, d.Enough.Why) {
		s.row("enough", d.Enough.Why)
	}
	if d.Law != nil && !strings.Contains(d.Says, d.Law.Says) {
		says := d.Law.Says
		if !strings.Contains(says, d.Law.Formula) {
			says = d.Law.Formula + ": " + says
		}
		s.row("law", says)
	}
	s.row("traffic", fmt.Sprintf("%d transfers (%d of them from before, %d failed), %.0f s, %s; seed %d", d.Spent.Transfers, d.Spent.Resumed, d.Spent.Failed, d.Spent.Seconds, unit.Size(d.Spent.Bytes), d.Seed))
}

// mostNotes of points that are printed.
const mostNotes = 12

// goodputs are the columns of a point that every experiment has.
func goodputs(p *sweep.PointResult) []string {
	if p.Runs == 0 {
		return []string{"not measured", "", "", "", ""}
	}
	cells := []string{p.Goodput.String(), "", "", "", ""}
	if p.CI95 != nil {
		cells[1] = fmt.Sprintf("%v to %v", unit.Rate(p.CI95[0]), unit.Rate(p.CI95[1]))
	}
	if p.Gain != nil {
		cells[2] = unit.Factor(p.Gain.Gain)
	}
	for i, cpus := range []*float64{p.CPUs.Sender, p.CPUs.Receiver} {
		if cpus != nil {
			cells[3+i] = fmt.Sprintf("%.2f", *cpus)
		}
	}
	return cells
}

// valueText is a factor's value as people write it.
func valueText(d *sweep.Document, name string, v sweep.Value) string {
	for i := range d.Factors {
		if d.Factors[i].Name() == name {
			return v.Text(d.Factors[i].Kind())
		}
	}
	return v.Word
}
