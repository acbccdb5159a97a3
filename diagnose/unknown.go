package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/printable"
)

// unmeasured is the verdict on a transfer that moved nothing, or of which no
// sample has a round-trip time.
func unmeasured(v *view) Finding {
	f := Finding{
		Cause:    Unknown,
		Says:     "The transfer left no evidence: nothing arrived, or neither end reported what its kernel saw. So nothing can be said about what limits it.",
		Action:   "measure again between two ends that run fullbore",
		Gain:     1,
		Evidence: []Fact{},
	}
	if v.Transfer != nil {
		for _, at := range bothSides {
			if e := v.end(at); e.Error != "" {
				f.Evidence = append(f.Evidence, Fact{Name: "error", Says: fmt.Sprintf("%s ended early: %s", printable.Line(e.Host), printable.Line(e.Error))})
			}
		}
	}
	return f
}

// unknown is the verdict when no cause fits: it shows what there is, and the
// cause that came closest.
func unknown(v *view, findings []Finding) Finding {
	closest := "No cause comes close."
	if len(findings) > 0 {
		closest = fmt.Sprintf("The closest is %s, but the evidence is too thin.", findings[0].Cause)
	}
	f := Finding{
		Cause: Unknown,
		Says:  fmt.Sprintf("%v arrive, and the evidence does not say what limits them. %s", v.goodput, closest),
		Gain:  1,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.AddShare("busy", v.busy, "of the time there was data to send or to be acknowledged")
	f.AddShare("rwnd_limited", v.rwnd, "of the time the receiver's window held the sender back, by the kernel's clock")
	f.AddShare("sndbuf_limited", v.sndbuf, "of the time the send buffer held the sender back, by the kernel's clock")
	f.AddShare("window_full", v.windowFull(), "of the time the receiver's window was used up")
	f.AddShare("cwnd_full", v.cwndFull(), "of the time the congestion window was used up")
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again")
	f.AddShare("busiest_core", v.busiestCore(), "of its time the busiest core of either host was at work")
	limit, known := v.pathLimit()
	if known {
		f.addPath(limit, "the path can carry %v", limit)
	}
	f.Action = advice(v, known)
	return f
}

// advice is the measurement that would show more.
func advice(v *view, capacityKnown bool) string {
	switch {
	case !capacityKnown:
		return "measure the path's capacity: without it nothing shows whether this is all it carries"
	case v.busiestCore() > 0.9:
		return "a core of one host is saturated: measure again with nothing else running, or with more streams"
	case v.SenderHost == nil || v.ReceiverHost == nil:
		return "let both ends report their settings"
	}
	return "measure longer, and again with more streams: if they add up, each is held back on its own"
}
