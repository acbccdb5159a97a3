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
		goodput, verdict := Came(&h), h.Verdict
		if h.State != record.Done {
			verdict = strings.TrimSpace(string(h.State) + " " + verdict)
		}
		table = append(table, []string{
			h.ID[max(0, len(h.ID)-shortID):], h.Started.Local().Format("2006-01-02 15:04"), string(h.Kind), pathName(h.From, h.To, h.Scenario), goodput, verdict, strings.Join(h.Tags, ", "),
		})
	}
	columnsOf(w, table)
}

// Came is what a run came to: its goodput, and requests a second where it made any.
func Came(h *record.Header) string {
	var parts []string
	if h.IOPS > 0 {
		parts = append(parts, perSecond(h.IOPS))
	}
	if h.Goodput > 0 {
		parts = append(parts, h.Goodput.String())
	}
	return strings.Join(parts, ", ")
}

// perSecond writes requests a second where there is little room.
func perSecond(iops float64) string { return whole(iops) + "/s" }

// RequestsASecond writes them out.
func RequestsASecond(iops float64) string { return whole(iops) + " requests a second" }

// whole writes a number with a digit behind its point only where it is small; a run that was
// imported may have any.
func whole(v float64) string {
	switch {
	case v >= 1e12:
		return fmt.Sprintf("%.3g", v)
	case v < 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
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
		rates = append(rates, t.Of(&r))
	}
	write := rate
	if t.Kind.CountsRequests() {
		write = perSecond
	}
	fmt.Fprintf(w, "%s  %s at the last\n\n", printable.Sparkline(rates), write(rates[len(rates)-1]))
	rows := [][]string{{"since", "", ""}}
	changes := t.Changes
	for i, level := range t.Levels {
		until := time.Time{}
		if i+1 < len(t.Levels) {
			until = t.Levels[i+1].Since
		}
		if i == 0 {
			rows = append(rows, levelRow(&level, t.Level(&level), "", write))
		}
		// A change that the run of a new level made, or found, comes before it.
		for len(changes) > 0 && (until.IsZero() || !changes[0].At.After(until)) {
			rows = append(rows, changeRow(changes[0]))
			changes = changes[1:]
		}
		if i+1 < len(t.Levels) {
			next := &t.Levels[i+1]
			rows = append(rows, levelRow(next, t.Level(next), unit.Factor(t.Level(next).Typical/t.Level(&level).Typical), write))
		}
	}
	columnsOf(w, rows[1:])
}

// mostBars is how many runs fit on a line.
const mostBars = 72

func levelRow(l *record.Level, is stat.Interval, gain string, write func(float64) string) []string {
	says := write(is.Typical)
	if is.High > 0 {
		says += fmt.Sprintf(" (95 %%: %s to %s)", write(is.Low), write(is.High))
	}
	if gain != "" {
		says = gain + ": " + says
	}
	return []string{l.Since.Local().Format("2006-01-02 15:04"), "level", fmt.Sprintf("%s in %d runs", says, l.Runs)}
}

func changeRow(d record.Dated) []string {
	who := "found changed"
	if d.Who == record.ByTune {
		who = "tuned"
	}
	return []string{d.At.Local().Format("2006-01-02 15:04"), who, fmt.Sprintf("%s %s: %s -> %s", d.Host, d.Tunable, d.From, d.To)}
}
