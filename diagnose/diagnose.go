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
	Direction    bulk.Direction `json:"direction"`      // Forward or Reverse
	Path         *path.Estimate `json:"path,omitempty"` // nil: not probed
	Transfer     *bulk.Result   `json:"transfer"`
	SenderHost   *host.Facts    `json:"sender_host,omitempty"`   // nil: the far end does not report it
	ReceiverHost *host.Facts    `json:"receiver_host,omitempty"` // nil as well
	Failed       string         `json:"failed,omitempty"`        // why the transfer ended early, "" if it did not: what was measured until then is in Transfer
	Trials       []Trial        `json:"trials,omitempty"`        // that were run since, in their order
	Passing      *Passing       `json:"-"`                       // nil: of a transfer of fullbore's own
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

	// What others calculate with is here and not only in the words of the evidence;
	// 0: this finding does not rest on it.
	PathGoodput unit.Rate `json:"-"` // what the path can carry
	LossLimit   unit.Rate `json:"-"` // what the congestion control reaches with the loss seen
	CPUQuota    float64   `json:"-"` // cores that the host's control group may use

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

	// Next is the trial that would say most about the verdict; nil if none can
	// change it.
	Next *Trial `json:"-"`
}

// Doubtful is the confidence below which a finding is listed but is not made
// the verdict.
const Doubtful = 0.5

// worthwhile is the predicted gain from which a limit matters although the path
// is as good as full: less is within the error of a capacity estimate.
const worthwhile = 1.05

// atAnyRate are the causes that are worth a verdict although the path is full.
var atAnyRate = []string{Bufferbloat, SmallMSS, PacingCap}

// Diagnose names what limits a transfer in one direction. It always returns a
// verdict: Unknown where the evidence fits no cause, with what there is.
func Diagnose(e *Evidence) Diagnosis {
	v := newView(better(e))
	if v.goodput <= 0 || v.rtt <= 0 {
		return v.unmoved()
	}
	v.judge(ends)
	v.beneath = v.underneath()
	v.judge(between)
	d := Diagnosis{Findings: append([]Finding{}, v.findings...)}
	if f := v.beneath; f != nil && v.found(f.Cause) == nil {
		d.Findings = append(d.Findings, *f)
	}
	inOrder(d.Findings)
	d.Verdict = verdict(v, d.Findings)
	d.Next = v.next(d.Verdict)
	return d
}

// inOrder puts the finding first that held the sender back for most of the time,
// weighted by how sure it is.
func inOrder(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Compare(b.weight*b.Confidence, a.weight*a.Confidence)
	})
}

// unmoved is the diagnosis of a transfer that moved nothing, or of which no sample
// has a round-trip time.
func (v *view) unmoved() Diagnosis {
	d := Diagnosis{Findings: []Finding{}}
	if v.Transfer != nil {
		v.judge(slices.DeleteFunc(slices.Clone(between), func(r rule) bool { return r.cause != MTUBlackHole }))
	}
	if len(v.findings) == 0 {
		d.Verdict = unmeasured(v)
		return d
	}
	d.Findings, d.Verdict = v.findings, v.findings[0]
	d.Next = v.next(d.Verdict)
	return d
}

// better is the evidence with another transfer in the first one's place: one that
// was given more time, since its windows had opened further; or a repetition that
// was faster, since what disturbed the first is not part of the path.
func better(e *Evidence) *Evidence {
	if e == nil || e.Transfer == nil {
		return e
	}
	best := *e
	for _, t := range e.Trials {
		if t.Result == nil || t.Failed != "" {
			continue
		}
		reached := t.Result.Goodput(e.Direction)
		if t.Kind == TrialLonger && reached > 0 || t.Kind == TrialAgain && reached > best.Transfer.Goodput(e.Direction) {
			best.Transfer = t.Result
		}
	}
	return &best
}

// verdict picks the finding that limits most now: the first that is not doubtful.
// A path that is full is healthy, unless another limit is surely worth lifting, or
// something is amiss although it is full.
func verdict(v *view, findings []Finding) Finding {
	var first, amiss, full *Finding
	for i := range findings {
		f := &findings[i]
		switch {
		case f.Confidence < Doubtful:
			continue
		case f.Cause == PathCapacity && (v.atCapacity() || v.noMore()):
			full = f
			continue
		case slices.Contains(atAnyRate, f.Cause) && amiss == nil:
			amiss = f
		}
		if first == nil {
			first = f
		}
	}
	switch {
	case full != nil && (first == nil || first.Gain < worthwhile):
		if amiss != nil {
			return *amiss
		}
		full.Cause = Healthy
		return *full
	case first == nil && full == nil:
		return unknown(v, findings)
	}
	return *first
}
