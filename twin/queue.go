package twin

import (
	"fmt"
	"math"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// queued is what the transfers show of the queue before the bottleneck.
type queued struct {
	deepest float64 // ns that packets waited at most while the link was full; 0: it was not seen to be
	full    float64 // ns that they waited when packets were lost for want of room; 0: it was not seen to run over
	times   int     // that it ran over
	marked  float64 // ns that they waited when marks began; 0: none came
}

// keepsUp is the share of the link's rate from which on a step's packets filled it. A
// queue stands before a full link only.
const keepsUp = 0.75

// overran is the share of the deepest wait from which on a loss is taken for want of
// room: TCP's round trips are smoothed, and behind a queue that fills.
const overran = 0.7

// usually is the share of the waits that are no longer than the longest that counts: a
// host that hesitates for once makes no queue.
const usually = 0.95

// queueDepth looks for the longest waits of full links, with loss and without.
func (s *seen) queueDepth() (q queued) {
	if s.has(diagnose.ReversePath) != nil || s.hostHeld() { // it is acknowledgements that wait, or data in a host
		return q
	}
	crowded := s.has(diagnose.CompetingTraffic) != nil
	var all, lost []float64
	for _, m := range s.moved {
		for _, step := range m.steps {
			waited := step.rtt - s.base.value
			if waited < float64(time.Millisecond) && waited < s.base.value/4 || !crowded && m.rate(step) < keepsUp*float64(s.rates[0].rate) {
				continue
			}
			all = append(all, waited)
			if step.again > step.needless {
				lost = append(lost, waited)
			}
			if step.marked > 0 {
				q.marked = max(q.marked, waited)
			}
		}
	}
	if len(all) > 0 {
		q.deepest = stat.Quantile(all, usually)
	}
	if len(lost) == 0 {
		return q
	}
	most := stat.Quantile(lost, usually)
	if most < overran*q.deepest || s.has(diagnose.Policer) != nil { // those were lost for another reason
		return q
	}
	q.full = most
	for _, waited := range lost {
		if waited >= overran*most {
			q.times++
		}
	}
	return q
}

// queue before the bottleneck of the data's way.
func (b *builder) queue(name string, a bool) {
	link := b.rates[1]
	if a {
		link = b.rates[0]
	}
	bdp := bytesIn(link.rate, b.base.value)
	mtu := float64(b.mtu())
	usual := max(bdp, wire.MinQueuePackets*mtu)
	k, bytes := Key{How: Assumed, Why: "nothing filled it: one bandwidth-delay product, 64 packets at least"}, usual
	burst := float64(b.there.Capacity.Burst)
	seenBytes := bytesIn(link.rate, b.depth.deepest)
	back, backKnown, filled := b.queueOfACKs()
	switch {
	case !a && filled:
		bytes, k = back, backKnown
	case !a:
	case b.has(diagnose.ShallowQueue) != nil && burst > 0:
		bytes = burst
		k = Key{How: Inferred, High: unit.Size(burst).String(), Why: "what came through of packet trains that it was too short for"}
	case b.depth.full > 0:
		bytes = bytesIn(link.rate, b.depth.full)
		k = Key{How: Inferred, Why: fmt.Sprintf("packets waited %s when some were lost for want of room, %s", waited(b.depth.full), times(b.depth.times))}
		if b.depth.times > 1 {
			k.How = Measured
		}
		k.Low, k.High = unit.Size(bytes*overran).String(), unit.Size(bytes*1.2).String()
	case burst > 0 && b.has(diagnose.Policer) == nil && !b.hostHeld() && b.there.Capacity.Lost > 0.2:
		bytes = max(burst, seenBytes)
		k = Key{How: Inferred, Low: unit.Size(burst / 2).String(), High: unit.Size(burst * 2).String(), Why: "what came through of packet trains that it was too short for"}
	case seenBytes > 0:
		bytes = max(usual, 1.25*seenBytes)
		k = Key{How: AtLeast, Low: unit.Size(seenBytes).String(), Why: fmt.Sprintf("packets waited %s, and none was lost for want of room", waited(b.depth.deepest))}
	}
	b.set(k, size(bytes, 2*mtu), "path", name, "queue")
	if a && b.depth.marked > 0 && bytesIn(link.rate, b.depth.marked) >= mtu {
		b.set(Key{How: Inferred, Low: waited(b.depth.marked / 2), High: waited(b.depth.marked), Why: "packets waited so long when they were marked with Congestion Experienced"},
			"{above: "+size(bytesIn(link.rate, 0.9*b.depth.marked), mtu)+"}", "path", name, "ecn")
	}
}

func waited(ns float64) string {
	return unit.Milliseconds(time.Duration(clamp(ns, 0, math.MaxInt64/2)))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
