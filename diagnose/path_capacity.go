package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/unit"
)

// healthyShare is the part of a path's goodput from which nothing is wrong.
// CUBIC on a clean path with hardly any queue averages 92.5 % of it: after a
// loss it is back at 70 % and returns along a cubic curve, a quarter of 30 %
// below the top on average (RFC 9438, section 4.2). The rest is the error of
// the capacity estimate.
const healthyShare = 0.9

// pathCapacity: the bottleneck is full. Either the goodput is what a measured
// capacity can carry, or the flow has built a queue that it keeps standing.
func pathCapacity(v *view) *Finding {
	limit, known := v.pathLimit()
	network := 1 - v.rwnd - v.sndbuf
	standing := v.queued(v.rtt) && network > 0.5
	if !v.atCapacity() && !standing {
		return nil
	}
	f := &Finding{Cause: PathCapacity, Gain: 1, Predicted: v.goodput, weight: network}
	f.addGoodput(v)
	if v.atCapacity() {
		c, _ := v.capacity()
		narrow := float64(c.High-c.Low) < 0.2*float64(c.Rate)
		f.weight = 1
		f.Confidence = confidence(2+count(narrow, standing), 0)
		f.Says = fmt.Sprintf("The path is full: %v arrive of %v that its narrowest link of %v can carry as payload. No setting of the hosts brings more.", v.goodput, limit, c.Rate)
		f.Action = "nothing to do; a faster link or fewer bytes would help"
		f.add("capacity", float64(c.Rate), "b/s", "narrowest link: %v of IP packets (%s)", c.Rate, c.Method)
		f.add("path_goodput", float64(limit), "b/s", "%v of that is payload (%.4g %% of each packet)", limit, 100*v.payloadShare())
	} else {
		f.Confidence = confidence(count(!known, v.busiestCore() < 0.9), count(known && v.goodput < limit*8/10))
		f.Says = fmt.Sprintf("The sender fills a queue on the path: the round trip is %s, %s without it. So some link is full at %v, whether by this transfer alone or with others.",
			unit.Milliseconds(v.rtt), unit.Milliseconds(v.minRTT), v.goodput)
		f.Action = "measure the path's capacity when it is idle; look for other traffic at the bottleneck"
	}
	f.addRTT(v)
	f.addShare("network_limited", network, "of the time neither buffer held the sender back")
	f.addShare("retransmitted", v.loss.share, "of all bytes were sent again")
	return f
}

// atCapacity says whether the goodput is what a measured capacity can carry. An
// assumed one proves nothing.
func (v *view) atCapacity() bool {
	limit, known := v.pathLimit()
	return known && v.goodput >= limit*healthyShare
}

// busiestCore of either host, as a share of its time (0..1).
func (v *view) busiestCore() float64 {
	most := 0.0
	for _, sender := range []bool{true, false} {
		for _, c := range v.end(sender).CPU.Cores {
			most = max(most, c.Busy)
		}
	}
	return most
}
