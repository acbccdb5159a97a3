package flow

import (
	"time"

	"github.com/fullbore/fullbore/diagnose"
)

// A cause looks at a view for one limit; nil when the view does not point there.
type cause func(*view) *diagnose.Finding

// What limits a flow that this host sends, the surest signs first, from a rate
// that was asked for to whatever the path does; but none while it still grows.
var sending = []cause{growing, pacingCap, receiverWindow, senderBuffer, applicationWindow, slowSender, lossyPath, fullPath}

// And one that it receives, of which it sees far less.
var receiving = []cause{unread, applicationWindow, receiveBuffer}

var resting = diagnose.Finding{
	Cause: diagnose.Unknown, Gain: 1, Evidence: []diagnose.Fact{},
	Says:   "Idle: hardly anything was sent or received since the last look, and nothing waits. Nothing limits a flow that does not try.",
	Action: "nothing to do",
}

var measuring = diagnose.Finding{
	Cause: diagnose.Unknown, Gain: 1, Evidence: []diagnose.Fact{},
	Says:   "Being measured: the flow has been seen moving for too short a time to tell.",
	Action: "look again in a few seconds",
}

var unexamined = diagnose.Finding{
	Cause: diagnose.Unknown, Gain: 1, Evidence: []diagnose.Fact{},
	Says:   "Not examined: many other flows are faster, and examining all of them would cost too much.",
	Action: "watch fewer flows at a time, or let the faster ones end",
}

var tooOld = diagnose.Finding{
	Cause: diagnose.Unknown, Gain: 1, Evidence: []diagnose.Fact{},
	Says:   "This kernel does not count what limits a sender: it is older than Linux 4.10.",
	Action: "watch the flow with a newer kernel, at either end",
}

// lengthWithClocks is that of a struct tcp_info which has tcpi_sndbuf_limited
// (Linux 4.10).
const lengthWithClocks = 192

// limit names what limits the flow now.
func (v *view) limit() diagnose.Finding {
	last := v.last()
	switch {
	case v.flow.Idle:
		return resting
	case last.TCP.Length < lengthWithClocks:
		return tooOld
	case len(v.samples) < 2 || v.elapsed < max(400*time.Millisecond, 4*v.rtt) && !v.stalled():
		return measuring
	}
	causes := receiving
	if v.flow.Sends {
		causes = sending
	}
	for _, look := range causes {
		if f := look(v); f != nil {
			return *f
		}
	}
	return v.unknown()
}

// stalled says that nothing moves although data waits to be sent.
func (v *view) stalled() bool { return v.goodput == 0 && v.elapsed > time.Second }

// unknown shows what there is, and where more can be seen.
func (v *view) unknown() diagnose.Finding {
	if !v.flow.Sends {
		f := v.found(diagnose.Unknown, 0,
			"watch the sender: only its kernel knows what it waits for",
			"This host receives %v and reads it as it comes, and its window has room. So the limit lies with the sender or the path, which cannot be told from here.", v.goodput)
		v.addReceiving(f)
		return *f
	}
	f := v.found(diagnose.Unknown, 0,
		"measure the path with fullbore diagnose, which can also try other rates and several streams",
		"%v are acknowledged, and no window, buffer, loss or queue explains why it is not more. What is left is what a passing look cannot see: a saturated core, other traffic, or a rate limit on the path.", v.goodput)
	v.addSending(f)
	return *f
}

// addSending are the shares that the causes of a sender are told by.
func (v *view) addSending(f *diagnose.Finding) {
	f.AddShare("busy", v.busy, "of the time there was data to send or to be acknowledged")
	f.AddShare("rwnd_limited", v.rwnd, "of that the receiver's window held the sender back, by the kernel's clock")
	f.AddShare("sndbuf_limited", v.sndbuf, "of that the send buffer held the sender back, by the kernel's clock")
	f.AddShare("window_full", v.share(windowFull), "of the time data waited for the receiver's window")
	f.AddShare("cwnd_full", v.share(cwndFull), "of the time the congestion window was used up")
	f.AddShare("drained", v.share(drained), "of the time all that was written was on its way")
	f.AddShare("retransmitted", ratio(v.losses.resent, v.losses.bytes), "of the bytes were sent again")
}

func (v *view) addReceiving(f *diagnose.Finding) {
	f.AddShare("unread", v.unreadShare(), "of what this host can hold was waiting for its application")
	if window := v.median(offered); window > 0 {
		f.Add("window", window, "B", "this host offers a window of %v", size(window))
	}
}
