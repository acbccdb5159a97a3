package diagnose

import (
	"fmt"
	"math"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// reversePath: the way back carries no more acknowledgements. They queue, or are
// lost, and data waits for them.
func reversePath(v *view) *Finding {
	load, capacity := v.ackLoad()
	lost := v.acksLost() // half of them are hardly missed: each acknowledges all that came before
	filled := v.acksFill()
	if !v.short(v.goodput) || !(filled || lost > 0.5 && v.networkHeld() && !v.queued(v.loss.rttAt)) {
		return nil
	}
	_, known := v.pathLimit()
	f := &Finding{
		Cause:      ReversePath,
		Confidence: confidence(count(filled, v.queued(v.rtt), known, v.loss.packets == 0 || lost > 0.1), count(!filled)),
		Says: fmt.Sprintf("The way back is what is full: acknowledgements make %v there, and it carries %v. They wait in its queue (round trip of %s, %s without it), and data waits for them.",
			load, capacity, unit.Milliseconds(v.rtt), unit.Milliseconds(v.minRTT)),
		Action: "give the way back more capacity, or its small packets precedence; fewer acknowledgements help too (a larger MSS, receive offload at the receiver)",
		weight: 1,
	}
	if !filled {
		f.Says = fmt.Sprintf("%.0f %% of the acknowledgements are lost on the way back. News of what arrived comes late and in bursts, and data waits for it.", 100*lost)
		f.Action = "look for what drops packets on the way from the receiver to the sender"
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("ack_rate", float64(load), "b/s", "acknowledgements make %v on the way back", load)
	if capacity > 0 {
		f.Add("reverse_capacity", float64(capacity), "b/s", "the way back carries %v", capacity)
	}
	f.AddShare("acks_lost", lost, "of the acknowledgements did not reach the sender")
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again: the way there is in order")
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

// ackPacket is an acknowledgement's size in bytes: IPv4, TCP, timestamps. On
// IPv6 it is 20 more, which leaves the load a little low.
const ackPacket = 52

// ackLoad is the rate of acknowledgements that the receiver sent, and what the
// way back carries; 0 where either is not known.
func (v *view) ackLoad() (load, capacity unit.Rate) {
	if back := v.Path.Way(v.Direction != bulk.Reverse); back != nil && !back.Capacity.Assumed {
		capacity = back.Capacity.Rate
	}
	for _, f := range v.receivers {
		packets := f.delta(func(t *bulk.TCPInfo) uint64 { return uint64(t.SegsOut) })
		load += unit.RateOf(int64(packets*ackPacket), f.elapsed())
	}
	return load, capacity
}

// acksFill says whether acknowledgements fill the way back, which shows as a
// queue. What the receiver sends may be dropped there: it may be more than fits.
// Three quarters count as full, since the headers of links and what else comes back
// are not counted.
func (v *view) acksFill() bool {
	load, capacity := v.ackLoad()
	return capacity > 0 && float64(load) > 0.75*float64(capacity) && (v.queued(v.rtt) || v.acksLost() > 0.05)
}

// acksLost is the share of the receiver's segments that did not reach the
// sender, 0..1; 0 where an end does not count them. The two ends look at different
// moments, so little says nothing.
func (v *view) acksLost() float64 {
	segments := func(t *bulk.TCPInfo) uint64 { return uint64(t.SegsIn) }
	came := sum(v.senders, func(f flow) float64 { return f.delta(segments) })
	went := sum(v.receivers, func(f flow) float64 {
		return f.delta(func(t *bulk.TCPInfo) uint64 { return uint64(t.SegsOut) })
	})
	if came <= 0 {
		return 0
	}
	return math.Max(0, 1-came/went)
}
