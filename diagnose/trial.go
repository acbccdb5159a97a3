package diagnose

import (
	"slices"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Trial is a discriminating transfer: it differs in one thing from the transfer
// under examination, because the causes in question predict different outcomes.
type Trial struct {
	Kind    TrialKind     `json:"kind"`
	Why     string        `json:"why"`  // the question that it answers
	Spec    bulk.Spec     `json:"spec"` // Omit and Duration are chosen when it is run
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

// trial is what a trial showed; nil if it was not run or moved nothing. All who
// ask get the same view, and leave it as it is.
func (v *view) trial(kind TrialKind) *view {
	if tried, asked := v.tried[kind]; asked {
		return tried
	}
	if v.tried == nil {
		v.tried = map[TrialKind]*view{}
	}
	v.tried[kind] = v.findTrial(kind)
	return v.tried[kind]
}

func (v *view) findTrial(kind TrialKind) *view {
	for i := range v.Trials {
		t := &v.Trials[i]
		if t.Kind != kind || t.Result == nil {
			continue
		}
		e := *v.Evidence
		e.Transfer, e.Trials, e.Failed = t.Result, nil, t.Failed
		if tried := newView(&e); tried.goodput > 0 && tried.rtt > 0 {
			tried.minRTT = min(tried.minRTT, v.minRTT)
			tried.judge(ends)
			return tried
		}
	}
	return nil
}

// ran says whether a trial was run, whatever came of it.
func (v *view) ran(kind TrialKind) bool {
	return slices.ContainsFunc(v.Trials, func(t Trial) bool { return t.Kind == kind })
}

// addTrials adds what the trials showed that bear on a finding.
func (f *Finding) addTrials(v *view, kinds ...TrialKind) {
	for _, kind := range kinds {
		if t := v.trial(kind); t != nil {
			f.Add("trial_"+string(kind), float64(t.goodput), "b/s", "%s: %v, %s of it sent again",
				t.describe(kind), t.goodput, percent(t.loss.share))
		}
	}
}

func (v *view) describe(kind TrialKind) string {
	switch kind {
	case TrialPaced:
		return "paced at " + v.Transfer.Spec.Pace.String()
	case TrialStreams:
		return "with several connections"
	case TrialCongestion, TrialDepth:
		return "with " + v.congestion()
	case TrialSegment:
		return "with small segments"
	case TrialAgain:
		return "measured again"
	}
	return "measured longer"
}
