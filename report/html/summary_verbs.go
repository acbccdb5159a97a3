package html

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/unit"
)

func (s *summary) diagnosis(d *diagnosis, l limits, clean func(string) string) {
	s.finding(&d.Verdict, l, clean)
	s.Before = unit.Rate(d.Goodput).String()
	s.Action = sentence(clean(d.Verdict.Action))
	if d.Failed != "" {
		s.warn(clean("The transfer ended early: " + d.Failed))
	}
	if d.Error != "" {
		s.warn(clean(sentence(d.Error)))
	}
	if d.Verdict.Predicted > 0 && d.Verdict.Gain > 1 {
		s.Note = fmt.Sprintf("With that the next measurement should show %v (%s).", d.Verdict.Predicted, unit.Factor(d.Verdict.Gain))
	}
	for _, f := range d.Findings {
		if f.Cause != d.Verdict.Cause && f.Confidence >= diagnose.Doubtful && len(s.Facts) < l.list {
			s.fact("also", clean(examine.Found(&f)+": "+f.Says))
		}
	}
	trials, left := first(d.Trials, l.list)
	s.Left += left
	for _, t := range trials {
		came := fmt.Sprintf("%v, %s sent again", t.Goodput, unit.Percent(t.Repeated))
		if t.Failed != "" {
			came = "failed: " + t.Failed
		}
		s.fact("trial, "+clean(t.Kind), clean(t.Why+" "+came))
	}
	s.path(d.Path, d.Direction == bulk.Reverse)
}

func (s *summary) test(t *tested, clean func(string) string) {
	if t.Error != "" {
		s.warn(clean(sentence(t.Error)))
	}
	if r := t.Fullbore.Repeat; r != nil && r.Goodput.Interval != nil {
		s.Note = fmt.Sprintf("Median of %s; the 95 %% interval is %v to %v.", unit.Count(r.Runs, "run"), unit.Rate(r.Goodput.Interval.Low), unit.Rate(r.Goodput.Interval.High))
		s.Before = unit.Rate(r.Goodput.Median).String()
	}
	if s.Before != "" {
		s.Headline, s.Before = s.Before, ""
	}
}

func (s *summary) compare(d *experiment.ABDocument, clean func(string) string) {
	if d.Error != "" {
		s.warn(clean(sentence(d.Error)))
	}
	s.Before = ""
	if d.Comparison == nil {
		return
	}
	s.Headline = clean(d.Goodput.Says)
	if d.A.Summary != nil && d.B.Summary != nil {
		s.Before, s.After = "A "+unit.Rate(d.A.Goodput.Median).String(), "B "+unit.Rate(d.B.Goodput.Median).String()
	}
	s.Gain = fmt.Sprintf("%s (95 %%: %s to %s)", unit.Factor(d.Goodput.Ratio.Gain), unit.Factor(d.Goodput.Ratio.Low), unit.Factor(d.Goodput.Ratio.High))
	s.Note = fmt.Sprintf("%s of each, in turns (%s, seed %d).", unit.Count(d.Rounds, "run"), clean(d.Order), d.Seed)
	s.fact("A", clean(cmp.Or(d.A.Args, "no flags")))
	s.fact("B", clean(cmp.Or(d.B.Args, "no flags")))
	for _, p := range d.Processor {
		for _, m := range experiment.Measures {
			if m.End == p.End && m.Of == p.Of {
				s.fact("processor time of "+m.Name, clean(p.Says))
			}
		}
	}
}

func (s *summary) sweep(d *swept, clean func(string) string) {
	s.Headline = clean(cmp.Or(d.Experiment, "sweep"))
	s.Says, s.Before = clean(d.Says), ""
	if d.Error != "" {
		s.warn(clean(sentence(d.Error)))
	}
	s.fact("about", clean(d.About))
	if d.Enough != nil {
		s.fact("enough", clean(fmt.Sprintf("%s %s: %s", d.Enough.Factor, d.written(d.Enough.Factor, d.Enough.Value), d.Enough.Why)))
	}
	if d.Law != nil {
		s.fact("law", clean(strings.TrimSuffix(fmt.Sprintf("%s, %s (%s)", d.Law.Name, d.Law.Formula, d.Law.Source), " ()")))
		s.fact("law and data", clean(d.Law.Says))
	}
	s.fact("plan", clean(fmt.Sprintf("%s, %s of every point in an order drawn anew for each (seed %d)", d.Plan, unit.Count(d.Blocks, "block"), d.Seed)))
	s.fact("traffic", fmt.Sprintf("%s, %.0f s, %s", unit.Count(d.Spent.Transfers, "transfer"), d.Spent.Seconds, d.Spent.Bytes))
}
