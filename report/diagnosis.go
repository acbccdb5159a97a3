package report

import (
	"fmt"
	"io"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

// Diagnosis writes what limits a path: the verdict in plain words, its evidence,
// what to do, and what else was found.
func Diagnosis(w io.Writer, p *path.Estimate, d bulk.Direction, r *bulk.Result, found *diagnose.Diagnosis) {
	t := &table{w: w}
	way := p.Way(d == bulk.Reverse)
	t.row("path", fmt.Sprintf("RTT %s, capacity %s, bandwidth-delay product %s",
		unit.Milliseconds(p.RTT.Min), tune.DescribeCapacity(way.Capacity), p.BDP(*way)))
	t.row("goodput", r.Goodput(d).String())
	finding(t, "verdict", found.Verdict)
	for _, f := range found.Findings {
		if f.Cause != found.Verdict.Cause {
			finding(t, "also", f)
		}
	}
}

func finding(t *table, label string, f diagnose.Finding) {
	t.row(label, fmt.Sprintf("%s (%.0f %% sure)", f.Cause, 100*f.Confidence))
	t.text(f.Says)
	for _, fact := range f.Evidence {
		t.text("- " + fact.Says)
	}
	if f.Action != "" {
		t.text("do: " + f.Action)
	}
	if f.Predicted > 0 && f.Gain > 1 {
		t.text(fmt.Sprintf("predicted then: %s (%s)", f.Predicted, factor(f.Gain)))
	}
}

// Verdict writes the limiting finding alone.
func Verdict(w io.Writer, found *diagnose.Diagnosis) { finding(&table{w: w}, "verdict", found.Verdict) }
