package diagnose

import (
	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// What held the senders back: shares (0..1) of the time or of the samples.

// network is the share of the busy time in which neither buffer held the sender
// back, by the kernel's clock: the congestion window did, or the pace.
func (v *view) network() float64 { return max(0, 1-v.rwnd-v.sndbuf) }

// networkHeld says whether the network held the sender back, and not a buffer,
// a window, an application or a processor.
func (v *view) networkHeld() bool {
	return v.network() > 0.5 && v.windowFull() < 0.5 && v.drained() < 0.5 && v.busy > 0.9 &&
		v.found(SenderCPU) == nil && v.found(ReceiverCPU) == nil && v.beneath == nil
}

// underneath is the limit of a host that a trial met which asked the network for
// more and got no more: it is what holds the first transfer, too, although that
// shows the network's signs.
func (v *view) underneath() *Finding {
	for _, kind := range []TrialKind{TrialCongestion, TrialStreams} {
		t := v.trial(kind)
		if t == nil || float64(t.goodput) > asMuch*float64(v.goodput) {
			continue
		}
		for _, f := range t.findings {
			if f.Confidence >= 0.75 && f.Cause != SenderCPU && f.Cause != ReceiverCPU {
				f.Predicted = max(f.Predicted, v.goodput)
				f.Gain = float64(f.Predicted) / float64(v.goodput)
				return &f
			}
		}
	}
	return nil
}

// window is the sum over the streams of the window that the receiver
// advertised, as the sender saw it; 0 where the kernel does not report it.
func (v *view) window() unit.Size {
	return unit.Size(sum(v.senders, func(f flow) float64 {
		return f.median(func(s *bulk.Sample) float64 { return float64(s.TCP.SndWnd) })
	}))
}

// tellsWindow says whether the sender's kernel reports how large the receiver's
// window is.
func (v *view) tellsWindow() bool {
	return len(v.senders) > 0 && len(v.senders[0].measured) > 0 && tellsWindow(&v.senders[0].last().TCP)
}

func tellsWindow(t *bulk.TCPInfo) bool { return t.SndWnd > 0 || t.HasSndWnd() }

// windowHeld is the share of the time in which the receiver's window held the
// sender back. BBR takes what the window lets through for the path's rate and paces
// by that, so that it mostly waits for its own timer: where the window is the
// smaller of the two, a fifth of the time counts as half of it.
func (v *view) windowHeld() float64 {
	held := max(v.rwnd, v.windowFull())
	if IsBBR(v.congestion()) && float64(v.window()) < sum(v.senders, func(f flow) float64 { return f.median(congestionWindow) }) {
		held = min(1, held*0.5/0.2)
	}
	return held
}

// windowFull is the share of samples in which the sender had used up the
// receiver's window, to less than one more segment or a tenth. Unlike
// rwnd_limited it does not depend on what blocked the sender a moment earlier:
// under BBR the pacing timer hides the window.
func (v *view) windowFull() float64 {
	return v.samples(func(s *bulk.Sample) bool {
		window := int64(s.TCP.SndWnd)
		return tellsWindow(&s.TCP) && (window > 0 || s.TCP.NotsentBytes > 0) && window-sent(s) <= max(window/10, int64(s.TCP.SndMSS))
	})
}

// cwndFull is the share of samples in which the congestion window was used up.
func (v *view) cwndFull() float64 {
	return v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.TCP.SndCwnd > 0 && float64(s.TCP.Unacked) >= full*float64(s.TCP.SndCwnd)
	})
}

// drained is the share of samples in which everything the application was able
// to write is in flight, and neither window is used up: only more send buffer
// would bring more data.
func (v *view) drained() float64 {
	return v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.Unsent > 0 && s.TCP.NotsentBytes < s.TCP.SndMSS && float64(sent(s)) < full*room(s)
	})
}

// outgrown is the share of samples in which the send buffer is smaller than what
// both windows would let the sender have in flight. The kernel wants it twice as
// large as the congestion window, so it has reached its maximum long before.
func (v *view) outgrown() float64 {
	return v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.Mem.SendBuf > 0 && float64(s.Mem.SendBuf) < full*room(s)
	})
}

// room is what both windows let the sender have in flight, in bytes.
func room(s *bulk.Sample) float64 {
	if !tellsWindow(&s.TCP) {
		return congestionWindow(s)
	}
	return min(congestionWindow(s), float64(s.TCP.SndWnd))
}

// recovering says whether the sender was repairing a loss (TCP_CA_Recovery,
// TCP_CA_Loss), when its windows do not show what limits it.
func recovering(s *bulk.Sample) bool { return s.TCP.CAState >= 3 }

// samples is the share of the senders' measured samples for which is holds.
func (v *view) samples(is func(*bulk.Sample) bool) float64 {
	n, yes := 0, 0
	for _, f := range v.senders {
		for i := range f.measured {
			n++
			if is(&f.measured[i]) {
				yes++
			}
		}
	}
	return ratio(float64(yes), float64(n))
}
