package diagnose

import (
	"math"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/stat"
)

// notableLoss is the share of bytes sent again that says something: BBR and
// several streams lose far more where a bucket or a queue overflows.
const notableLoss = 0.002

// loss is what the sender saw of loss in the measured time. Where the kernel's
// counters of loss events are known of the whole transfer only, so are events,
// rate and clumped: events and the segments that they are divided by always
// cover the same time.
type loss struct {
	packets  float64       // retransmitted
	share    float64       // retransmitted bytes of all sent bytes
	events   float64       // times the congestion control had to react: one a window, however many packets it lost
	rate     float64       // events per packet sent: the p of response functions
	rttAt    time.Duration // smoothed round-trip time just before, median; 0 without loss
	clumped  float64       // packets lost an event
	sawCause bool          // events come from the kernel's counters, not from counting packets
}

// recoveries count reactions to loss (SNMP names of net/ipv4/proc.c).
var recoveries = []string{"TcpExt.TCPSackRecovery", "TcpExt.TCPRenoRecovery", "TcpExt.TCPTimeouts"}

// Losses counts what a sender loses, from sample to sample.
type Losses struct {
	Events   float64 // times that packets were lost: as many as there were round trips for, and no more than packets
	Packets  float64 // sent again
	Segments float64 // sent
	Resent   float64 // bytes
	Bytes    float64 // sent

	last time.Duration // when something was last lost
}

// Add counts what happened from one sample to the next. The kernel's counters of 32
// bits begin again at 0 after 2^32, which their differences survive.
func (l *Losses) Add(before, after *bulk.Sample) {
	grown := func(before, after uint64) float64 {
		if after < before {
			return 0
		}
		return float64(after - before)
	}
	l.Segments += float64(after.TCP.DataSegsOut - before.TCP.DataSegsOut)
	l.Bytes += grown(before.TCP.BytesSent, after.TCP.BytesSent)
	l.Resent += grown(before.TCP.BytesRetrans, after.TCP.BytesRetrans)
	lost := float64(after.TCP.TotalRetrans - before.TCP.TotalRetrans)
	if lost == 0 {
		return
	}
	l.Packets += lost
	// A congestion control reacts once a round trip, however many packets it repairs.
	rtt := float64(after.TCP.RTT) * float64(time.Microsecond)
	rounds := lost
	if rtt > 0 {
		rounds = math.Floor(float64(after.At-before.At) / rtt)
		if l.Events == 0 || float64(after.At-l.last) > rtt {
			rounds = max(1, rounds)
		}
	}
	l.Events += max(0, min(lost, rounds))
	l.last = after.At
}

// Halve has what was counted so far count half.
func (l *Losses) Halve() {
	l.Events, l.Packets, l.Segments, l.Bytes, l.Resent = l.Events/2, l.Packets/2, l.Segments/2, l.Bytes/2, l.Resent/2
}

// losses are those of the measured time, or of late of a flow seen in passing.
func (v *view) losses() (all Losses) {
	if v.Passing != nil {
		return v.Passing.Losses
	}
	for _, f := range v.senders {
		var l Losses
		samples := f.Measured()
		for i := 1; i < len(samples); i++ {
			l.Add(&samples[i-1], &samples[i])
		}
		all.Events, all.Packets, all.Segments = all.Events+l.Events, all.Packets+l.Packets, all.Segments+l.Segments
		all.Bytes, all.Resent = all.Bytes+l.Bytes, all.Resent+l.Resent
	}
	return all
}

func (v *view) findLoss() loss {
	counted := v.losses()
	l := loss{packets: counted.Packets, share: ratio(counted.Resent, counted.Bytes), events: counted.Events}
	if l.packets == 0 {
		return l
	}
	segments := counted.Segments
	// A host's counters also count its other connections: more events than packets
	// are not of this transfer.
	packets := l.packets
	if counters := v.end(sender).Measured; counters != nil {
		if counted := reactions(counters); counted > 0 && counted <= packets {
			l.events, l.sawCause = counted, true
		}
	} else if counted, ever := reactions(v.end(sender).Counters), v.resentEver(); counted > 0 && counted <= ever {
		l.events, l.sawCause = counted, true
		packets = ever
		_, segments = v.lossEver()
	}
	l.rate = ratio(l.events, segments)
	l.clumped = ratio(packets, l.events)

	var before []float64
	for _, f := range v.senders {
		earlier := f.base
		for i := range f.measured {
			s := &f.measured[i]
			if s.TCP.TotalRetrans > earlier.TCP.TotalRetrans && earlier.TCP.RTT > 0 {
				before = append(before, float64(earlier.TCP.RTT))
			}
			earlier = s
		}
	}
	l.rttAt = v.rtt // losses may be older than the samples
	if len(before) > 0 {
		l.rttAt = time.Duration(stat.Median(before) * float64(time.Microsecond))
	}
	return l
}

// lossEver counts loss events and segments sent since the connections were
// opened: slow start included, which may have made the window what it is.
func (v *view) lossEver() (events, segments float64) {
	for _, f := range v.senders {
		if n := len(f.Samples); n > 0 {
			events += float64(f.Samples[n-1].TCP.TotalRetrans)
			segments += float64(f.Samples[n-1].TCP.DataSegsOut)
		}
	}
	if counted := reactions(v.end(sender).Counters); counted > 0 && counted < events {
		events = counted
	}
	return events, segments
}

// resentEver is how many segments were sent again since the connections were
// opened.
func (v *view) resentEver() float64 {
	return sum(v.senders, func(f flow) float64 {
		if n := len(f.Samples); n > 0 {
			return float64(f.Samples[n-1].TCP.TotalRetrans)
		}
		return 0
	})
}

// reactions is how often a host's kernel reacted to loss, by all its connections;
// 0 where it does not count them.
func reactions(counters map[string]int64) float64 {
	counted := 0.0
	for _, name := range recoveries {
		counted += float64(max(0, counters[name]))
	}
	return counted
}

func (v *view) lostEver() bool {
	events, _ := v.lossEver()
	return events > 0
}

// lossyUnqueued says whether notably much was lost since the connections were
// opened, and no queue stood before. BBR learns a policer's rate from what it
// loses at first, and then keeps to it.
func (v *view) lossyUnqueued() bool {
	_, segments := v.lossEver()
	return ratio(v.resentEver(), segments) > notableLoss && !v.queued(v.loss.rttAt)
}
