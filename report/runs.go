package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// shortID is how many of the last characters of an identifier tell runs apart.
const shortID = 8

// Runs lists kept runs, a line each.
func Runs(w io.Writer, runs []record.Header) {
	if len(runs) == 0 {
		fmt.Fprintln(w, "No such run is kept.")
		return
	}
	table := [][]string{{"run", "started", "verb", "path", "goodput", "verdict", "tags"}}
	for _, h := range runs {
		goodput, verdict := "", h.Verdict
		if h.Goodput > 0 {
			goodput = h.Goodput.String()
		}
		if h.State != record.Done {
			verdict = strings.TrimSpace(string(h.State) + " " + verdict)
		}
		table = append(table, []string{
			h.ID[max(0, len(h.ID)-shortID):], h.Started.Local().Format("2006-01-02 15:04"), string(h.Kind), pathName(h.From, h.To, h.Scenario), goodput, verdict, strings.Join(h.Tags, ", "),
		})
	}
	columnsOf(w, table)
}

// pathName is a path in words.
func pathName(from, to, scenario string) string {
	text := printable.Line(from)
	if to != "" {
		text += " > " + printable.Line(to)
	}
	if scenario != "" {
		text += " (lab " + printable.Line(scenario) + ")"
	}
	return text
}

// columnsOf writes rows below each other, the last column as it is.
func columnsOf(w io.Writer, rows [][]string) {
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			wide[i] = max(wide[i], printable.Width(printable.Line(cell)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = printable.Line(cell)
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", wide[i]-printable.Width(cell)+2))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// Size is an amount of data on a disk, with its unit.
func Size(bytes int64) string { return unit.Size(bytes).String() }

// Trend writes how a path went: its goodput as a line of bars, its levels, and what
// was changed on its hosts, in the order of time.
func Trend(w io.Writer, t *record.Trend) {
	fmt.Fprintf(w, "%s, %d runs of %s since %s\n\n", pathName(t.From, t.To, t.Scenario), len(t.Runs), t.Kind, t.Runs[0].Started.Local().Format(time.DateOnly))
	var rates []float64
	for _, r := range t.Runs[max(0, len(t.Runs)-mostBars):] {
		rates = append(rates, float64(r.Goodput))
	}
	fmt.Fprintf(w, "%s  %s at the last\n\n", printable.Sparkline(rates), t.Runs[len(t.Runs)-1].Goodput)
	rows := [][]string{{"since", "", ""}}
	changes := t.Changes
	for i, level := range t.Levels {
		until := time.Time{}
		if i+1 < len(t.Levels) {
			until = t.Levels[i+1].Since
		}
		if i == 0 {
			rows = append(rows, levelRow(level, ""))
		}
		// A change that the run of a new level made, or found, comes before it.
		for len(changes) > 0 && (until.IsZero() || !changes[0].At.After(until)) {
			rows = append(rows, changeRow(changes[0]))
			changes = changes[1:]
		}
		if i+1 < len(t.Levels) {
			rows = append(rows, levelRow(t.Levels[i+1], unit.Factor(t.Levels[i+1].Goodput.Typical/level.Goodput.Typical)))
		}
	}
	columnsOf(w, rows[1:])
}

// mostBars is how many runs fit on a line.
const mostBars = 72

func levelRow(l record.Level, gain string) []string {
	says := unit.Rate(l.Goodput.Typical).String()
	if l.Goodput.High > 0 {
		says += " (" + interval(l.Goodput) + ")"
	}
	if gain != "" {
		says = gain + ": " + says
	}
	return []string{l.Since.Local().Format("2006-01-02 15:04"), "level", fmt.Sprintf("%s in %d runs", says, l.Runs)}
}

func interval(i stat.Interval) string {
	return fmt.Sprintf("95 %%: %s to %s", unit.Rate(i.Low), unit.Rate(i.High))
}

func changeRow(d record.Dated) []string {
	who := "found changed"
	if d.Who == record.ByTune {
		who = "tuned"
	}
	return []string{d.At.Local().Format("2006-01-02 15:04"), who, fmt.Sprintf("%s %s: %s -> %s", d.Host, d.Tunable, d.From, d.To)}
}
