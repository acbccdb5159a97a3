package flow

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// losses counts how often a flow lost something. Rates of loss that matter on a
// long path are far too small for a few seconds, so the counts go back further;
// what is older than memory counts half.
type losses struct {
	events   float64 // times that packets were lost, however many at once
	packets  float64 // sent again
	segments float64 // sent
	bytes    float64
	resent   float64 // of these
	last     time.Duration
	halved   time.Duration
}

// memory is how long a loss counts in full.
const memory = 30 * time.Second

func (l *losses) begin(s *bulk.Sample) { l.halved, l.last = s.At, -time.Hour }

// add counts what happened from one sample to the next. The kernel's counters of
// 32 bits begin again at 0 after 2^32, which the differences survive.
func (l *losses) add(before, after *bulk.Sample) {
	if after.At-l.halved > memory {
		l.events, l.packets, l.segments, l.bytes, l.resent = l.events/2, l.packets/2, l.segments/2, l.bytes/2, l.resent/2
		l.halved = after.At
	}
	l.segments += float64(after.TCP.DataSegsOut - before.TCP.DataSegsOut)
	l.bytes += float64(after.TCP.BytesSent - before.TCP.BytesSent)
	l.resent += float64(after.TCP.BytesRetrans - before.TCP.BytesRetrans)
	lost := after.TCP.TotalRetrans - before.TCP.TotalRetrans
	if lost == 0 {
		return
	}
	l.packets += float64(lost)
	// One reaction a round trip, however many packets it repairs.
	if after.At-l.last > micros(after.TCP.RTT) {
		l.events++
	}
	l.last = after.At
}

// rate is the p of response functions: loss events a packet.
func (l *losses) rate() float64 { return ratio(l.events, l.segments) }
