package flow

import (
	"fmt"
	"math"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// found begins a finding with the facts that all have.
func (v *view) found(cause string, confidence float64, action, format string, args ...any) *diagnose.Finding {
	f := &diagnose.Finding{
		Cause: cause, Confidence: confidence, Says: fmt.Sprintf(format, args...), Action: action,
		Gain: 1, Evidence: make([]diagnose.Fact, 0, 10),
	}
	way := "was acknowledged"
	if !v.flow.Sends {
		way = "arrived"
	}
	f.Add("goodput", float64(v.goodput), "b/s", "%v %s, over %.3g s", v.goodput, way, v.elapsed.Seconds())
	if v.rtt > 0 {
		least := ""
		if v.minRTT > 0 {
			least = fmt.Sprintf(", %s at least", unit.Milliseconds(v.minRTT))
		}
		f.Add("rtt", float64(v.rtt)/float64(time.Millisecond), "ms", "round trip of %s%s", unit.Milliseconds(v.rtt), least)
	}
	return f
}

// predict says what the action brings, and what that rests on.
func (v *view) predict(f *diagnose.Finding, rate unit.Rate, rests string) *diagnose.Finding {
	if v.goodput <= 0 || rate <= v.goodput || math.IsInf(float64(rate), 0) {
		return f
	}
	f.Predicted, f.Gain = rate, float64(rate)/float64(v.goodput)
	f.Add("predicted_goodput", float64(rate), "b/s", "%v expected: %s", rate, rests)
	return f
}

// sure weighs independent signs as package diagnose does: one strong sign is as
// likely right as wrong, every further one that agrees halves the doubt. What is
// seen from one end only, in passing, is never more than 0.95 sure.
func sure(signs ...bool) float64 {
	doubt := 0.5
	for _, s := range signs {
		if s {
			doubt /= 2
		}
	}
	return min(0.95, math.Round(100*(1-doubt))/100)
}
