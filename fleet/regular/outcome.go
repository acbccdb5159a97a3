package regular

import (
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Outcome is what the record lists of an experiment: between whom, and what they came to together or,
// where each sent to each or ways were dealt with one by one, what is usual.
func Outcome(r *fleet.Result) record.Outcome {
	if r == nil {
		return record.Outcome{}
	}
	all := unit.Count(len(r.Hosts), "host")
	o := record.Outcome{From: all, To: "each other"}
	if len(r.Rounds) > 0 && len(r.Rounds[0].Flows) > 0 {
		first := r.Rounds[0].Flows[0]
		switch r.Pattern {
		case "incast":
			o.From, o.To = unit.Count(len(r.Hosts)-1, "host"), r.Host(first.To)
		case "fan-out":
			o.From, o.To = r.Host(first.From), unit.Count(len(r.Hosts)-1, "host")
		case fleet.Rehearsal:
			o.To = "nobody"
		case fleet.Requests:
			o.To = "a server of NFS"
		}
		if t := r.Rounds[len(r.Rounds)-1].Together; t != nil {
			o.Goodput = unit.Rate(t.Goodput)
		}
	}
	if len(r.Reports) > 0 && o.Goodput == 0 {
		var each []float64
		for _, t := range r.Reports {
			each = append(each, t.Goodput)
		}
		o.Goodput = unit.Rate(stat.Median(each))
	}
	if r.Mesh != nil {
		o.Goodput = unit.Rate(r.Mesh.Goodput.Usual())
	}
	for _, c := range r.Causes {
		if c.Finding != nil {
			o.Verdict = c.Cause
			break
		}
	}
	return o
}
