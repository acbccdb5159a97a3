// Package diagnose reads the evidence of both ends and names what limits a
// transfer. Every cause stands in a file of its own.
package diagnose

import (
	"cmp"
	"slices"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// Evidence is everything known about one direction of one transfer.
type Evidence struct {
	Direction    bulk.Direction // Forward or Reverse
	Path         *path.Estimate // nil: not probed
	Transfer     *bulk.Result
	SenderHost   *host.Facts // nil: the far end does not tell
	ReceiverHost *host.Facts
}

// Finding is a cause, how sure it is, and what follows.
type Finding struct {
	Cause      string    `json:"cause"`      // identifier, see Causes
	Confidence float64   `json:"confidence"` // 0..1
	Says       string    `json:"says"`       // two sentences for a person
	Evidence   []Fact    `json:"evidence"`
	Action     string    `json:"action"`         // what to do about it
	Gain       float64   `json:"predicted_gain"` // factor on goodput if the action is taken; 1: none
	Predicted  unit.Rate `json:"predicted_bps,omitempty"`

	weight float64 // share of the time (0..1) in which this was what held the sender back
}

// Fact is one number that a finding rests on.
type Fact struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Says  string  `json:"says"` // what the number means here
}

// Diagnosis is all findings, the limiting one first.
type Diagnosis struct {
	Verdict  Finding   `json:"verdict"`
	Findings []Finding `json:"findings"`
}

// Doubtful is the confidence below which a finding is listed but is not made
// the verdict.
const Doubtful = 0.5

// worthwhile is the predicted gain from which a limit matters although the path
// is as good as full: less is within the error of a capacity estimate.
const worthwhile = 1.05

// A cause looks at the evidence for one limit. It returns nil when the evidence
// does not point there.
type cause func(*view) *Finding

var causes = []cause{receiverBuffer, windowScale, senderBuffer, slowReceiver, slowSender, randomLoss, pathCapacity, shortTransfer}

// Diagnose names what limits a transfer in one direction. It always returns a
// verdict: Unknown where the evidence fits no cause, with what there is.
func Diagnose(e *Evidence) Diagnosis {
	d := Diagnosis{Findings: []Finding{}}
	v := newView(e)
	if v.goodput <= 0 || v.rtt <= 0 {
		d.Verdict = unmeasured(v)
		return d
	}
	for _, look := range causes {
		if f := look(v); f != nil {
			d.Findings = append(d.Findings, *f)
		}
	}
	slices.SortStableFunc(d.Findings, func(a, b Finding) int {
		return cmp.Compare(b.weight*b.Confidence, a.weight*a.Confidence)
	})
	d.Verdict = verdict(v, d.Findings)
	return d
}

// verdict picks the finding that limits most now. A full bottleneck comes first
// unless another limit is surely worth lifting.
func verdict(v *view, findings []Finding) Finding {
	var first *Finding
	for i := range findings {
		f := &findings[i]
		if f.Confidence < Doubtful {
			continue
		}
		if f.Cause == PathCapacity && v.atCapacity() {
			if first == nil || first.Gain < worthwhile {
				f.Cause = Healthy
				return *f
			}
		}
		if first == nil {
			first = f
		}
	}
	if first == nil {
		return unknown(v, findings)
	}
	return *first
}
