package diagnose

import (
	"math"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// queued says whether a round-trip time shows a standing queue: a quarter above
// the least, and by more than what delays a packet without one. That is a hiccup
// of a scheduler or a burst of the sender's, of up to a millisecond each
// (tcp_tso_autosize, net/ipv4/tcp_output.c); the time that a burst takes on a slow
// link; or, with few packets in flight, that the receiver held its acknowledgement
// back.
func (v *view) queued(rtt time.Duration) bool {
	hiccup := time.Millisecond
	if v.cwnd() < fewPackets {
		hiccup = delayedACK
	}
	limit, _ := v.pathLimit()
	hiccup = max(hiccup, time.Duration(burst*v.mss()*8/float64(limit)*float64(time.Second)))
	return v.minRTT > 0 && rtt > v.minRTT*5/4 && rtt > v.minRTT+hiccup
}

const (
	// delayedACK is how long Linux holds an acknowledgement back at least
	// (TCP_DELACK_MIN, include/net/tcp.h).
	delayedACK = 40 * time.Millisecond
	// burst is how many packets wait for each other at the bottleneck without that
	// being a queue that stands: half-way between the two that Linux sends
	// together at least (tcp_tso_autosize) and the ten that it does not pace at the
	// start (tcp_update_pacing_rate, net/ipv4/tcp_input.c; TCP_INIT_CWND).
	burst = 6
	// fewPackets in flight are so few that one in a few is the last of its
	// flight, whose acknowledgement waits.
	fewPackets = 10
)

// cwnd is the congestion window in packets, of the stream with the smallest one:
// the median over the measured time; infinite without streams.
func (v *view) cwnd() float64 {
	least := math.Inf(1)
	for _, f := range v.senders {
		least = min(least, f.median(func(s *bulk.Sample) float64 { return float64(s.TCP.SndCwnd) }))
	}
	return least
}

// deepest is the longest round-trip time of the measured time, as TCP smoothed
// it, over all streams. One sample in twenty is left out: no queue fills and
// drains as fast.
func (v *view) deepest() time.Duration { return deepestOf(v.senders) }

func deepestOf(flows []flow) time.Duration {
	most := 0.0
	for _, f := range flows {
		most = max(most, f.quantile(0.95, func(s *bulk.Sample) float64 { return float64(s.TCP.RTT) }))
	}
	return time.Duration(most * float64(time.Microsecond))
}
