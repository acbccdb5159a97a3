package plan

import (
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// Given is a path that somebody describes instead of measuring it: its rate, its
// round trip, and the largest packet that passes (0: not known), both ways alike.
func Given(rate unit.Rate, rtt time.Duration, mtu int) *path.Estimate {
	const how = "given"
	way := path.Direction{
		MTU:      path.MTU{Bytes: mtu, Link: mtu, Method: how},
		Capacity: path.Capacity{Rate: rate, Low: rate, High: rate, Method: how},
	}
	return &path.Estimate{
		RTT:     path.RTT{Min: rtt, Median: rtt, Max: rtt, Method: how},
		Forward: way, Reverse: way,
	}
}

// Assumed is a diagnosis that somebody states instead of measuring it: one cause
// (see diagnose.Causes), taken for sure.
func Assumed(cause string) *diagnose.Diagnosis {
	f := diagnose.Finding{Cause: cause, Confidence: 1, Evidence: []diagnose.Fact{}, Gain: 1}
	return &diagnose.Diagnosis{Verdict: f, Findings: []diagnose.Finding{f}}
}
