package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// receiverBuffer: the sender waits for the receiver's window, the window no
// longer grows, and the receiving application is not what keeps it small.
func receiverBuffer(v *view) *Finding {
	if len(v.senders) == 0 {
		return v.ownReceiverBuffer()
	}
	held := v.windowHeld()
	if held < 0.5 || v.readsSlowly() || v.scaleLimits() || !v.tellsWindow() && len(v.receivers) == 0 || v.acksFill() || v.suffices(v.window()) {
		return nil // acknowledgements that queue make any window too small
	}
	buffer, limit := v.buffer(v.receivers, receiveBuffer), v.receiveMax()
	known := limit.bytes > 0 && buffer > 0
	if known && float64(buffer) < full*float64(limit.bytes) || !known && v.growing(window) {
		return nil // it may still grow: something else keeps the window small
	}
	offered := v.window()
	carries := v.windowRate()
	explains := Agrees(carries, v.goodput)
	f := &Finding{
		Cause: ReceiverBuffer,
		Confidence: confidence(
			count(known, explains, v.readsAtOnce(), v.rwnd > 0.8),
			count(carries > 0 && !explains)),
		Says: fmt.Sprintf("The sender waits for the receiver: its window of %v is used up on every round trip of %s, which makes %v, and %v was measured. The window is that small because %s.",
			offered, unit.Milliseconds(v.rtt), carries, v.goodput, limit.why),
		Action: limit.action + v.enough(1/ReceiverShare),
		weight: held,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("window", float64(offered), "B", "window that the receiver offers: %v", offered)
	f.Add("window_rate", float64(carries), "b/s", "one window a round trip is %v", carries)
	f.AddShare("rwnd_limited", v.rwnd, "of the time the sender was held back by that window, by the kernel's clock")
	f.AddShare("window_full", v.windowFull(), "of the time the window was used up")
	if buffer > 0 {
		f.Add("receive_buffer", float64(buffer), "B", "receive buffer at the end: %v", buffer)
	}
	if limit.bytes > 0 {
		f.Add("receive_buffer_max", float64(limit.bytes), "B", "its limit: %v (%s)", limit.bytes, limit.name)
	}
	f.AddShare("unread", v.unread(), "of the window's worth was waiting for the application")
	if v.Passing != nil {
		f.Action += ", unless the program there sets SO_RCVBUF; watch there to be sure that it reads in time"
		return v.predictTwice(f, "with a receive buffer twice as large, as far as the path carries it")
	}
	return v.predict(f, v.senderLimit(), v.lossLimit())
}

// readsAtOnce says whether the receiving application was seen to keep up.
func (v *view) readsAtOnce() bool {
	if len(v.receivers) == 0 {
		return v.moves().steady && !v.queued(v.rtt)
	}
	return v.unread() < 0.1
}

// suffices says whether a window would fill the path if nothing queued on it.
// More of it would only lengthen the queue.
func (v *view) suffices(window unit.Size) bool {
	limit, known := v.pathLimit()
	return known && float64(WindowRate(window, v.minRTT)) > healthyShare*float64(limit)
}

// unread is how much of what the receiver could hold was waiting for its
// application: 0 for one that keeps up, towards 1 for one that does not.
func (v *view) unread() float64 {
	waiting := sum(v.receivers, func(f flow) float64 {
		return f.median(func(s *bulk.Sample) float64 { return float64(s.Unread) })
	})
	holds := v.window()
	if len(v.senders) == 0 {
		holds = v.offered()
	}
	return ratio(waiting, waiting+float64(holds))
}

// windowRate is the goodput of one window a round trip, over all streams.
func (v *view) windowRate() unit.Rate {
	return WindowRate(v.window(), v.rtt)
}

// rise is by how much a figure must be larger in the last quarter of the measured
// time than in the one before to count as still growing: less is noise.
const rise = 1.05

// growing says whether a figure of the senders still rises.
func (v *view) growing(figure func(*bulk.Sample) float64) bool {
	for _, f := range v.senders {
		if f.growth(figure) > rise {
			return true
		}
	}
	return false
}

func window(s *bulk.Sample) float64 { return float64(s.TCP.SndWnd) }

// Agrees says whether a model explains a measured rate: within a third, since
// round-trip times and windows are sampled, not followed.
func Agrees(model, measured unit.Rate) bool {
	q := ratio(float64(model), float64(measured))
	return q > 0.75 && q < 1.33
}
