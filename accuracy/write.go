package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// form is how a table looks.
type form int

const (
	plainText form = iota
	markdown
)

// write reports everything, half by half.
func (s *summary) write(w io.Writer, f form) error {
	out := &writer{out: w, form: f}
	for i := range s.Halves {
		out.result(&s.Halves[i])
	}
	return out.err
}

// writer keeps the first error.
type writer struct {
	out  io.Writer
	form form
	err  error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}

func (w *writer) heading(text string) {
	if w.form == markdown {
		w.printf("\n### %s\n\n", text)
	} else {
		w.printf("\n%s\n%s\n", text, strings.Repeat("-", len(text)))
	}
}

// table has a header and rows of as many cells.
func (w *writer) table(header []string, rows [][]string) {
	if w.form == markdown {
		w.printf("| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat("---|", len(header)))
		for _, row := range rows {
			w.printf("| %s |\n", strings.Join(row, " | "))
		}
		return
	}
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); w.err == nil {
		w.err = err
	}
}

func (w *writer) result(r *result) {
	s := &r.Score
	w.heading(fmt.Sprintf("%s: %d of %d verdicts right", r.Half, s.Right, s.Runs))
	w.table([]string{"figure", "value"}, [][]string{
		{"accuracy", fmt.Sprintf("%s (95 %%: %s to %s)", percent(s.Share), percent(s.Low), percent(s.High))},
		{"wrong", strconv.Itoa(s.Wrong)},
		{"unknown", fmt.Sprintf("%d (%s)", s.Unknown, percent(float64(s.Unknown)/float64(s.Runs)))},
		{"no verdict", strconv.Itoa(s.Failed)},
		{"false alarms on healthy paths", fmt.Sprintf("%d of %d", s.FalseAlarms, s.Healthy)},
		{"invalid runs, not counted", strconv.Itoa(s.Invalid)},
	})
	w.matrix(&r.Matrix)
	if r.Calibration != nil {
		w.calibration(r.Half, r.Calibration)
	}
	if len(r.Times) > 0 {
		w.heading(r.Half + ": traffic until the verdict")
		var rows [][]string
		for _, t := range r.Times {
			rows = append(rows, []string{t.Paths, strconv.Itoa(t.Runs), fmt.Sprintf("%.1f s", t.Median.Seconds()), fmt.Sprintf("%.1f s", t.Most.Seconds()), t.Which})
		}
		w.table([]string{"paths", "runs", "median", "most", "by"}, rows)
	}
	if len(r.Gains) > 0 {
		w.heading(r.Half + ": error of the predicted gain")
		var rows [][]string
		for _, g := range r.Gains {
			rows = append(rows, []string{g.Cause, strconv.Itoa(g.Runs), percent(g.Mid), percent(g.Low) + " to " + percent(g.High)})
		}
		w.table([]string{"cause", "runs", "median", "middle half"}, rows)
	}
}

// matrix has a row for what was planted and a numbered column for what was
// named: names of causes are too long for columns.
func (w *writer) matrix(m *matrix) {
	w.heading("planted (rows) and named (columns)")
	header := []string{"", "planted"}
	for i := range m.Causes {
		header = append(header, strconv.Itoa(i+1))
	}
	var rows [][]string
	for i, planted := range m.Causes {
		row := []string{strconv.Itoa(i + 1), planted}
		for _, named := range m.Causes {
			cell := "."
			if n := m.Counts[planted][named]; n > 0 {
				cell = strconv.Itoa(n)
				if w.form == markdown && planted == named {
					cell = "**" + cell + "**"
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	w.table(header, rows)
}

func (w *writer) calibration(half string, c *calibration) {
	w.heading(fmt.Sprintf("%s: confidence (Brier score %.3f)", half, c.Brier))
	var rows [][]string
	for _, b := range c.Bins {
		rows = append(rows, []string{
			fmt.Sprintf("%s to %s", percent(b.From), percent(b.Below)), strconv.Itoa(b.Verdicts), percent(b.Confidence),
			fmt.Sprintf("%s (%s to %s)", percent(b.Right), percent(b.Low), percent(b.High)),
		})
	}
	w.table([]string{"confidence", "verdicts", "mean", "right (95 %)"}, rows)
}

func percent(share float64) string {
	if math.IsNaN(share) {
		return "none"
	}
	return strconv.FormatFloat(100*share, 'f', 1, 64) + " %"
}
