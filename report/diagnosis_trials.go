package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// trial writes the question that a trial was to answer, what each cause in
// question predicted of it, and what came out.
func (s *sheet) trial(i int, t *diagnose.Trial) {
	s.gap()
	s.row(first(i, "trials"), t.Why)
	for _, e := range t.Expects {
		s.outcome(e.Cause, e.Goodput, e.Says)
	}
	if t.Failed != "" {
		s.row("", "It failed: "+t.Failed)
		return
	}
	says := fmt.Sprintf("%.2g %% of it sent again", 100*examine.Repeated(t.Result, t.Spec.Direction))
	if fit := fitting(t.Expects, examine.Goodput(t)); fit != "" {
		says += "; " + fit
	}
	s.outcome("measured", examine.Goodput(t), says)
}

// outcome is one line of what was predicted, or of what came out.
func (s *sheet) outcome(who string, rate unit.Rate, says string) {
	head := fmt.Sprintf("  %-17s %9s  ", printable.Line(who), rate)
	for i, line := range printable.Wrap(printable.Line(says), columns-labels-len(head)) {
		if i > 0 {
			head = strings.Repeat(" ", len(head))
		}
		if who == "measured" {
			s.line("", s.style.bold(head+line))
		} else {
			s.line("", head+line)
		}
	}
}

// fitting names the causes whose prediction came true, to within a third, or
// else came nearest; empty where the goodput does not distinguish them.
func fitting(expects []diagnose.Expectation, measured unit.Rate) string {
	off := func(e diagnose.Expectation) float64 { return math.Abs(math.Log(float64(measured / e.Goodput))) }
	nearest, says := math.Inf(1), "nearest to "
	for _, e := range expects {
		nearest = min(nearest, off(e))
	}
	if nearest < math.Log(4.0/3) {
		nearest, says = math.Log(4.0/3), "as predicted by "
	}
	var right []string
	for _, e := range expects {
		if off(e) <= nearest {
			right = append(right, e.Cause)
		}
	}
	if len(right) == 0 || len(right) == len(expects) || measured <= 0 {
		return ""
	}
	return says + strings.Join(right, " and ")
}

// untried is the trial that the budget or --quick did not allow.
func (s *sheet) untried(x *examine.Examination) {
	if next := x.Untried(); next != nil {
		s.gap()
		label := "not tried"
		if v := &x.Diagnosis.Verdict; v.Confidence < examine.Unsure {
			label = "would tell"
		}
		s.row(label, next.Why)
		s.row("", "This could change the verdict. A larger --budget allows it; --quick never does.")
	}
}
