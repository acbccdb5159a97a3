package diagnose

import (
	"slices"
)

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
