package twin

import (
	"fmt"
	"math"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// traffic is what others send, if they were seen. How many flows they are follows from
// the share that this transfer got: of equal flows at one bottleneck each gets the
// same (Jain, The Art of Computer Systems Performance Analysis, 1991: a fair share).
func (b *builder) traffic() {
	if b.has(diagnose.CompetingTraffic) == nil {
		b.lack("what others send over the path: none was seen to take a part of it")
		return
	}
	var all []float64
	for _, m := range b.plainOnes() {
		if own := float64(m.carried()); own > 0 && len(m.senders) == len(b.moved[0].senders) {
			n := float64(len(m.senders))
			all = append(all, n*(float64(b.rates[0].rate)/own-1))
		}
	}
	if len(all) == 0 {
		return
	}
	flows := typical(all)
	n := int(clamp(math.Round(flows.value), 1, 64))
	limit := b.rates[0].rate
	b.set(Key{
		How: Inferred, Low: fmt.Sprintf("%.0f", clamp(math.Floor(flows.low), 1, 64)), High: fmt.Sprintf("%.0f", clamp(math.Ceil(flows.high), 1, 64)),
		Why: fmt.Sprintf("flows that would leave %s of %s to this transfer, if all get the same", b.before, unit.Rate(limit)),
	}, fmt.Sprintf("[{from: a, to: b, flows: %d, start: 0s}]", n), "traffic")
}
