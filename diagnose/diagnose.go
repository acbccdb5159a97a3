// Package diagnose reads the evidence of both ends and names what limits a
// transfer. Every cause stands in a file of its own.
package diagnose

import (
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
