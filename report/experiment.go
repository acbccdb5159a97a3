package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/unit"
)

// Run writes one of several runs, as it ends.
func Run(w io.Writer, r *experiment.Run, name string) {
	columns := []string{fmt.Sprintf("%-9s  %11s", name, r.Goodput)}
	for _, m := range experiment.Measures {
		if v := m.Value(r); v != nil && m.Of == "process" {
			columns = append(columns, fmt.Sprintf("%.3g CPU-s/GB by %s", *v, m.Name))
		}
	}
	fmt.Fprintln(w, strings.Join(columns, "  "))
}

// Repeated writes the summary of several runs.
func Repeated(w io.Writer, r *experiment.Repeat) {
	t := &sheet{w: w}
	t.entry("goodput", fmt.Sprintf("%s (%s)", middle(&r.Goodput, rate), unit.Count(r.Runs, "run")))
	t.unsettled(&r.Repeated)
	label := "CPU"
	for _, m := range experiment.Measures {
		if v := m.Middle(&r.Summary); v != nil {
			t.entry(label, fmt.Sprintf("%s: %s", m.Name, middle(v, cpuSeconds)))
			label = ""
		}
	}
}

// unsettled says so of runs that were to settle and did not.
func (s *sheet) unsettled(r *experiment.Repeated) {
	if r.Settled != nil && !*r.Settled {
		s.text(fmt.Sprintf("not settled: the interval was to lie within %s", unit.Percent(r.UntilCI)))
	}
}

func rate(v float64) string { return unit.Rate(v).String() }

func cpuSeconds(v float64) string { return fmt.Sprintf("%.3g CPU-s/GB", v) }

func middle(m *experiment.Middle, value func(float64) string) string {
	if m.Interval == nil {
		return value(m.Median)
	}
	return fmt.Sprintf("median %s, 95 %% interval %s to %s", value(m.Median), value(m.Interval.Low), value(m.Interval.High))
}

// Compared writes a comparison: each variant's results, what differs, and how to
// have the same order again.
func Compared(w io.Writer, d *experiment.ABDocument) {
	c := d.Comparison
	t := &sheet{w: w}
	for _, v := range []struct {
		name, args string
		s          *experiment.Summary
	}{{"A", d.A.Args, &c.A}, {"B", d.B.Args, &c.B}} {
		t.entry(v.name, fmt.Sprintf("%s: %s", arguments(v.args), middle(&v.s.Goodput, rate)))
		var costs []string
		for _, m := range experiment.Measures {
			if value := m.Middle(v.s); value != nil {
				costs = append(costs, fmt.Sprintf("%.3g by %s", value.Median, m.Name))
			}
		}
		if len(costs) > 0 {
			t.text("CPU-s/GB: " + strings.Join(costs, ", "))
		}
	}
	t.entry("goodput", c.Goodput.Says)
	for i, p := range c.Processor {
		t.entry(first(i, "CPU"), fmt.Sprintf("%s: %s", p.Name, p.Says))
	}
	t.entry("order", fmt.Sprintf("%s, seed %d", d.Order, d.Seed))
}

func arguments(args string) string {
	if args == "" {
		return "no flags"
	}
	return args
}
