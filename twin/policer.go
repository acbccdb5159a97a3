package twin

import (
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// policer: a token bucket lets no more through, in any stretch of time, than its depth
// and what its rate makes in that time. So its rate is what lasting transfers come to,
// and its depth the most by which any stretch of one was above that.
func (b *builder) policer(name string) {
	f := b.has(diagnose.Policer)
	if f == nil {
		return
	}
	var reached []float64
	for _, m := range b.moved {
		if r := sound(m.carried()); r > 0 {
			reached = append(reached, float64(r))
		}
	}
	if len(reached) == 0 {
		return
	}
	// What backs off for loss falls short of it, and the bucket was empty when the
	// measured time began, or nearly so: the best came nearest.
	through := unit.Rate(slices.Max(reached))
	mtu := float64(b.mtu())
	depth := b.bucket(float64(through))
	b.set(Key{
		How: Inferred, Low: unit.Rate(stat.Median(reached)).String(), High: (through * 1.03).String(),
		Why: fmt.Sprintf("the most that a lasting transfer came to, with its headers; %s above that in any short stretch of one, which is the bucket's least depth", unit.Size(depth)),
	}, fmt.Sprintf("{rate: %s, burst: %s}", rate(through), size(max(depth, 4*mtu), 2*mtu)), "path", name, "policer")
}

// stretch is how long the stretches are in which the bucket's depth shows: ten round
// trips at least. In longer ones the error of the rate adds up.
const stretch = 500 * time.Millisecond

// bucket is the most bytes that arrived in any short stretch of any transfer beyond what
// the rate makes in that time.
func (s *seen) bucket(rate float64) float64 {
	most, longest := 0.0, max(stretch, time.Duration(10*s.base.value))
	for _, m := range s.moved {
		bytes, _ := m.packet()
		for i := range m.steps {
			above := 0.0
			for _, step := range m.steps[i:] {
				if step.to-m.steps[i].from > longest {
					break
				}
				above += step.delivered*bytes - rate/8*(step.to-step.from).Seconds()
				most = max(most, above)
			}
		}
	}
	return most
}
