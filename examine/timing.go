package examine

import (
	"time"

	"github.com/fullbore/fullbore/diagnose"
)

// Timing gives how much of a transfer is not measured, and how much is. Twenty
// round trips take a flow from its initial window of 10 segments through slow
// start (doubling each RTT: 2^14 segments, a 20 MB window, after 11) and leave
// time to settle, and twenty more even out what one loss does; the lower bounds
// keep a short path's figures out of the noise of the scheduler, the upper ones
// keep a very long path affordable.
func Timing(rtt time.Duration) (omit, measured time.Duration) {
	omit = min(max(20*rtt, 500*time.Millisecond), 5*time.Second)
	measured = min(max(20*rtt, 1500*time.Millisecond), 4*time.Second)
	return omit, measured
}

// shortest is how many round trips, omitted and measured, a trial gets by with
// where not enough of the budget is left for one like the first transfer. Slow
// start to a window of 20 MB takes eleven.
var shortest = map[diagnose.TrialKind]struct{ omit, measure int }{
	// It never fills the queue, so that slow start ends without overshooting.
	// Where packets are lost at random, the window takes three losses to come
	// down threefold (0.7 of it is left after each), and then goes up and down.
	diagnose.TrialPaced: {14, 16},
	// BBR needs three round trips more to see that the rate grows no further, and
	// one to drain the queue it made meanwhile (draft-ietf-ccwg-bbr, Startup and
	// Drain); CUBIC and Reno take a few to return from the overshoot.
	diagnose.TrialCongestion: {16, 14},
	// Each of four connections has a quarter of the window to open, two round
	// trips less; they take a few to find their shares of a full bottleneck.
	diagnose.TrialStreams: {14, 14},
	// Either full-size packets were the trouble, and everything differs at once,
	// or they were not.
	diagnose.TrialSegment: {11, 9},
}

// Bounds of a trial's times: below, chance decides on a short path; above, a very
// long path costs too much.
const (
	leastOmitted, mostOmitted   = 400 * time.Millisecond, 4 * time.Second
	leastMeasured, mostMeasured = 1300 * time.Millisecond, 4 * time.Second
)

// longest is how long a trial that only takes more time is worth waiting for:
// CUBIC needs 24 s to fill 1 Gb/s at 150 ms after one loss (K of RFC 9438,
// section 4.2), twice that is enough for a verdict.
const longest = time.Minute

// trialTiming gives the times of a trial where so much of the budget is left: the
// same as of the first transfer, so that the two are compared in the same phase,
// or the shortest that will do. It is false if not even that is left.
func trialTiming(kind diagnose.TrialKind, rtt, left time.Duration) (omit, measured time.Duration, ok bool) {
	left -= setUp(rtt) + stopping(rtt)
	omit, measured = Timing(rtt)
	if kind == diagnose.TrialLonger {
		// Its measured time has to begin well after that of the first transfer,
		// or it would show the same again.
		half := min(left, longest) / 2
		return half, half, half >= 2*omit
	}
	if kind == diagnose.TrialAgain {
		// What a burst of losses in slow start did takes Reno as many round trips
		// to make good as it lost packets of its window: it gets twice the time.
		omit = min(2*omit, max(omit, left-measured))
	}
	if n, known := shortest[kind]; known && (omit+measured > left || kind == diagnose.TrialSegment) {
		omit = min(max(time.Duration(n.omit)*rtt, leastOmitted), mostOmitted)
		measured = min(max(time.Duration(n.measure)*rtt, leastMeasured), mostMeasured)
	}
	return omit, measured, omit+measured <= left
}

// DefaultBudget of test traffic on a path, over all transfers with their omitted
// time: 8 s on a LAN (up to 1 ms), 20 s at 150 ms, in proportion between and
// beyond, up to 32 s from 300 ms on. It allows the first transfer and two trials,
// which is what most verdicts in doubt take, up to 75 ms also a third.
func DefaultBudget(rtt time.Duration) time.Duration {
	const lan, wan, most = time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond
	rtt = min(max(rtt, lan), most)
	return 8*time.Second + time.Duration(float64(12*time.Second)*float64(rtt-lan)/float64(wan-lan))
}

// assumedRTT is used where the path could not be probed: long enough for most
// paths, and two seconds of a transfer on any.
const assumedRTT = 100 * time.Millisecond

func roundTrip(e *diagnose.Evidence) time.Duration {
	if e.Path == nil || e.Path.RTT.Median <= 0 {
		return assumedRTT
	}
	return e.Path.RTT.Median
}
