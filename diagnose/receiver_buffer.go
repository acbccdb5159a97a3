package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Tunables that diagnosis reads, by their names in the catalogue.
const (
	rmem     = "net.ipv4.tcp_rmem"
	wmem     = "net.ipv4.tcp_wmem"
	moderate = "net.ipv4.tcp_moderate_rcvbuf"
	scaling  = "net.ipv4.tcp_window_scaling"
)

// full is the share of its maximum at which a buffer or window counts as used
// up: maxima are rounded to packets, and autotuning stops just below.
const full = 0.9

// receiverBuffer: the sender waits for the receiver's window, the window no
// longer grows, and the receiving application is not what keeps it small.
func receiverBuffer(v *view) *Finding {
	held := max(v.rwnd, v.windowFull())
	if held < 0.5 || v.growing(window) || v.unread() > 0.5 || v.scaleLimits() {
		return nil
	}
	buffer, limit := v.buffer(v.receivers, received), v.receiveMax()
	if limit.bytes > 0 && buffer > 0 && float64(buffer) < full*float64(limit.bytes) {
		return nil // it may still grow: something else keeps the window small
	}
	offered := v.window()
	carries := v.windowRate()
	explains := agrees(carries, v.goodput)
	f := &Finding{
		Cause: ReceiverBuffer,
		Confidence: confidence(
			count(limit.bytes > 0 && buffer > 0, explains, len(v.receivers) > 0 && v.unread() < 0.1, v.rwnd > 0.8),
			count(carries > 0 && !explains)),
		Says: fmt.Sprintf("The sender waits for the receiver: its window of %v is used up on every round trip of %s, which makes %v, and %v was measured. The window is that small because %s.",
			offered, unit.Milliseconds(v.rtt), carries, v.goodput, limit.why),
		Action: limit.action,
		weight: held,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.add("window", float64(offered), "B", "window that the receiver offers: %v", offered)
	f.add("window_rate", float64(carries), "b/s", "one window a round trip is %v", carries)
	f.addShare("rwnd_limited", v.rwnd, "of the time the sender was held back by that window, by the kernel's clock")
	f.addShare("window_full", v.windowFull(), "of the time the window was used up")
	if buffer > 0 {
		f.add("receive_buffer", float64(buffer), "B", "receive buffer at the end: %v", buffer)
	}
	if limit.bytes > 0 {
		f.add("receive_buffer_max", float64(limit.bytes), "B", "its limit: %v (%s)", limit.bytes, limit.name)
	}
	f.addShare("unread", v.unread(), "of the window's worth was waiting for the application")
	return v.predict(f, v.senderLimit(), v.lossLimit())
}

// bufferMax is what bounds a socket buffer.
type bufferMax struct {
	bytes  unit.Size // 0: the host does not tell
	name   string
	why    string // completes "because ..."
	action string
}

func (v *view) receiveMax() bufferMax {
	maximum := tunable(v.ReceiverHost, rmem, 2)
	switch {
	case v.Transfer.Spec.RecvBuf > 0:
		fixed := v.buffer(v.receivers, received)
		return bufferMax{fixed, "SO_RCVBUF",
			fmt.Sprintf("the application fixed its receive buffer at %v, which turns autotuning off", fixed),
			"let the application leave SO_RCVBUF alone, or ask for more and raise net.core.rmem_max on the receiver"}
	case v.ReceiverHost != nil && v.ReceiverHost.Tunables[moderate] == "0":
		fixed := tunable(v.ReceiverHost, rmem, 1)
		return bufferMax{fixed, moderate + "=0",
			fmt.Sprintf("autotuning is off on the receiver, so its buffer stays at %v", fixed),
			"set " + moderate + " to 1 on the receiver"}
	case maximum > 0:
		return bufferMax{maximum, "the third value of " + rmem,
			fmt.Sprintf("the receiver's buffer may not grow beyond %v, the third value of %s", maximum, rmem),
			"raise the third value of " + rmem + " on the receiver"}
	}
	return bufferMax{why: "the receiver's buffer has stopped growing; its limits are not known here",
		action: "raise the maximum of the receive buffer on the receiver (on Linux the third value of " + rmem + ")"}
}

// unread is how much of what the receiver could hold was waiting for its
// application: 0 for one that keeps up, towards 1 for one that does not.
func (v *view) unread() float64 {
	waiting := sum(v.receivers, func(f flow) float64 {
		return f.median(func(s *bulk.Sample) float64 { return float64(s.Unread) })
	})
	return ratio(waiting, waiting+float64(v.window()))
}

// windowRate is the goodput of one window a round trip, over all streams.
func (v *view) windowRate() unit.Rate {
	return WindowRate(v.window(), v.rtt)
}

// growing says whether a figure of the senders still rises by more than a
// twentieth from one quarter of the measured time to the next.
func (v *view) growing(figure func(*bulk.Sample) float64) bool {
	for _, f := range v.senders {
		if f.growth(figure) > 1.05 {
			return true
		}
	}
	return false
}

// buffer is the sum over the streams of a socket buffer's limit.
func (v *view) buffer(flows []flow, which func(flow) float64) unit.Size {
	if len(flows) == 0 {
		return 0
	}
	return unit.Size(sum(flows, which) / float64(len(flows)))
}

func received(f flow) float64 {
	return max(f.median(func(s *bulk.Sample) float64 { return float64(s.Mem.RecvBuf) }), float64(f.RecvBuf))
}

func queued(f flow) float64 {
	return max(f.median(func(s *bulk.Sample) float64 { return float64(s.Mem.SendBuf) }), float64(f.SendBuf))
}

func window(s *bulk.Sample) float64 { return float64(s.TCP.SndWnd) }

// agrees says whether a model explains a measured rate: within a third, since
// round-trip times and windows are sampled, not followed.
func agrees(model, measured unit.Rate) bool {
	q := ratio(float64(model), float64(measured))
	return q > 0.75 && q < 1.33
}
