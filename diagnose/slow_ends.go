package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
)

// slowReceiver: the sender waits for the receiver's window, and what fills the
// receiver's buffer is data that its application has not read.
func slowReceiver(v *view) *Finding {
	held := max(v.rwnd, v.windowFull())
	if held < 0.5 || v.unread() <= 0.5 {
		return nil
	}
	f := &Finding{
		Cause:      SlowReceiver,
		Confidence: confidence(count(v.rwnd > 0.5, v.unread() > 0.7), 0),
		Says: fmt.Sprintf("The sender waits for the receiver, and the receiver's buffer is full of data that its application has not read. The application reads %v: no buffer makes it faster.",
			v.goodput),
		Action: "look at what the receiving application does with the data (disk, CPU, a slower hop of its own)",
		weight: held,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.AddShare("rwnd_limited", v.rwnd, "of the time the sender was held back by the receiver's window, by the kernel's clock")
	f.AddShare("unread", v.unread(), "of what the receiver can hold was waiting for its application")
	return v.predictMost(f)
}

// slowSender: for more than a tenth of the time there was nothing to send, or all
// that there was is in flight although windows and buffer have room for more.
func slowSender(v *view) *Finding {
	if len(v.senders) == 0 || v.senders[0].elapsed() <= 0 {
		return nil
	}
	idle, unfilled := v.idle(), v.unfilled()
	if !idle && unfilled < 0.5 {
		return nil
	}
	f := &Finding{
		Cause:      SlowSender,
		Confidence: confidence(count(idle || unfilled > 0.8, unfilled > 0.5, v.loss.packets == 0, !v.queued(v.rtt)), 0),
		Says: fmt.Sprintf("The sending application does not supply data fast enough: for %.2g %% of the time everything it wrote was on its way, and windows and buffer had room for more. Whatever it waits for (disk, CPU, an answer) limits it to %v.",
			100*max(1-v.busy, unfilled), v.goodput),
		Action: "look at what the sending application waits for; no TCP setting makes it faster",
		weight: max(1-v.busy, unfilled),
	}
	f.addGoodput(v)
	f.AddShare("busy", v.busy, "of the time there was data to send or to be acknowledged")
	f.AddShare("unfilled", unfilled, "of the time all that was written was on its way, with room for more")
	return v.predictMost(f)
}

// idle says whether the connection stood still, for want of data, for more than a
// tenth of the time.
func (v *view) idle() bool { return v.busy < 0.9 }

// unfilled is the share of samples in which everything that was written is in
// flight, no window is used up, and the send buffer has room: it may still grow,
// or is at most half full. A buffer that limits swings between two thirds and full
// (see SenderShare).
func (v *view) unfilled() float64 {
	most := v.sendMax().bytes
	return v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.TCP.NotsentBytes < s.TCP.SndMSS && float64(sent(&s.TCP)) < full*room(s) && s.Mem.SendBuf > 0 &&
			(s.Mem.SendQueued < s.Mem.SendBuf/2 || most > 0 && float64(s.Mem.SendBuf) < full*float64(most))
	})
}
