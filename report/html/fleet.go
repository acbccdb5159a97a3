package html

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/unit"
)

// fleet is an experiment over many hosts, with what was found to have moved to another level after it.
func (s *summary) fleet(r *fleet.Result, shifts []record.Shift, l limits, clean func(string) string) {
	s.Before = ""
	if r.Pattern == fleet.Rehearsal {
		s.Headline = "a rehearsal, without traffic"
	}
	if n := len(r.Reports); n > 0 {
		switch r.Kind {
		case job.Tuning:
			s.Headline = unit.Count(n, "way") + " tuned"
		case job.Sweep:
			s.Headline = "an experiment on " + unit.Count(n, "way")
		}
	}
	label := ""
	rows := report.FleetRows(r)
	for i := range shifts {
		rows = append(rows, report.FleetRow{Label: "moved", Text: shifts[i].String()})
	}
	for _, row := range rows {
		switch {
		case row.Label == "sick" && s.Headline == "":
			s.Headline, s.Tone = "nothing is sick", "good"
			if hosts, links := len(r.Sick.Hosts), len(r.Sick.Links); hosts+links > 0 {
				var sick []string
				if hosts > 0 {
					sick = append(sick, unit.Count(hosts, "sick host"))
				}
				if links > 0 {
					sick = append(sick, unit.Count(links, "sick link"))
				}
				s.Headline, s.Tone = strings.Join(sick, " and "), "bad"
			}
		case row.Label == "together" && s.Headline == "":
			s.Headline = clean(row.Text[:strings.Index(row.Text+" in ", " in ")] + " together")
		}
		if len(s.Facts) == l.list {
			s.Left++
			continue
		}
		if row.Label != "" { // else it goes on
			label = row.Label
		}
		s.fact(label, clean(row.Text))
	}
}

// fleet are the figures of an experiment over many hosts: who got how much from whom, or, where they ran
// together, what each got.
func (g *gallery) fleet(r *fleet.Result) {
	if r.Mesh != nil {
		grid := &figure.Grid{
			Title: "Who gets how much from whom", Says: "A host that is not like the others is a stripe, a link is a dot.", Name: "goodput", Of: figure.Rate,
			Names: r.Hosts, Values: r.Mesh.Goodput, Marked: func(from, to int) bool { return suspect(r, from, to) },
		}
		g.add(grid.Draw())
		return
	}
	if len(r.Reports) > 0 { // way by way: one figure of all
		var all fleet.Round
		for i := range r.Rounds {
			all.Flows = append(all.Flows, r.Rounds[i].Flows...)
		}
		g.rows(shares(r, &all))
		return
	}
	for i := range r.Rounds {
		g.rows(shares(r, &r.Rounds[i]))
	}
}

// suspect says whether a flow is of what was named.
func suspect(r *fleet.Result, from, to int) bool {
	if r.Sick == nil || from == to {
		return false
	}
	for _, l := range r.Sick.Links {
		if l.Flow == (pattern.Flow{From: from, To: to}) {
			return true
		}
	}
	for _, h := range r.Sick.Hosts {
		if h.Has(from, to) {
			return true
		}
	}
	return false
}

// shares are what the flows of a round got, and how much of all that was; nil: nothing was sent.
func shares(r *fleet.Result, round *fleet.Round) *figure.Rows {
	rows := &figure.Rows{Title: "What each flow got", X: figure.Axis{Name: "goodput", Of: figure.Rate}}
	if t := round.Together; t != nil {
		rows.Says = fmt.Sprintf("%v together, fairness %.2f (1: all get the same).", unit.Rate(t.Goodput), t.Fairness)
	}
	for _, f := range round.Flows {
		row := figure.Row{Name: r.Flow(f.From, f.To), Typical: f.Goodput, From: nan}
		switch {
		case f.Error != "":
			row.Note, row.Typical = "failed: "+f.Error, nan
		case f.Share > 0:
			row.Note = unit.Percent(f.Share) + " of all"
		}
		rows.Rows = append(rows.Rows, row)
	}
	if !slices.ContainsFunc(rows.Rows, func(row figure.Row) bool { return row.Typical > 0 }) {
		return nil
	}
	return rows
}
