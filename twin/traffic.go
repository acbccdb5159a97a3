package twin

import (
	"fmt"
	"math"
	"slices"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// traffic is what others send, if they were seen. How many flows they are follows from
// the share that this transfer got: of equal flows at one bottleneck each gets the
// same once shares have settled (Chiu and Jain, Computer Networks and ISDN Systems 17, 1989),
// so that the second half of a transfer counts.
func (b *builder) traffic() {
	if b.has(diagnose.CompetingTraffic) == nil {
		b.lack("what others send over the path: none was seen to take a part of it")
		return
	}
	var all []float64
	for _, m := range b.plainOnes() {
		if own := m.lately(); own > 0 && len(m.senders) == len(b.moved[0].senders) {
			n := float64(len(m.senders))
			all = append(all, n*(float64(b.rates[0].rate)/own-1))
		}
	}
	if len(all) == 0 {
		return
	}
	flows := typical(all)
	n := int(clamp(math.Round(flows.value), 1, 64))
	if b.moved[0].gentle() {
		// The overshoot of its slow start takes packets of all flows, so that one that has
		// just begun has more than its share: there are rather more of the others.
		n = int(clamp(math.Ceil(flows.value-0.1), 1, 64))
	}
	limit := b.rates[0].rate
	b.set(Key{
		How: Inferred, Low: fmt.Sprintf("%.0f", clamp(math.Floor(flows.low), 1, 64)), High: fmt.Sprintf("%.0f", clamp(math.Ceil(flows.high), 1, 64)),
		Why: fmt.Sprintf("flows that would leave %s of %s to this transfer, if all get the same", b.before, unit.Rate(limit)),
	}, fmt.Sprintf("[{from: a, to: b, flows: %d, start: 0s}]", n), "traffic")
}

// lately is the rate of packets delivered in the second half of a transfer.
func (m *moved) lately() float64 {
	bytes, _ := m.packet()
	half := m.steps[len(m.steps)/2:]
	delivered := 0.0
	for _, step := range half {
		delivered += step.delivered
	}
	return delivered * bytes * 8 / (half[len(half)-1].to - half[0].from).Seconds()
}

// lacks says what else limited and cannot be built.
func (b *builder) lacks() {
	for cause, why := range map[string]string{
		diagnose.ApplicationWindow: "the application's own window: fullbore's transfers have none",
		diagnose.DuplexMismatch:    "the duplex mismatch: only what it lost is there",
		diagnose.MemoryPressure:    "the memory for all of TCP (tcp_mem): it is a whole machine's",
	} {
		if b.has(cause) != nil {
			b.lack("%s", why)
		}
	}
	for _, m := range b.plainOnes() {
		if most := m.last().MaxPacingRate; b.has(diagnose.PacingCap) != nil && shaper(b.a, b.used(true)) == 0 && most > 0 {
			b.lack("the pacing rate that the application set on its sockets: the lab has no key for it")
			break
		}
	}
	slices.Sort(b.t.Lacks)
	b.t.Lacks = slices.Compact(b.t.Lacks)
}
