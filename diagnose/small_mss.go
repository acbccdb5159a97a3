package diagnose

import (
	"fmt"
	"math"

	"github.com/fullbore/fullbore/unit"
)

// smallShare is how small a full packet must be, against the largest that the
// path carries, for its size to count: headers then take two thirds more, and each
// packet's work at the hosts comes two thirds more often. Tunnels, which
// make packets smaller by a sixth at most (1280 bytes of 1500), do not count.
const smallShare = 0.6

// smallMSS: packets are far smaller than the path would carry.
func smallMSS(v *view) *Finding {
	mss, headers, largest := v.mss(), v.headers(), v.largest()
	if mss <= 0 || mss+headers > smallShare*largest || v.Transfer.Spec.MSS > 0 {
		return nil
	}
	possible := largest - headers
	couldBe := possible / largest // payload's share of a full packet
	limit, known := v.pathLimit()
	reach := v.goodput
	if known {
		reach = unit.Rate(float64(limit) / v.payloadShare() * couldBe)
	}
	bound := v.lossLimit()
	bound.rate *= unit.Rate(possible / mss) // response functions grow with the MSS
	f := &Finding{
		Cause:      SmallMSS,
		Confidence: confidence(2+count(known, !v.short(v.goodput), v.networkHeld()), 0),
		Says: fmt.Sprintf("Segments carry %.0f bytes, and the path carries packets of %.0f. Something lowered the MSS when the connection was opened: headers take %s of the path instead of %s, and each packet's work comes %.2g times as often.",
			mss, largest, percent(1-v.payloadShare()), percent(1-couldBe), possible/mss),
		Action: "find what clamps the MSS: a firewall or tunnel (TCPMSS rules), a route's advmss, or TCP_MAXSEG in the application",
		weight: 1,
	}
	f.addGoodput(v)
	f.Add("mss", mss, "B", "segments of %.0f bytes", mss)
	f.Add("path_mtu", largest, "B", "packets of %.0f bytes pass", largest)
	f.Add("payload_share", 100*v.payloadShare(), "%", "%.3g %% of each packet is payload, %.3g %% could be", 100*v.payloadShare(), 100*couldBe)
	f.Predicted = max(v.goodput, min(reach, bound.rate, v.receiverLimit().rate, v.senderLimit().rate))
	f.Gain = float64(f.Predicted) / float64(v.goodput)
	f.Add("predicted_goodput", float64(f.Predicted), "b/s", "%v expected with full packets", f.Predicted)
	return f
}

// largest is the largest IP packet that the path carries, in bytes; 0 if it is
// not known.
func (v *view) largest() float64 {
	largest := math.Inf(1)
	if d := v.direction(); d != nil && d.MTU.Bytes > 0 {
		largest = float64(d.MTU.Bytes)
	}
	if believed := v.believed(); believed > 0 {
		largest = min(largest, believed)
	}
	if math.IsInf(largest, 0) {
		return 0
	}
	return largest
}

// believed is the path's MTU as the sender's TCP has it, in bytes; 0 if it does not
// report it.
func (v *view) believed() float64 {
	if len(v.senders) == 0 || len(v.senders[0].measured) == 0 {
		return 0
	}
	return float64(v.senders[0].last().TCP.PMTU)
}
