package diagnose

import (
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// bloat is the time in a queue from which it is out of proportion, if it is also
// nearly twice the path's own round trip. People notice 100 ms, and a queue of one
// bandwidth-delay product, which takes one round trip more, is what routers were
// long built with (Villamizar and Song, CCR 24, 1994): twice that is too much. A
// little less is asked for of both, since a flow does not keep the queue full all
// the time.
const (
	bloat       = 80 * time.Millisecond
	bloatedTrip = 1.8
)

// bufferbloat: the path is full, and its queue makes everything on it wait.
func bufferbloat(v *view) *Finding {
	if v.short(v.goodput) || !v.bloated() {
		return nil
	}
	longest := v.depth()
	limit, _ := v.pathLimit()
	queue := limit.BytesIn(longest - v.minRTT)
	f := &Finding{
		Cause: Bufferbloat, Gain: 1, Predicted: v.goodput,
		Confidence: confidence(2+count(longest > 4*v.minRTT, longest-v.minRTT > 2*bloat), 0),
		Says: fmt.Sprintf("The path is full, at %v, and its queue is so long that a round trip takes %s instead of %s under this load. Calls, shells and web pages on the same path wait as long.",
			v.goodput, unit.Milliseconds(longest), unit.Milliseconds(v.minRTT)),
		Action: "let the bottleneck manage its queue (fq_codel, cake, ECN marks); or send with bbr, or paced a little below the capacity, which leaves the queue empty",
		weight: 1,
	}
	f.addGoodput(v)
	f.Add("rtt_loaded", milliseconds(longest), "ms", "round trip of %s when the queue is at its longest", unit.Milliseconds(longest))
	f.Add("rtt_idle", milliseconds(v.minRTT), "ms", "%s without a queue", unit.Milliseconds(v.minRTT))
	f.Add("queue", float64(queue), "B", "that is a queue of %v", queue)
	f.Add("bdp", float64(limit.BytesIn(v.minRTT)), "B", "bandwidth-delay product: %v, which would be enough", limit.BytesIn(v.minRTT))
	f.addTrials(v, TrialDepth)
	return f
}

// depth is the longest round trip that was seen under this or a trial's load.
func (v *view) depth() time.Duration {
	longest := v.deepest()
	if t := v.trial(TrialDepth); t != nil {
		whole := slices.Clone(t.senders)
		for i := range whole { // its slow start is what fills the queue
			whole[i].measured = whole[i].Samples
		}
		longest = max(longest, deepestOf(whole))
	}
	return longest
}

// bloated says whether that is out of proportion.
func (v *view) bloated() bool {
	waits := v.depth() - v.minRTT
	return waits > bloat && float64(waits) > bloatedTrip*float64(v.minRTT)
}
