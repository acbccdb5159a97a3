package diagnose

import (
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// policer: short bursts pass at the path's full rate, but whatever is tried
// reaches the same much lower rate, with loss, and without a queue.
func policer(v *view) *Finding {
	if !v.surelyShort() || !v.networkHeld() || v.queued(v.rtt) && !v.queueGoes() {
		return nil
	}
	tried := v.attempts()
	if len(tried.reached) == 0 || tried.queued || !tried.lossy && v.burstLoss() < notableBurst {
		return nil
	}
	limit := v.floor()
	ceiling := max(v.goodput, slices.Max(tried.reached))
	same := float64(ceiling) < 1.5*float64(slices.Min(tried.reached))
	streams := v.trial(TrialStreams)
	if streams != nil && len(tried.reached) == 1 {
		same = same && streams.goodput < 2*v.goodput // with losses that are random, n flows get n times as much
	}
	if v.burstLoss() > notableBurst && (streams == nil || streams.goodput < 2*v.goodput) {
		same = true // a bucket that is short for a loss-based sender gives it less
	}
	if !same || float64(ceiling) > falls*float64(limit) {
		return nil
	}
	steady := IsBBR(v.congestion()) && float64(v.peak()) < 1.1*float64(v.goodput)
	paced := v.trial(TrialPaced)
	f := &Finding{
		Cause: Policer,
		Confidence: confidence(
			1+count(tried.lossy, len(tried.reached) > 1, steady, paced != nil && v.short(paced.goodput), ceiling < limit*7/10),
			2*count(ceiling > pacedMore*v.goodput && len(tried.reached) == 1)+3*count(v.burstLoss() > bucketLoss)),
		Says: fmt.Sprintf("Short bursts pass at %v, but nothing lasting gets beyond %v: above that packets are dropped, and no queue builds up before. That is a policer on the path, of about %v.",
			limit, ceiling, unit.Rate(float64(ceiling)/v.payloadShare())),
		Action: "ask the network's operator for a higher rate, or for a shaper in the policer's place; until then pace below its rate, or use bbr, so that less is sent only to be dropped",
		weight: 1,
	}
	f.addGoodput(v)
	f.addPath(limit, "short trains of packets pass at what would make %v", limit)
	f.Add("ceiling", float64(ceiling), "b/s", "the most that any transfer came to is %v", ceiling)
	f.addTrials(v, TrialCongestion, TrialStreams, TrialPaced)
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again")
	f.addRTT(v)
	f.Add("paced_goodput", float64(ceiling), "b/s", "%v expected with pacing below the bucket's rate", ceiling)
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

// attempts are the trials that would get more than the first transfer if the
// path let them.
type attempts struct {
	reached []unit.Rate // by each
	lossy   bool        // one of them, or the first transfer, lost packets without a queue
	queued  bool        // one of them built a queue that stands
}

func (v *view) attempts() attempts {
	a := attempts{lossy: v.lossyUnqueued()}
	for _, kind := range []TrialKind{TrialCongestion, TrialStreams} {
		t := v.trial(kind)
		if t == nil || !t.networkHeld() {
			continue // something else holds it back, which says nothing about the path
		}
		a.reached = append(a.reached, t.goodput)
		a.lossy = a.lossy || t.lossyUnqueued()
		a.queued = a.queued || t.queued(t.rtt) && t.rtt > t.minRTT+t.burstWait()
	}
	return a
}

// burstWait is how long packets wait for each other at a link that is not full, as Linux sends them in bursts: itself for up to a
// millisecond (tcp_tso_autosize, net/ipv4/tcp_output.c), and for other bursts for S r / (2 (1 - r)), with the time S that
// the link takes for one and its share r of the time (Pollaczek and Khinchine, for bursts of one length).
func (v *view) burstWait() time.Duration {
	const length, most = float64(time.Millisecond), 0.95
	limit, known := v.pathLimit()
	if !known || limit <= 0 {
		return 0
	}
	busy := min(most, float64(v.goodput)/float64(limit))
	return time.Duration(length * (1 + busy/(2*(1-busy))))
}

// notableBurst is the share of train packets lost that random loss does not make.
const notableBurst = 0.2
