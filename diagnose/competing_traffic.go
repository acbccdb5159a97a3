package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/unit"
)

// competingTraffic: a queue stands on the path although this transfer is far
// from filling it. Somebody else does.
func competingTraffic(v *view) *Finding {
	if !v.networkHeld() || !v.surelyShort() || v.acksFill() {
		return nil
	}
	limit, known := v.pathLimit()
	others := v.others()
	queue := v.queued(v.rtt) || v.loss.events >= 3 && v.queued(v.loss.rttAt)
	crowd := others >= crowded && float64(v.goodput)/(1-others) >= mostOf*float64(limit)
	if !queue && !crowd {
		return nil
	}
	bbr := v.trial(TrialCongestion)
	// Nobody shares what one flow can have, nor a queue that goes when it sends
	// in another way.
	alone := bbr != nil && (!v.short(bbr.goodput) || bbr.goodput > v.goodput && !bbr.queued(bbr.rtt))
	hasMost := float64(v.goodput) >= mostOf*float64(limit) // what is left for others hardly makes a queue
	says := fmt.Sprintf("A queue stands on the path (round trip of %s, %s without it), and yet only %v of %v arrive. Others fill the rest of the bottleneck.",
		unit.Milliseconds(v.rtt), unit.Milliseconds(v.minRTT), v.goodput, limit)
	if !queue {
		says = fmt.Sprintf("Only %v of %v arrive, and %s of what a host's own interface carried meanwhile was not this transfer's. Others take the rest of the path.", v.goodput, limit, percent(others))
	}
	f := &Finding{
		Cause: CompetingTraffic,
		Confidence: confidence(
			1+count(known, v.queueStays(), others > notableShare, v.loss.packets > 0, !hasMost),
			3*count(alone)+2*count(hasMost && others < notableShare)+count(v.busiestCore() > 0.95)),
		Says:   says,
		Action: "move the transfer to a quieter time, or get it a share of its own (QoS); more connections only take from the others",
		weight: 1,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.addPath(limit, "the path can carry %v", limit)
	f.Add("share", 100*float64(v.goodput)/float64(limit), "%", "%.3g %% of it is this transfer's", 100*float64(v.goodput)/float64(limit))
	if others > notableShare {
		f.AddShare("others_share", others, "of what a host's own interface carried meanwhile was not this transfer's")
	}
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again")
	f.addTrials(v, TrialCongestion, TrialStreams)
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

// queueStays says whether a trial that came short of the path's rate, too, saw a
// queue: this transfer's way to send is not what makes it.
func (v *view) queueStays() bool {
	for _, kind := range []TrialKind{TrialCongestion, TrialStreams, TrialPaced} {
		if t := v.trial(kind); t != nil && v.short(t.goodput) && t.queued(t.rtt) {
			return true
		}
	}
	return false
}

const (
	// notableShare of an interface's bytes is beyond what headers,
	// acknowledgements and the measurement itself make.
	notableShare = 0.1
	// crowded is the share from which others are the limit even if no queue shows,
	// if together with them the path is mostly used.
	crowded = 0.3
	// mostOf the path's rate leaves little to be taken by others: within the errors
	// of its estimate and of what an interface counts.
	mostOf = 0.75
)

// others is the share (0..1) of what the interfaces in use carried in the
// transfer's direction that was not its own, at the end where it is larger; 0
// where neither end reports it.
func (v *view) others() float64 {
	own := 0.0
	for _, f := range v.senders {
		if n := len(f.Samples); n > 0 {
			own += float64(f.Samples[n-1].TCP.BytesSent)
		}
	}
	if own == 0 {
		return 0
	}
	own /= v.payloadShare()
	most := 0.0
	for _, at := range bothSides {
		for _, l := range v.end(at).Links {
			carried := l.RxBytes
			if at == sender {
				carried = l.TxBytes
			}
			if l.Used {
				most = max(most, 1-own/max(own, float64(carried)))
			}
		}
	}
	return most
}
