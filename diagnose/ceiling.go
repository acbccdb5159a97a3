package diagnose

import (
	"math"
	"strings"
	"time"

	"github.com/fullbore/fullbore/law"
	"github.com/fullbore/fullbore/unit"
)

// ReceiverShare is the part of a receive buffer that Linux offers as window:
// the rest pays for the memory around the data. It was 1/2 by
// tcp_adv_win_scale=1 from 3.4 on; since 6.6 it follows each socket's packets
// (scaling_ratio, net/ipv4/tcp_input.c) and starts at 1/2.
const ReceiverShare = 0.5

// SenderShare is the part of a send buffer that is in flight, on average, when
// the buffer is what limits. Linux wakes the writer only when a third of the
// buffer is free again (sk_stream_min_wspace, include/net/sock.h), so what is
// queued swings between two thirds and all of it.
const SenderShare = 5.0 / 6

// ReceiverWindow is the largest window that a receive buffer (SO_RCVBUF as the
// kernel counts it) can offer.
func ReceiverWindow(buffer unit.Size) unit.Size {
	return unit.Size(float64(buffer) * ReceiverShare)
}

// SenderWindow is how much a send buffer keeps in flight when it limits.
func SenderWindow(buffer unit.Size) unit.Size {
	return unit.Size(float64(buffer) * SenderShare)
}

// WindowRate is the goodput of a fixed window: one window per round trip. It is
// 0 when the round-trip time is not known.
func WindowRate(window unit.Size, rtt time.Duration) unit.Rate {
	return unit.RateOf(int64(window), rtt)
}

// LossWindow is the average window, in packets, that a congestion control keeps
// when it sees loss events with probability p per packet: the response function
// of CUBIC, and Reno's for all others (package law). It is infinite without loss,
// and for BBR, whose model does not take loss for congestion (Cardwell et al., ACM
// Queue 14, 2016, figure 8: full rate up to some 15 % loss).
func LossWindow(congestion string, p float64, rtt time.Duration) float64 {
	switch {
	case IsBBR(congestion):
		return math.Inf(1)
	case congestion == "cubic":
		return law.CUBIC(p, rtt)
	}
	return law.Reno(p)
}

// IsBBR says whether a congestion control is a version of BBR.
func IsBBR(congestion string) bool { return strings.HasPrefix(congestion, "bbr") }
