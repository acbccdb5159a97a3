package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/unit"
)

// Diagnosis writes what limits a path, for a terminal of 80 columns: the verdict
// in plain words, how it compares with what each part allows, the evidence, the
// trials that were run, what to do, what the next measurement should show then,
// and what else was found.
func Diagnosis(w io.Writer, x *examine.Examination, style Style) {
	s := &sheet{w: w, style: style}
	e, d := &x.Evidence, &x.Diagnosis
	if way := e.Path.Way(e.Direction == bulk.Reverse); way != nil {
		s.row("path", fmt.Sprintf("RTT %s, capacity %s, holds %s",
			unit.Milliseconds(e.Path.RTT.Min), way.Capacity, e.Path.BDP(*way)))
	}
	if e.Transfer != nil {
		s.row("goodput", e.Transfer.Goodput(e.Direction).String())
	}
	if e.Failed != "" {
		s.row("failed", "the transfer ended early: "+e.Failed)
	}
	s.verdict(d.Verdict)
	s.ceilings(diagnose.Ceilings(e))
	s.facts(d.Verdict.Evidence)
	for i := range e.Trials {
		s.trial(i, &e.Trials[i])
	}
	s.untried(x)
	s.todo(d.Verdict)
	s.others(d)
	s.row("more", "fullbore diagnose --explain "+d.Verdict.Cause)
	s.row("traffic", fmt.Sprintf("%.1f s of transfers, %v", x.Spent.Time.Seconds(), unit.Size(x.Spent.Bytes)))
}

func (s *sheet) verdict(f diagnose.Finding) {
	s.gap()
	mark := s.style.yellow
	if f.Cause == diagnose.Healthy {
		mark = s.style.green
	}
	s.marked("verdict", examine.Sure(&f), func(line string) string { return s.style.bold(mark(line)) })
	s.row("", f.Says)
}

// todo is the action, and what can be expected of it.
func (s *sheet) todo(f diagnose.Finding) {
	if f.Action == "" {
		return
	}
	s.gap()
	s.marked("do", sentence(f.Action), s.style.bold)
	if f.Predicted <= 0 || f.Gain <= 1 {
		return
	}
	what := ""
	for _, fact := range f.Evidence {
		if fact.Name == predicted {
			_, says := meaning(fact)
			says = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(says, "expected "), "expected: "), "after that, ")
			if what = " " + says; strings.HasPrefix(says, "then ") {
				what = ", " + says
			}
		}
	}
	s.row("then", fmt.Sprintf("The next measurement should show %v (%s)%s.", f.Predicted, unit.Factor(f.Gain), what))
}

// full are the verdicts that say themselves that the path is full.
var full = []string{diagnose.Healthy, diagnose.Bufferbloat}

// others are the findings that do not limit most, one line each if they fit.
func (s *sheet) others(d *diagnose.Diagnosis) {
	n := 0
	for _, f := range d.Findings {
		if f.Cause == d.Verdict.Cause || f.Cause == diagnose.PathCapacity && slices.Contains(full, d.Verdict.Cause) {
			continue
		}
		if n == 0 {
			s.gap()
		}
		text := examine.Found(&f)
		if f.Gain > 1 && f.Predicted > 0 {
			text += fmt.Sprintf(", %v without it", f.Predicted)
		}
		s.row(first(n, "also"), text+": --explain "+f.Cause)
		n++
	}
	if n == 0 {
		s.gap()
	}
}

// sentence begins with a capital and ends with a full stop, unless it begins
// with a name that has none.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if word, _, _ := strings.Cut(text, " "); !strings.ContainsAny(word, "._=:") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return strings.TrimSuffix(text, ".") + "."
}

// Verdict writes the limiting finding alone: what it is, its evidence, and what to
// do.
func Verdict(w io.Writer, found *diagnose.Diagnosis, style Style) {
	s := &sheet{w: w, style: style}
	s.verdict(found.Verdict)
	s.facts(found.Verdict.Evidence)
	s.todo(found.Verdict)
	s.gap()
}
