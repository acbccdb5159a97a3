package diagnose

import (
	"fmt"
	"math"
	"strconv"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// randomLoss: the congestion window limits, it is kept small by loss, and no
// queue stands before the loss, so that the loss is not this flow's doing.
func randomLoss(v *view) *Finding {
	network := 1 - v.rwnd - v.sndbuf
	if v.loss.packets < 1 || network < 0.5 || IsBBR(v.congestion()) || v.queued(v.loss.rttAt) {
		return nil
	}
	limit, known := v.pathLimit()
	if known && v.goodput > limit*healthyShare {
		return nil
	}
	model := v.lossRate()
	off := ratio(float64(model), float64(v.goodput))
	fits := off > 1.0/3 && off < 3 // windows are sampled and response functions are averages over many losses
	// A queue or bucket that overflows drops many packets at once, and only
	// when the flow has come up to a rate.
	bursts := v.loss.sawCause && v.loss.clumped > 5
	full := known && v.peak() > limit*healthyShare
	every := strconv.FormatFloat(math.Round(ratio(1, v.loss.rate)), 'f', 0, 64)
	f := &Finding{
		Cause: RandomLoss,
		Confidence: confidence(
			count(fits, known && v.goodput < limit*8/10, v.loss.events >= 3, v.loss.sawCause && v.loss.clumped < 2, v.cwndFull() > 0.5),
			count(bursts, full, !fits)),
		Says: fmt.Sprintf("Packets are lost although no queue builds up, and %s takes every loss for congestion. With one loss in %s packets it can reach about %v on a round trip of %s; %v was measured.",
			v.congestion(), every, model, unit.Milliseconds(v.rtt), v.goodput),
		Action: "look for the link that loses packets (error counters, cables, radio); or use a congestion control that does not take loss for congestion, such as bbr",
		weight: network,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.add("loss_events", v.loss.rate, "per packet", "packets were lost %.0f times, once in %s packets", v.loss.events, every)
	f.addShare("retransmitted", v.loss.share, "of all bytes were sent again")
	f.add("rtt_before_loss", milliseconds(v.loss.rttAt), "ms", "round trip of %s just before a loss, %s at least: no queue", unit.Milliseconds(v.loss.rttAt), unit.Milliseconds(v.minRTT))
	f.add("loss_rate_limit", float64(model), "b/s", "%s can reach %v with this loss (response function)", v.congestion(), model)
	f.addShare("network_limited", network, "of the time neither buffer but the congestion window held the sender back")
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

// peak is the delivery rate that the flows reached in one sample out of ten.
func (v *view) peak() unit.Rate {
	return unit.Rate(8 * sum(v.senders, func(f flow) float64 {
		return f.quantile(0.9, func(s *bulk.Sample) float64 { return float64(s.TCP.DeliveryRate) })
	}))
}
