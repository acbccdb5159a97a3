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
	if v.loss.packets < 1 || !v.networkHeld() || IsBBR(v.congestion()) || v.atCapacity() {
		return nil
	}
	queue := "no queue"
	if v.queued(v.loss.rttAt) {
		if !v.queueGoes() {
			return nil
		}
		queue = "with another congestion control nothing waits there"
	}
	limit, known := v.pathLimit()
	model, fits := v.lossModel()
	// A queue or bucket that overflows drops many packets at once, and only
	// when the flow has come up to a rate.
	bursts := v.loss.sawCause && v.loss.clumped > 5
	full := known && v.peak() > limit*healthyShare
	every := strconv.FormatFloat(math.Round(ratio(1, v.loss.rate)), 'f', 0, 64)
	reach := fmt.Sprintf("So it gets no further than %v on a round trip of %s.", v.goodput, unit.Milliseconds(v.rtt))
	if fits {
		reach = fmt.Sprintf("With that it can reach about %v on a round trip of %s; %v was measured.", model, unit.Milliseconds(v.rtt), v.goodput)
	}
	f := &Finding{
		Cause: RandomLoss,
		Confidence: confidence(
			count(fits, known && v.goodput < limit*8/10, v.loss.events >= 3, v.loss.sawCause && v.loss.clumped < 2, v.cwndFull() > 0.5, v.lossStays()),
			count(bursts, full, !fits)+2*count(v.stuck())),
		Says:   fmt.Sprintf("Packets are lost although no queue builds up, one in %s, and %s takes every loss for congestion. %s", every, v.congestion(), reach),
		Action: "look for the link that loses packets (error counters, cables, radio); or use a congestion control that does not take loss for congestion, such as bbr",
		weight: v.network(),
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("loss_events", v.loss.rate, "per packet", "packets were lost %.0f times, once in %s packets", v.loss.events, every)
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again")
	f.Add("rtt_before_loss", milliseconds(v.loss.rttAt), "ms", "round trip of %s just before a loss, %s at least: %s", unit.Milliseconds(v.loss.rttAt), unit.Milliseconds(v.minRTT), queue)
	if !math.IsInf(float64(model), 0) {
		f.LossLimit = model
	}
	f.Add("loss_rate_limit", float64(model), "b/s", "%s can reach %v with this loss (response function)", v.congestion(), model)
	f.AddShare("network_limited", v.network(), "of the time neither buffer but the congestion window held the sender back")
	f.addTrials(v, TrialCongestion, TrialPaced, TrialStreams)
	if v.Passing != nil || !v.distinguished() {
		f.Confidence = min(f.Confidence, untried)
	}
	if v.Passing != nil {
		f.Action += "; fullbore diagnose distinguishes random loss from a policer or a short queue"
	}
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

// untried is how sure random loss can be where no trial distinguishes it from a bucket that
// drops above a rate, and from a queue that is far too short.
const untried = 0.6

// distinguished says whether losses can be told from those of a bucket that is somewhat slower than the path: they come
// one by one, or a trial has shown what happens at a higher rate, or with several flows.
func (v *view) distinguished() bool {
	return !v.clumps() || v.trial(TrialCongestion) != nil || v.trial(TrialStreams) != nil
}

// clumps says whether many more packets are lost at a time than where each is lost by itself: what overflows, a bucket
// or a queue, drops many.
//
// Of a window of W packets (Little: rate times round trip) each of which is lost with the chance p, the mean number lost,
// where any is, is pW / (1 - exp(-pW)): Poisson's distribution without its zero. Twice that is more than chance makes of it,
// and far less than what a bucket drops at once.
func (v *view) clumps() bool {
	mss := v.mss()
	if !v.loss.sawCause || mss <= 0 {
		return false
	}
	lost := v.loss.share * float64(v.goodput) / 8 * v.rtt.Seconds() / mss
	if lost <= 0 {
		return false
	}
	return v.loss.clumped > 2*lost/(1-math.Exp(-lost))
}

// queueGoes says whether another congestion control gets more with no queue at
// all, where round trips were a little longer: what waited was no packet in a queue
// of the path.
func (v *view) queueGoes() bool {
	bbr := v.trial(TrialCongestion)
	return bbr != nil && v.rtt < 2*v.minRTT && float64(bbr.goodput) > 1.1*float64(v.goodput) && !bbr.queued(bbr.rtt)
}

// stuck says whether BBR, which takes no loss for congestion, gets barely more and
// far from what the path can carry, without a queue: then it is not the loss.
func (v *view) stuck() bool {
	bbr := v.trial(TrialCongestion)
	return bbr != nil && bbr.networkHeld() && bbr.surelyShort() && bbr.goodput < pacedMore*v.goodput && !bbr.queued(bbr.rtt)
}

// lossStays says whether a trial showed that the loss depends neither on the rate
// nor on bursts: with BBR the path carries all it can, and pacing helps little.
func (v *view) lossStays() bool {
	bbr, paced := v.trial(TrialCongestion), v.trial(TrialPaced)
	if bbr == nil {
		return false
	}
	carries := !v.short(bbr.goodput) || !bbr.networkHeld() && bbr.goodput > 2*v.goodput
	return carries && (paced == nil || v.short(paced.goodput) && paced.goodput < 2*v.goodput)
}

// peak is the delivery rate that the flows reached in one sample out of ten.
func (v *view) peak() unit.Rate {
	return unit.Rate(8 * sum(v.senders, func(f flow) float64 {
		return f.quantile(0.9, func(s *bulk.Sample) float64 { return float64(s.TCP.DeliveryRate) })
	}))
}
