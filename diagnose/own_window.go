package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// What a receiver's samples say of its own window, where the sender is not seen.

// offered is the window that a receiver last announced to its peer. Kernels before 6.2 do
// not say, then it is what the buffer has room for. The kernel counts on even where
// the header has no room to say so much.
func offered(s *bulk.Sample) float64 {
	window := float64(s.TCP.RcvWnd)
	if !s.TCP.HasRcvWnd() {
		window = max(0, float64(s.Mem.RecvBuf)*ReceiverShare-float64(s.Unread))
	}
	return min(window, float64(largestOffer(&s.TCP)))
}

// largestOffer is the largest window that a receiver can say.
func largestOffer(t *bulk.TCPInfo) unit.Size {
	if t.Options&bulk.OptWindowScale == 0 {
		return largestWindow(0)
	}
	return largestWindow(int(t.RcvWScale))
}

// offered is the sum over the receivers.
func (v *view) offered() unit.Size {
	return unit.Size(sum(v.receivers, func(f flow) float64 { return f.median(offered) }))
}

// ownWindow is how the receiver's own window is used.
type ownWindow struct {
	limits bool      // all of it is used on every round trip, and it does not grow
	scale  bool      // it is as large as can be said
	size   unit.Size // median
	used   unit.Size // in a round trip
	buffer unit.Size
	most   unit.Size // that can be said
	scaled bool      // a scale was agreed
}

// ownWindow looks at the first receiver. Without timestamps the kernel measures the
// round trip by the window itself, and the one always fits the other.
func (v *view) ownWindow() (w ownWindow) {
	if len(v.receivers) == 0 || len(v.receivers[0].measured) == 0 {
		return w
	}
	f := v.receivers[0]
	last := f.last()
	w.size, w.used = v.offered(), v.goodput.BytesIn(v.rtt)
	w.buffer, w.most = unit.Size(last.Mem.RecvBuf), largestOffer(&last.TCP)
	w.scaled = last.TCP.Options&bulk.OptWindowScale != 0
	w.limits = last.TCP.HasRcvWnd() && last.TCP.Options&bulk.OptTimestamps != 0 && last.TCP.RcvRTT > 0 &&
		w.size > 0 && float64(w.used) >= 0.8*float64(w.size) && f.growth(offered) <= rise &&
		v.unread() <= 0.5 && !v.programWindow().limits
	w.scale = w.size >= w.most
	return w
}

// ownWindowScale is windowScale as the receiver sees it.
func (v *view) ownWindowScale() *Finding {
	w := v.ownWindow()
	if !w.limits || !w.scale {
		return nil
	}
	f := &Finding{
		Cause:      WindowScale,
		Confidence: confidence(count(!w.scaled), 0),
		Says:       fmt.Sprintf("All of this host's window is used on a round trip of %s, and %v is the largest that it can say: no window scale was agreed, or one that is too small.", unit.Milliseconds(v.rtt), w.most),
		Action:     "check " + scaling + " on both ends, then firewalls on the path",
		Gain:       1,
		weight:     1,
	}
	f.addGoodput(v)
	f.addRTT(v)
	return f
}

// ownReceiverBuffer is receiverBuffer as the receiver sees it.
func (v *view) ownReceiverBuffer() *Finding {
	w := v.ownWindow()
	if !w.limits || w.scale {
		return nil
	}
	most := v.receiveMax().bytes
	reached := most > 0 && float64(w.buffer) >= full*float64(most)
	f := &Finding{
		Cause:      ReceiverBuffer,
		Confidence: confidence(count(reached), 0),
		Says:       fmt.Sprintf("This host offers a window of %v, and all of it is used on a round trip of %s. Its buffer of %v has reached the maximum (the third value of %s).", w.size, unit.Milliseconds(v.rtt), w.buffer, rmem),
		Action:     "raise the third value of " + rmem + " on this host",
		Gain:       1,
		weight:     1,
	}
	if !reached {
		f.Says = fmt.Sprintf("This host offers a window of %v, and all of it is used on a round trip of %s. Its buffer of %v is below the maximum, yet does not grow: the program may have fixed it (SO_RCVBUF).", w.size, unit.Milliseconds(v.rtt), w.buffer)
		f.Action = "let the program leave SO_RCVBUF alone; watch the sender to be sure"
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("receive_buffer", float64(w.buffer), "B", "receive buffer: %v", w.buffer)
	f.Add("used", float64(w.used), "B", "%v arrive in a round trip", w.used)
	return v.predictTwice(f, "with a receive buffer twice as large, as far as the path carries it")
}
