package diagnose

import (
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// next is the trial that answers the first question that is open and can change
// the verdict; nil if there is none.
func (v *view) next(verdict Finding) *Trial {
	for _, ask := range []func(*Finding) *Trial{v.askSegment, v.askAgain, v.askSooner, v.askPaced, v.askCongestion, v.askStreams, v.askLonger, v.askDepth} {
		if t := ask(&verdict); t != nil && !v.ran(t.Kind) {
			return t
		}
	}
	return nil
}

// ask makes a trial like the transfer under examination.
func (v *view) ask(kind TrialKind, why string, change func(*bulk.Spec), expects ...Expectation) *Trial {
	spec := v.Transfer.Spec
	spec.Omit, spec.Duration, spec.Bytes, spec.Interval = 0, 0, 0, 0
	if !(spec.Pace >= 0 && spec.Pace < path.Fastest) { // evidence may come from anywhere
		spec.Pace = 0
	}
	change(&spec)
	return &Trial{Kind: kind, Why: why, Spec: spec, Expects: expects}
}

// lossy are the causes that show as loss without a queue, and those that may be
// mistaken for one.
var lossy = []string{RandomLoss, ShallowQueue, Policer, Reordering, ShortTransfer, CompetingTraffic, Unknown, PathCapacity}

// inDoubt says whether a verdict is about a network that falls short of what it
// can carry.
func (v *view) inDoubt(verdict *Finding) bool {
	return v.networkHeld() && v.short(v.goodput) && slices.Contains(lossy, verdict.Cause)
}

// askCongestion tries BBR. It keeps its rate where packets are lost at random,
// and reaches no more than the bucket's rate behind a policer.
func (v *view) askCongestion(verdict *Finding) *Trial {
	if !v.inDoubt(verdict) || IsBBR(v.congestion()) || !v.allows("bbr") {
		return nil
	}
	limit, _ := v.pathLimit()
	return v.ask(TrialCongestion, "Does a congestion control that does not take loss for congestion get more?",
		func(s *bulk.Spec) { s.Congest = "bbr" },
		Expectation{RandomLoss, limit, "all that the path can carry: its loss is none of the flow's doing"},
		Expectation{ShallowQueue, limit, "nearly all: it sends evenly, and so needs almost no queue"},
		Expectation{Policer, v.goodput, "barely more than now: the bucket does not let more through"},
		Expectation{CompetingTraffic, v.goodput, "a larger share, and the queue stays"})
}

// askPaced tries a rate above the one reached and below the path's, evenly. A
// queue that is too short for bursts then loses almost nothing; a link that loses
// whatever comes does as before.
func (v *view) askPaced(verdict *Finding) *Trial {
	limit, known := v.pathLimit()
	if !v.inDoubt(verdict) || !known || !v.lostEver() || IsBBR(v.congestion()) ||
		verdict.Cause == Policer || verdict.Cause == CompetingTraffic || verdict.Cause == Reordering {
		return nil
	}
	c, _ := v.capacity()
	pace := min(c.Rate*pacedShare, max(unit.Rate(float64(v.goodput)/v.payloadShare())*pacedMore, slowPace))
	return v.ask(TrialPaced, "Are packets still lost when they leave evenly, at a rate that the path can carry?",
		func(s *bulk.Spec) { s.Pace = pace / unit.Rate(max(1, len(v.senders))) },
		Expectation{ShallowQueue, min(pace, limit), "nearly no loss, as no burst meets the short queue"},
		Expectation{RandomLoss, min(v.goodput, pace), "as much loss as before, and no more than before gets through"})
}

const (
	// pacedShare of the capacity is the most that a paced trial sends: below it by
	// more than the error of the capacity's estimate.
	pacedShare = 0.85
	// pacedMore is how much more than before a paced trial tries: beyond what
	// chance makes of a few losses. Not all that the path has, since Linux paces
	// in bursts of a millisecond (tcp_tso_autosize), which grow with the rate.
	pacedMore = 2.5
	// slowPace is tried at least: what takes only a few packets in flight depends
	// on timers.
	slowPace = 2 * unit.Mbps
)

// askStreams tries several connections. What limits each of them adds up.
func (v *view) askStreams(verdict *Finding) *Trial {
	bbr := v.trial(TrialCongestion)
	// BBR gets far more, and yet not what the path can carry: that is neither
	// loss at random nor, without more evidence, a bucket.
	between := bbr != nil && bbr.networkHeld() && v.short(bbr.goodput) && bbr.goodput > pacedMore*v.goodput
	// One BBR transfer may get little because its host was busy. A bucket is seen
	// twice: no burst passes it, or several connections get no more than one.
	once := verdict.Cause == Policer && v.burstLoss() <= notableBurst
	if !v.inDoubt(verdict) || bbr != nil && verdict.Cause != Unknown && !between && !once {
		return nil
	}
	limit, _ := v.pathLimit()
	return v.ask(TrialStreams, "Do several connections get more together than one?",
		func(s *bulk.Spec) { s.Streams = min(bulk.MaxStreams, manyStreams*max(1, s.Streams)) },
		Expectation{RandomLoss, min(limit, manyStreams*v.goodput), "each as much as the one: loss limits each connection on its own"},
		Expectation{Policer, v.goodput, "no more together: all share the bucket"},
		Expectation{CompetingTraffic, min(limit, manyStreams*v.goodput), "a larger share of the full link"})
}

// manyStreams is how many times as many connections the trial of several uses:
// four times as much is beyond all noise, and few enough not to fill a path on
// their own where they need not.
const manyStreams = 4

// askAgain tries the same once more where the transfer was somewhat short of what
// the path can carry: one stall of a busy host, or somebody's short download, does
// as much, and is no fault of the path's. Where nothing is known of that, or packets
// were lost again and again without a queue, there are better questions.
func (v *view) askAgain(verdict *Finding) *Trial {
	floor := v.floor()
	if !v.inDoubt(verdict) || floor <= 0 || verdict.Cause == RandomLoss && v.loss.events >= fewLosses || float64(v.goodput) < somewhat*float64(floor) {
		return nil
	}
	return v.ask(TrialAgain, "Was that chance?", func(*bulk.Spec) {},
		Expectation{Healthy, v.floor(), "what the path can carry"},
		Expectation{verdict.Cause, v.goodput, "as much as before"})
}

// fewLosses may be one stall's, or one download's.
const fewLosses = 5

// somewhat short is a transfer that still reached this share of the path's
// goodput.
const somewhat = 0.6

// askSooner is askLonger where no other question is open: nothing was lost, or
// all else has to wait until round trips were seen.
func (v *view) askSooner(verdict *Finding) *Trial {
	if v.slowRounds() || !v.lostEver() {
		return v.askLonger(verdict)
	}
	return nil
}

// askLonger tries more time where windows were still opening.
func (v *view) askLonger(verdict *Finding) *Trial {
	if verdict.Cause != ShortTransfer && !v.slowRounds() {
		return nil
	}
	limit, _ := v.pathLimit()
	return v.ask(TrialLonger, "Does it get there with more time?", func(*bulk.Spec) {},
		Expectation{ShortTransfer, limit, "more and more, up to what the path can carry"})
}

// slowRounds says whether a queue has made round trips so long that the transfer
// saw only a few of them: what happens in one is then no measure of it.
func (v *view) slowRounds() bool {
	return len(v.senders) > 0 && v.short(v.goodput) && v.rtt > 3*v.minRTT && v.senders[0].elapsed() < fewRounds*v.rtt
}

// fewRounds are too few to even out what one loss does.
const fewRounds = 8

// askDepth tries to find the end of a queue that was seen to fill: Reno's slow
// start goes on until packets are lost, which CUBIC's (HyStart, RFC 9406) avoids.
func (v *view) askDepth(verdict *Finding) *Trial {
	deep := v.deepest() - v.minRTT
	if verdict.Cause != Healthy || deep < bloat/4 || deep < v.minRTT/2 || v.bloated() || v.queued(v.loss.rttAt) || !v.allows("reno") || IsBBR(v.congestion()) {
		return nil
	}
	return v.ask(TrialDepth, "How long does the queue get before packets are lost?",
		func(s *bulk.Spec) { s.Congest = "reno" },
		Expectation{Healthy, v.goodput, "a round trip of at most twice as long as without load"},
		Expectation{Bufferbloat, v.goodput, "a round trip many times as long"})
}

// askSegment tries small segments where large packets seem to vanish.
func (v *view) askSegment(verdict *Finding) *Trial {
	d := v.direction()
	if verdict.Cause != MTUBlackHole || d == nil || d.MTU.Bytes == 0 {
		return nil
	}
	limit, _ := v.pathLimit()
	return v.ask(TrialSegment, "Do smaller packets come through?",
		func(s *bulk.Spec) { s.MSS = d.MTU.Bytes - ipv6Headers },
		Expectation{MTUBlackHole, limit, "all of them: only packets above a certain size are lost"})
}

// ipv6Headers are those of IPv6 and of TCP without options, in bytes: the larger
// ones, so that segments fit either way.
const ipv6Headers = 60

// allows says whether the sending host lets a program choose a congestion
// control. A host that does not report it is asked by trying.
func (v *view) allows(congestion string) bool {
	if v.SenderHost == nil {
		return true
	}
	available, reported := v.SenderHost.Tunables["net.ipv4.tcp_available_congestion_control"]
	return !reported || slices.Contains(strings.Fields(available), congestion)
}
