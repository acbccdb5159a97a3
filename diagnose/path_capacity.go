package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// pathCapacity: the bottleneck is full. The goodput is what a measured capacity
// can carry; or the flow keeps a queue standing; or several connections get no
// more than one.
func pathCapacity(v *view) *Finding {
	standing, noMore := len(v.senders) > 0 && v.queued(v.rtt) && v.network() > 0.5, v.noMore()
	f := &Finding{Cause: PathCapacity, Gain: 1, Predicted: v.goodput, weight: v.network()}
	f.addGoodput(v)
	switch {
	case v.atCapacity():
		f.reaches(v, standing)
	case standing:
		f.Says = fmt.Sprintf("The sender fills a queue on the path: the round trip is %s, %s without it. So some link is full at %v, whether by this transfer alone or with others.",
			unit.Milliseconds(v.rtt), unit.Milliseconds(v.minRTT), v.goodput)
	case noMore:
		f.Says = fmt.Sprintf("Several connections get no more together than the %v of this transfer. So some link is full, whether by this transfer alone or with others.", v.goodput)
	case v.believesFull():
		f.Says = fmt.Sprintf("BBR sends at %v, the rate at which it has seen the path deliver, and data waits behind it. So the path gives no more, whether by its capacity or by what others leave.", v.goodput)
		f.Confidence = confidence(0, 0)
		f.Action = "fullbore diagnose measures the path itself; this rests on what BBR believes"
		f.addRTT(v)
		return f
	default:
		return nil
	}
	if !v.atCapacity() {
		_, known := v.pathLimit()
		f.Confidence = confidence(count(!known, v.busiestCore() < 0.9)+2*count(noMore), 3*count(v.surelyShort()))
		f.Action = "measure the path's capacity when it is idle; look for other traffic at the bottleneck"
	}
	f.addRTT(v)
	f.addTrials(v, TrialStreams)
	f.AddShare("network_limited", v.network(), "of the time neither buffer held the sender back")
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again")
	return f
}

// believesFull says whether BBR, on a path that was not probed, paces at the rate
// that it has seen the path deliver, and data waits behind it.
func (v *view) believesFull() bool {
	if v.Path != nil || !IsBBR(v.congestion()) || len(v.senders[0].measured) == 0 {
		return false
	}
	pace := unit.Rate(8 * float64(v.senders[0].last().TCP.PacingRate))
	return v.networkHeld() && v.windowHeld() < 0.5 && Agrees(pace, v.goodput)
}

// reaches completes the finding where the goodput is what a measured capacity can
// carry.
func (f *Finding) reaches(v *view, standing bool) {
	limit, _ := v.pathLimit()
	c, _ := v.capacity()
	narrow := float64(c.High-c.Low) < 0.2*float64(c.Rate) // interval of the estimate
	f.weight = 1
	f.Confidence = confidence(2+count(narrow, standing), 0)
	f.Says = fmt.Sprintf("The path is full: %v arrive of %v that its narrowest link of %v can carry as payload. No setting of the hosts brings more.", v.goodput, limit, c.Rate)
	f.Action = "nothing to do; a faster link or fewer bytes would help"
	f.Add("capacity", float64(c.Rate), "b/s", "narrowest link: %v of IP packets (%s)", c.Rate, printable.Line(c.Method))
	f.addPath(limit, "%v of that is payload (%.4g %% of each packet)", limit, 100*v.payloadShare())
}

// busiestCore of either host, as a share of its time (0..1).
func (v *view) busiestCore() float64 {
	most := 0.0
	for _, at := range bothSides {
		for _, c := range v.end(at).CPU.Cores {
			most = max(most, c.Busy)
		}
	}
	return most
}
