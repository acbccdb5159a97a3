package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// senderBuffer: all that fits into the send buffer is in flight, no window is
// used up, and the buffer no longer grows.
func senderBuffer(v *view) *Finding {
	held := max(v.sndbuf, v.drained())
	if held < 0.5 || v.windowFull() > 0.5 || v.cwndFull() > 0.5 {
		return nil
	}
	buffer, limit := v.buffer(v.senders, queued), v.sendMax()
	if limit.bytes > 0 && buffer > 0 && float64(buffer) < full*float64(limit.bytes) {
		return nil // it may still grow, or the application does not fill it
	}
	flight := unit.Size(sum(v.senders, func(f flow) float64 {
		return f.median(func(s *bulk.Sample) float64 { return float64(sent(&s.TCP)) })
	}))
	carries := WindowRate(flight, v.rtt)
	explains := agrees(carries, v.goodput)
	f := &Finding{
		Cause: SenderBuffer,
		Confidence: confidence(
			count(limit.bytes > 0 && buffer > 0, explains, v.sndbuf > 0.2, v.drained() > 0.8),
			count(carries > 0 && !explains)),
		Says: fmt.Sprintf("The sender has nothing left to send although both windows are open: %v in flight on a round trip of %s makes %v, and %v was measured. No more is in flight because %s.",
			flight, unit.Milliseconds(v.rtt), carries, v.goodput, limit.why),
		Action: limit.action,
		weight: held,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.add("inflight", float64(flight), "B", "in flight: %v", flight)
	f.add("inflight_rate", float64(carries), "b/s", "that much a round trip is %v", carries)
	f.addShare("sndbuf_limited", v.sndbuf, "of the time the sender was held back by its own buffer, by the kernel's clock")
	f.addShare("drained", v.drained(), "of the time all that was written was in flight and no window was used up")
	if buffer > 0 {
		f.add("send_buffer", float64(buffer), "B", "send buffer at the end: %v", buffer)
	}
	if limit.bytes > 0 {
		f.add("send_buffer_max", float64(limit.bytes), "B", "its limit: %v (%s)", limit.bytes, limit.name)
	}
	return v.predict(f, v.receiverLimit(), v.lossLimit())
}

func (v *view) sendMax() bufferMax {
	maximum := tunable(v.SenderHost, wmem, 2)
	switch {
	case v.Transfer.Spec.SendBuf > 0:
		fixed := v.buffer(v.senders, queued)
		return bufferMax{fixed, "SO_SNDBUF",
			fmt.Sprintf("the application fixed its send buffer at %v, which turns autotuning off", fixed),
			"let the application leave SO_SNDBUF alone, or ask for more and raise net.core.wmem_max on the sender"}
	case maximum > 0:
		return bufferMax{maximum, "the third value of " + wmem,
			fmt.Sprintf("the sender's buffer may not grow beyond %v, the third value of %s", maximum, wmem),
			"raise the third value of " + wmem + " on the sender"}
	}
	return bufferMax{why: "the sender's buffer is full; its limits are not known here",
		action: "raise the maximum of the send buffer on the sender (on Linux the third value of " + wmem + ")"}
}
