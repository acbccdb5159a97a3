package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/stat"
)

// shallowQueue: packets are lost without a standing queue, but only when they
// come in bursts: what sends evenly gets far more through the same path.
func shallowQueue(v *view) *Finding {
	if !v.short(v.goodput) || !v.networkHeld() || v.queued(v.rtt) {
		return nil
	}
	bbr, streams, p := v.trial(TrialCongestion), v.trial(TrialStreams), v.whenPaced()
	// BBR sends evenly. Several connections share the queue, and get no more;
	// where packets are lost at random, they get as much each as the one.
	evenly := bbr != nil && bbr.goodput > 3*v.goodput && streams != nil && streams.goodput < 2*v.goodput
	if !evenly && !p.helps(v) && (p.asLossy || !v.tinyQueue()) {
		return nil
	}
	burst := v.burstLoss()
	if bbr != nil && bbr.networkHeld() && v.short(bbr.goodput) && (float64(bbr.goodput) < 1.8*float64(v.goodput) || burst < bucketLoss) {
		return nil // nothing gets through: a bucket
	}
	limit, _ := v.pathLimit()
	reached := bbr != nil && float64(bbr.goodput) > falls*float64(limit)
	if !evenly && !p.helps(v) && !reached {
		return nil // a tiny queue need not be what limits
	}
	better := bbr
	how := "with BBR"
	if p.more || !evenly && !reached {
		better, how = p.trial, "at a pace of "+p.trial.Transfer.Spec.Pace.String()
	}
	f := &Finding{
		Cause: ShallowQueue,
		Confidence: confidence(
			count(p.rarer, p.more, p.atPace, bbr != nil, reached, evenly, burst > bucketLoss, v.tinyQueue()),
			count(burst == 0, p.trial != nil && !evenly && p.chance > 0.3)+2*count(!p.more && !evenly && !v.tinyQueue() && p.chance > 0.001)),
		Says: fmt.Sprintf("Packets are lost when %s sends them in bursts, and far fewer when they leave evenly: %v instead of %v %s. The bottleneck's queue is too short for bursts, far below one bandwidth-delay product (%v).",
			v.congestion(), better.goodput, v.goodput, how, limit.BytesIn(v.minRTT)),
		Action: "let the sender pace: bbr, or the fq qdisc with a maximum rate below the bottleneck's; or have the bottleneck's queue made longer",
		weight: 1,
	}
	f.addGoodput(v)
	f.addTrials(v, TrialPaced, TrialCongestion, TrialStreams)
	f.Add("losses", p.events, "", "%.0f times packets were lost, in %.0f segments", p.events, p.segments)
	if p.trial != nil {
		f.Add("losses_paced", p.seen, "", "%.0f times when paced, in %.0f: if bursts did not matter, so few would be seen with a chance of %s", p.seen, p.sent, percent(p.chance))
	}
	f.AddShare("burst_loss", burst, "of the packets of short trains were lost, which leave back to back")
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again, unpaced")
	f.addRTT(v)
	f.Add("bdp", float64(limit.BytesIn(v.minRTT)), "B", "bandwidth-delay product: %v", limit.BytesIn(v.minRTT))
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

// evenness is what pacing did to loss and goodput. "By far" is beyond what chance
// makes of a few losses: three times the goodput, a quarter of the losses.
type evenness struct {
	trial            *view   // nil: it was not run
	events, segments float64 // loss events, and segments sent, unpaced
	seen, sent       float64 // the same when paced
	chance           float64 // of so few losses if bursts did not matter
	rarer            bool    // than chance makes them
	fewer            bool    // losses, by far
	atPace           bool    // it kept up with a pace that was out of reach unpaced
	more             bool    // goodput, by far
	asLossy          bool    // once it was under way it lost as often as before
}

// whenPaced compares the paced trial with the transfer.
func (v *view) whenPaced() evenness {
	p := evenness{trial: v.trial(TrialPaced), chance: 1}
	p.events, p.segments = v.lossEver()
	if p.trial == nil {
		return p
	}
	p.seen, p.sent = p.trial.lossEver()
	p.chance = stat.Rarer(p.events, p.segments, p.seen, p.sent)
	p.rarer = p.chance < 0.01
	// A queue that took whole trains of packets has to be proven too short.
	expected := ratio(p.events, p.segments) * p.sent
	p.fewer = p.rarer || (v.burstLoss() > 0 || expected >= 3) && p.seen <= expected/4
	if p.seen > 0 { // as often, but hardly a packet each time: no burst meets the queue
		p.fewer = p.fewer || v.resentEver() >= 20 && p.trial.resentEver() < v.resentEver()/10*ratio(p.sent, p.segments)
	}
	pace := float64(p.trial.Transfer.Spec.Pace) * v.payloadShare() * float64(len(p.trial.senders))
	p.atPace = float64(p.trial.goodput) > 0.85*pace && float64(v.goodput) < 0.75*pace
	p.asLossy = p.trial.loss.rate > v.loss.rate/2
	p.more = p.atPace || p.trial.goodput > 3*v.goodput
	return p
}

// helps says whether pacing loses so much less, or carries so much more, that
// bursts must be to blame. Windows that have not yet come down from slow start
// carry much all the same: only fewer losses are a sign.
func (p *evenness) helps(v *view) bool {
	return p.more && p.fewer || p.rarer && float64(p.trial.goodput) > 1.5*float64(v.goodput)
}

// tinyQueue says whether the trains of packets that measured the capacity show a
// queue that holds less than a fifth of the bandwidth-delay product.
func (v *view) tinyQueue() bool {
	d := v.direction()
	limit, known := v.pathLimit()
	return known && d != nil && d.Capacity.Burst > 0 && float64(d.Capacity.Burst) < float64(limit.BytesIn(v.minRTT))/5
}

// bucketLoss is the share of train packets from which on a queue loses them and
// not a bucket, which is full when a train begins and lets most of it through: a
// queue of a few packets drops nearly all of a train that comes at many times the
// link's rate.
const bucketLoss = 0.6

// burstLoss is the share (0..1) of the packets lost that were sent back to back
// to measure the capacity.
func (v *view) burstLoss() float64 {
	if d := v.direction(); d != nil {
		return d.Capacity.Lost
	}
	return 0
}
