package diagnose

import (
	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Trial is a discriminating transfer: it differs in one thing from the transfer
// under examination, because the causes in question predict different outcomes.
type Trial struct {
	Kind    TrialKind     `json:"kind"`
	Why     string        `json:"why"`  // the question that it answers
	Spec    bulk.Spec     `json:"spec"` // Omit and Duration are chosen by who runs it
	Expects []Expectation `json:"expects"`
	Result  *bulk.Result  `json:"result,omitempty"` // nil: not run yet
	Failed  string        `json:"failed,omitempty"` // why it ended early
}

// TrialKind says in what a trial differs.
type TrialKind string

// The kinds of trials.
const (
	TrialPaced      TrialKind = "paced"      // evenly, and below the path's capacity: loss that remains is no queue's doing
	TrialStreams    TrialKind = "streams"    // several connections: limits of one connection add up, those of the path do not
	TrialCongestion TrialKind = "congestion" // another congestion control
	TrialSegment    TrialKind = "segment"    // small segments
	TrialAgain      TrialKind = "again"      // nothing: what chance did once it does not do twice
	TrialLonger     TrialKind = "longer"     // more time for windows to open
	TrialDepth      TrialKind = "depth"      // a congestion control that fills the bottleneck's queue at once
)

// Expectation is what one cause predicts of a trial, before it is run.
type Expectation struct {
	Cause   string    `json:"cause"`
	Goodput unit.Rate `json:"goodput_bps"`
	Says    string    `json:"says"`
}
