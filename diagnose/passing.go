package diagnose

import (
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Passing says that evidence is of a running flow of any program, seen in passing
// and from one end: of the sender or the receiver there are no samples, nothing was
// probed, and nothing can be tried. What it has beside that of a transfer of
// fullbore's own is here.
type Passing struct {
	Program       string // its name; "": not known
	Local, Remote uint16 // ports
	Losses        Losses // of late, which may be longer than the samples go back
}

// sureAtMost bounds how sure a look in passing can be, from one end only.
const sureAtMost = 0.95

// InPassing names what limits a running flow, by the same rules as Diagnose and
// with less to go by. It is never Healthy: how much the path carries is not known.
func InPassing(e *Evidence) Finding {
	v := newView(e)
	v.judge(passing)
	inOrder(v.findings)
	f := verdict(v, v.findings)
	switch {
	case v.found(ShortTransfer) != nil: // a running flow is not too short, it has only just begun
		f = v.unlimited("The connection is still getting faster, and its windows are still opening: it has not reached its limit.", "look again in a few seconds")
	case f.Cause == Unknown:
		f = v.unknownInPassing()
	}
	f.Confidence = min(f.Confidence, sureAtMost)
	v.addShares(&f)
	return f
}

// unlimited is a finding of no cause.
func (v *view) unlimited(says, action string) Finding {
	f := Finding{Cause: Unknown, Gain: 1, Says: says, Action: action}
	f.addGoodput(v)
	f.addRTT(v)
	return f
}

// unknownInPassing says what there is, and where more can be seen.
func (v *view) unknownInPassing() Finding {
	switch {
	case len(v.senders) == 0:
		return v.unlimited(
			fmt.Sprintf("This host receives %v and reads it as it comes, and its window has room. So the limit lies with the sender or the path, which cannot be determined from here.", v.goodput),
			"watch the sender: only its kernel knows what it waits for")
	case v.windowHeld() >= 0.5 && !v.tellsWindow():
		return v.unlimited(
			"The sender waits for the receiver's window. Whether its buffer is too small or its program reads too slowly cannot be determined: this kernel does not say how large the window is, as Linux does since 5.4.",
			"watch the receiver, or watch here with Linux 5.4 or newer")
	}
	return v.unlimited(
		fmt.Sprintf("%v are acknowledged, and no window, buffer, loss or queue explains why it is not more. What is left is what a passing look cannot see: a saturated core, other traffic, or a rate limit on the path.", v.goodput),
		"measure the path with fullbore diagnose, which can also try other rates and several streams")
}

// addShares are the figures by which causes are recognised, those that a finding does
// not have.
func (v *view) addShares(f *Finding) {
	add := func(name string, share float64, says string) {
		if _, has := f.Value(name); !has {
			f.AddShare(name, share, says)
		}
	}
	if len(v.senders) == 0 {
		add("unread", v.unread(), "of what this host can hold was waiting for its application")
		if _, has := f.Value("window"); !has && v.offered() > 0 {
			f.Add("window", float64(v.offered()), "B", "this host offers a window of %v", v.offered())
		}
		return
	}
	add("busy", v.busy, "of the time there was data to send or to be acknowledged")
	add("rwnd_limited", v.rwnd, "of that the receiver's window held the sender back, by the kernel's clock")
	add("sndbuf_limited", v.sndbuf, "of that the send buffer held the sender back, by the kernel's clock")
	add("window_full", v.windowFull(), "of the time data waited for the receiver's window")
	add("cwnd_full", v.cwndFull(), "of the time the congestion window was used up")
	add("drained", v.drained(), "of the time all that was written was in flight")
	add("retransmitted", v.loss.share, "of the bytes were sent again")
}

// goodputInPassing is what was acknowledged, or received, over the samples.
func (v *view) goodputInPassing() (rate unit.Rate, over time.Duration) {
	moved := func(flows []flow, counter func(*bulk.TCPInfo) uint64) {
		for _, f := range flows {
			over = max(over, f.elapsed())
			if elapsed := f.elapsed(); elapsed > 0 {
				rate += unit.Rate(8 * f.delta(counter) / elapsed.Seconds())
			}
		}
	}
	moved(v.senders, func(t *bulk.TCPInfo) uint64 { return t.BytesAcked })
	if len(v.senders) == 0 {
		moved(v.receivers, func(t *bulk.TCPInfo) uint64 { return t.BytesReceived })
	}
	return rate, over
}

// predictTwice says what an action brings that makes twice as much of what limits,
// where it is not known what the path carries.
func (v *view) predictTwice(f *Finding, rests string) *Finding {
	f.Gain = 1
	if v.goodput <= 0 {
		return f
	}
	f.Predicted, f.Gain = 2*v.goodput, 2
	f.Add("predicted_goodput", float64(f.Predicted), "b/s", "%v expected: %s", f.Predicted, rests)
	return f
}
