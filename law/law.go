// Package law has the formulas that say what a path can carry: a window over its
// round trip, the response to loss of a congestion control, and how goodput grows
// with processors or connections. They are held beside what was measured.
package law

import (
	"math"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Window is the goodput of a fixed window, one window per round trip, on a path that
// carries no more than its capacity: min(C, W/RTT) (RFC 7323, section 1.1). The
// capacity is in bit/s, the window in bytes. It is the capacity where the round-trip
// time is not known.
func Window(capacity unit.Rate, window unit.Size, rtt time.Duration) unit.Rate {
	if rtt <= 0 {
		return capacity
	}
	return min(capacity, unit.RateOf(int64(window), rtt))
}

// Reno is the mean window, in packets, of a sender that halves it at each loss event
// and sees events with probability p per packet: 1.22/sqrt(p) (M. Mathis, J. Semke,
// J. Mahdavi, T. Ott, "The macroscopic behavior of the TCP congestion avoidance
// algorithm", Computer Communication Review 27, 1997). It is infinite without loss.
func Reno(p float64) float64 {
	if p <= 0 {
		return math.Inf(1)
	}
	return 1.22 / math.Sqrt(p)
}

// CUBIC is the mean window, in packets, of CUBIC (RFC 9438, section 5.1, with C = 0.4
// and beta = 0.7): 1.054 (RTT/p)^(3/4) with the RTT in seconds, and never below
// Reno's.
func CUBIC(p float64, rtt time.Duration) float64 {
	if p <= 0 {
		return math.Inf(1)
	}
	return max(Reno(p), 1.054*math.Pow(max(0, rtt.Seconds())/p, 0.75))
}

// Packets is the goodput of a window of so many packets, with so many bytes of data
// in each, on a path that carries no more than its capacity.
func Packets(capacity unit.Rate, window, mss float64, rtt time.Duration) unit.Rate {
	if rtt <= 0 {
		return capacity
	}
	return min(capacity, unit.Rate(window*mss*8/rtt.Seconds()))
}

// Residual is how far measured figures are from those that a law predicts: the root
// of the mean square of the logarithm of their ratio, as a share (0.05: about 5 %).
// Pairs of which one is not above 0 are left out; NaN if none is left.
func Residual(measured, predicted []float64) float64 {
	squares, n := 0.0, 0.0
	for i := range min(len(measured), len(predicted)) {
		ratio := measured[i] / predicted[i]
		if !(measured[i] > 0 && predicted[i] > 0) || math.IsInf(ratio, 0) || ratio == 0 {
			continue
		}
		squares += math.Log(ratio) * math.Log(ratio)
		n++
	}
	if n == 0 {
		return math.NaN()
	}
	return math.Expm1(math.Sqrt(squares / n))
}
