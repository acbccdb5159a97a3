package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// senderBuffer: all that fits into the send buffer is in flight, no window is
// used up, and the buffer no longer grows.
func senderBuffer(v *view) *Finding {
	held, stuck := v.sendHeld()
	if v.Passing != nil && v.sndbuf < clockRan {
		return nil // its program may just write no more
	}
	if held < 0.5 || v.halfEmpty() > 0.5 || v.windowFull() > 0.5 || v.cwndFull() > 0.5 && v.outgrown() < 0.5 && !stuck {
		return nil
	}
	buffer, limit := v.buffer(v.senders, sendBuffer), v.sendMax()
	if buffer > 0 && float64(buffer) < full*float64(limit.bytes) {
		return nil // it may still grow, or the application does not fill it
	}
	if v.suffices(SenderWindow(buffer) * unit.Size(len(v.senders))) {
		return nil
	}
	// What is in flight on average is goodput times round trip whatever limits
	// it (Little's law): only the buffer's own size is a second opinion.
	carries := WindowRate(SenderWindow(buffer), v.rtt) * unit.Rate(len(v.senders))
	explains := Agrees(carries, v.goodput)
	if stuck && !explains && carries < v.goodput {
		return nil
	}
	makes := fmt.Sprintf("its buffer of %v on a round trip of %s made %v", buffer, unit.Milliseconds(v.rtt), v.goodput)
	if explains {
		makes = fmt.Sprintf("its buffer of %v on a round trip of %s makes about %v, and %v was measured", buffer, unit.Milliseconds(v.rtt), carries, v.goodput)
	}
	f := &Finding{
		Cause: SenderBuffer,
		Confidence: confidence(
			count(limit.bytes > 0 && buffer > 0, explains, v.sndbuf > 0.2, v.drained() > 0.8, v.outgrown() > 0.5, stuck),
			count(carries > v.goodput && !explains)), // less than the buffer allows: something else limits
		Says:   fmt.Sprintf("The sender has nothing left to send although both windows are open: %s. No more is in flight because %s.", makes, limit.why),
		Action: limit.action + v.enough(1/SenderShare),
		weight: held,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("buffer_rate", float64(carries), "b/s", "what such a buffer keeps in flight makes %v (5/6 of it, on average, a round trip)", carries)
	f.AddShare("sndbuf_limited", v.sndbuf, "of the time the sender was held back by its own buffer, by the kernel's clock")
	f.AddShare("drained", v.drained(), "of the time all that was written was in flight and no window was used up")
	f.AddShare("buffer_outgrown", v.outgrown(), "of the time both windows had room for more than the buffer holds")
	if buffer > 0 {
		f.Add("send_buffer", float64(buffer), "B", "send buffer at the end: %v", buffer)
	}
	if limit.bytes > 0 {
		f.Add("send_buffer_max", float64(limit.bytes), "B", "its limit: %v (%s)", limit.bytes, limit.name)
	}
	if v.Passing != nil {
		return v.predictTwice(f, "with a send buffer twice as large, as far as the path and the receiver's window carry it")
	}
	return v.predict(f, v.receiverLimit(), v.lossLimit())
}

// sendHeld is the share of the time in which the send buffer held the sender
// back; stuck if the congestion window shows it, which stops growing for no other
// reason.
func (v *view) sendHeld() (held float64, stuck bool) {
	// Linux lets a writer fill the congestion window well beyond the buffer, then
	// wakes it only when the queue has drained below: what it sends comes in
	// bursts, half of the samples show a full window and half an idle path.
	held = max(v.sndbuf, v.drained())
	if held > 0.2 {
		held = max(held, v.outgrown())
	}
	// A congestion window that is used up and yet does not grow, though nothing
	// is lost and nothing queues, is no larger than the buffer lets it be.
	stuck = v.cwndFull() > 0.5 && v.goodput > 0 && v.loss.packets == 0 && !v.queued(v.rtt) && !v.growing(congestionWindow) && !IsBBR(v.congestion())
	if stuck {
		held = max(held, v.cwndFull())
	}
	// A buffer that is too small even to repair a loss keeps the sender at it.
	if v.end(sender).Counters["TcpExt.TCPWqueueTooBig"] > 0 && v.samples(recovering) > 0.5 {
		held, stuck = max(held, v.samples(recovering)), true
	}
	return held, stuck
}

// halfEmpty is the share of samples in which everything that was written is in
// flight and takes less than half of the buffer, as far as the kernel reports it: one
// that limits swings between two thirds and full (see SenderShare).
func (v *view) halfEmpty() float64 {
	return v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.TCP.NotsentBytes < s.TCP.SndMSS && s.Mem.SendQueued > 0 && s.Mem.SendQueued < s.Mem.SendBuf/2
	})
}
