package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// windowScale: the window is used up and as large as its 16 bits and the agreed
// shift can say (RFC 7323), although the receiver's buffer would offer more.
func windowScale(v *view) *Finding {
	if len(v.senders) == 0 {
		return v.ownWindowScale()
	}
	held := v.windowHeld()
	if held < 0.5 || !v.scaleLimits() || !v.still() {
		return nil
	}
	shift, agreed := v.scale()
	carries := v.windowRate()
	why, action, sure := v.whoStrips(shift, agreed)
	f := &Finding{
		Cause:      WindowScale,
		Confidence: confidence(count(sure, Agrees(carries, v.goodput), v.unread() < 0.1), count(!Agrees(carries, v.goodput))),
		Says: fmt.Sprintf("The sender waits for the receiver: a window of %v a round trip of %s makes %v, and %v was measured. The window cannot be larger because %s.",
			v.window(), unit.Milliseconds(v.rtt), carries, v.goodput, why),
		Action: action,
		weight: held,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("window", float64(v.window()), "B", "window that the receiver offers: %v", v.window())
	if agreed {
		f.Add("window_scale", float64(shift), "bits", "windows are shifted by %d bits", shift)
	} else {
		f.Add("window_scale", 0, "bits", "no window scale was agreed")
	}
	f.Add("window_max", float64(largestWindow(shift)), "B", "largest window that can be said: %v", largestWindow(shift))
	f.Add("window_rate", float64(carries), "b/s", "one window a round trip is %v", carries)
	f.AddShare("rwnd_limited", v.rwnd, "of the time the sender was held back by that window, by the kernel's clock")
	return v.predict(f, v.receiverLimit(), v.senderLimit(), v.lossLimit())
}

// still says whether the window is what it is for another reason than that the
// application does not read: it does, or the window does not move.
func (v *view) still() bool {
	if len(v.receivers) == 0 {
		return v.moves().steady
	}
	return v.unread() <= 0.5
}

// scaleLimits says whether the advertised windows are as large as their scale
// allows, while the receiver's buffer would allow at least half as much again.
func (v *view) scaleLimits() bool {
	if len(v.senders) == 0 || len(v.senders[0].measured) == 0 {
		return false
	}
	shift, _ := v.scale()
	most := largestWindow(shift)
	each := v.window() / unit.Size(len(v.senders))
	if each == 0 {
		return false
	}
	if float64(each) < full*float64(most) {
		return false
	}
	possible := ReceiverWindow(max(v.receiveMax().bytes, v.buffer(v.receivers, receiveBuffer)))
	return possible == 0 || float64(possible) > 1.5*float64(most)
}

// scale is the shift of the receiver's windows and whether one was agreed.
func (v *view) scale() (shift int, agreed bool) {
	t := &v.senders[0].last().TCP
	if t.Options&bulk.OptWindowScale == 0 {
		return 0, false
	}
	return int(t.SndWScale), true
}

// whoStrips names the one to blame, with what to do; sure if a host's setting
// was seen.
func (v *view) whoStrips(shift int, agreed bool) (why, action string, sure bool) {
	switch {
	case agreed:
		return fmt.Sprintf("the receiver chose a shift of only %d bits when the connection was opened", shift),
			"raise the third value of " + rmem + " on the receiver: Linux derives the shift from it", v.ReceiverHost != nil
	case off(v.SenderHost):
		return scaling + " is 0 on the sender, so that no window scale is agreed",
			"set " + scaling + " to 1 on the sender", true
	case off(v.ReceiverHost):
		return scaling + " is 0 on the receiver, so that no window scale is agreed",
			"set " + scaling + " to 1 on the receiver", true
	case v.SenderHost != nil && v.ReceiverHost != nil:
		return "both hosts offer a window scale and none arrives: something on the path strips the option",
			"find the firewall or proxy that removes the window scale option from SYN packets; no setting of the hosts helps", true
	}
	return "no window scale was agreed: one end does not offer it, or something on the path strips it",
		"check " + scaling + " on both ends, then firewalls on the path", false
}

func off(h *host.Facts) bool { return h != nil && h.Tunables[scaling] == "0" }

// largestWindow that a 16-bit field shifted by so many bits can say.
func largestWindow(shift int) unit.Size { return 65535 << min(max(shift, 0), 14) }
