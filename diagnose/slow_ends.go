package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
)

// slowReceiver: the sender waits for the receiver's window, and what fills the
// receiver's buffer is data that its application has not read.
func slowReceiver(v *view) *Finding {
	held, waits := v.windowHeld(), v.unread()
	f := &Finding{
		Cause:  SlowReceiver,
		Action: "look at what the receiving application does with the data (disk, CPU, a slower hop of its own); no TCP setting makes it faster",
		weight: held,
	}
	f.addGoodput(v)
	f.addRTT(v)
	switch {
	case !v.readsSlowly():
		return nil
	case len(v.senders) == 0:
		f.weight = 1
		f.Confidence = confidence(1+count(waits > 0.7), 0)
		f.Says = fmt.Sprintf("What arrives waits for the program on this host, which reads only %v: the buffer is full, and the sender has to wait.", v.goodput)
		f.Action = "look at what this program does with the data (disk, CPU, a slower hop of its own); no TCP setting makes it faster"
	case held < 0.5:
		return nil
	case len(v.receivers) == 0:
		if v.scaleLimits() && v.still() {
			return nil
		}
		m := v.moves()
		f.Confidence = confidence(m.signs(), 0)
		f.Says = fmt.Sprintf("The sender waits for the receiver, whose window moves between %v and %v: it fills up because the receiving program reads only %v.", m.low, m.high, v.goodput)
		m.facts(f)
	default:
		f.Confidence = confidence(count(v.rwnd > 0.5, waits > 0.7), 0)
		f.Says = fmt.Sprintf("The sender waits for the receiver, and the receiver's buffer is full of data that its application has not read. The application reads %v: no buffer makes it faster.", v.goodput)
		f.AddShare("rwnd_limited", v.rwnd, "of the time the sender was held back by the receiver's window, by the kernel's clock")
		f.AddShare("unread", waits, "of what the receiver can hold was waiting for its application")
	}
	return v.predictMost(f)
}

// slowSender: for more than a tenth of the time there was nothing to send, or all
// that there was is in flight although windows and buffer have room for more.
func slowSender(v *view) *Finding {
	if len(v.senders) == 0 || v.senders[0].elapsed() <= 0 {
		return nil
	}
	idle, unfilled := v.idle(), v.unfilled()
	if !idle && unfilled < 0.5 || v.programWindow().limits {
		return nil
	}
	says := fmt.Sprintf("The sending application does not supply data fast enough: for %s of the time everything it wrote was in flight, and windows and buffer had room for more. Whatever it waits for (disk, CPU, an answer) limits it to %v.",
		percent(max(1-v.busy, unfilled)), v.goodput)
	if idle {
		says = fmt.Sprintf("The sending application leaves the connection empty for %s of the time. Whatever it waits for (disk, CPU, an answer) limits it to %v.", percent(1-v.busy), v.goodput)
	}
	f := &Finding{
		Cause:      SlowSender,
		Confidence: confidence(count(idle || unfilled > 0.8, unfilled > 0.5, v.loss.packets == 0, !v.queued(v.rtt)), 0),
		Says:       says,
		Action:     "look at what the sending application waits for; no TCP setting makes it faster",
		weight:     max(1-v.busy, unfilled),
	}
	f.addGoodput(v)
	f.AddShare("busy", v.busy, "of the time there was data to send or to be acknowledged")
	f.AddShare("unfilled", unfilled, "of the time all that was written was in flight, with room for more")
	return v.predictMost(f)
}

// idle says whether the connection waited for data for more than a
// tenth of the time.
func (v *view) idle() bool { return v.busy < 0.9 }

// unfilled is the share of samples in which everything that was written is in
// flight, no window is used up, and the send buffer has room: it may still grow,
// or is at most half full. A buffer that limits swings between two thirds and full
// (see SenderShare). Of another program's flow the kernel's clock is a sign as well: it
// has barely run where the program never waited for room.
func (v *view) unfilled() float64 {
	most, never := v.sendMax().bytes, v.Passing != nil && v.sndbuf < clockRan
	return v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.TCP.NotsentBytes < s.TCP.SndMSS && float64(sent(s)) < full*room(s) && s.Mem.SendBuf > 0 &&
			(never || s.Mem.SendQueued < s.Mem.SendBuf/2 || float64(s.Mem.SendBuf) < full*float64(most))
	})
}

// clockRan is the share of the time from which on the kernel's clock of a full send
// buffer says that it was full at some time: the clock stands while pacing or the
// congestion window is what blocked last.
const clockRan = 0.01

// readsSlowly says whether the receiving application keeps the window small by not
// reading. The receiver's own figures show it; where there are none, the window's moves do.
func (v *view) readsSlowly() bool {
	if len(v.receivers) == 0 {
		return v.moves().signs() > 0
	}
	return v.unread() > 0.5
}
