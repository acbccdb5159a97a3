package flow

import (
	"fmt"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// applicationWindow: the program lets only so much be on its way and waits for
// the far end's word to send more. TCP's clocks show such a flow as busy all the
// time and never held back; what tells is that nothing waits to be sent, that
// the far end's program keeps answering, and that goodput times round trip is a
// window that such programs have.
func applicationWindow(v *view) *diagnose.Finding {
	if v.rtt <= 0 || v.flow.Sends && !v.starved() || v.answers() < 0.5 {
		return nil
	}
	average, peak := float64(v.goodput.BytesIn(v.rtt)), 0.0
	if v.flow.Sends {
		peak = v.quantile(0.95, inflight)
	}
	app := v.app
	var its unit.Size // the application's window that explains this
	known := false
	if app != nil {
		its, known = near(app.windows, average, peak)
	}
	switch {
	case known:
	case !v.flow.Sends || app != nil && app.fixed || v.busy < 0.9:
		// From the receiving end nothing but the application's name tells. And one
		// whose windows are known and do not fit is held back by something else.
		return nil
	case app == nil:
		app, its = wellKnown(average, peak)
	}
	if v.queued() {
		return v.fullByWindow(average)
	}
	who, why, action := v.who(), "", "TCP tuning will not help; a larger window in the program or several transfers will"
	about := size(average)
	switch {
	case known:
		who, why, action, about = app.name, ": "+app.why, app.action, its
	case its > 0:
		why = fmt.Sprintf(" (%v is a window of %s)", its, app.name)
	}
	f := v.found(diagnose.ApplicationWindow, sure(known && v.flow.Sends, its > 0, its > 0 && v.flow.Sends && v.busy > 0.9),
		who+": "+action,
		"%s lets only about %v be on its way at a time%s. It then waits for the far end's program to take it, and a round trip of %s makes %v of that, whatever TCP would allow.",
		who, about, why, unit.Milliseconds(v.rtt), v.goodput)
	f.Add("implied_window", average, "B", "goodput times round trip: %v on its way", size(average))
	if its > 0 {
		f.Add("application_window", float64(its), "B", "a window of %s: %v, which makes %v a round trip", app.name, its, diagnose.WindowRate(its, v.rtt))
	}
	f.Add("answers", v.answers(), "per RTT", "the far end's program answers %.3g times a round trip", v.answers())
	if v.flow.Sends {
		v.addRoom(f)
		v.addSending(f)
	} else {
		v.addReceiving(f)
	}
	return v.predict(f, 2*v.goodput, "of two transfers at a time, since each has a window of its own; more add up until the path is full, and how much it carries a passing look does not tell")
}

// fullByWindow: the window is used up, but what is on its way stands in a queue:
// a larger one would only lengthen that.
func (v *view) fullByWindow(average float64) *diagnose.Finding {
	f := v.found(diagnose.PathCapacity, sure(),
		"nothing to do for this transfer; look for other traffic at the bottleneck",
		"%v are on their way at a time, but part of that stands in a queue: the round trip is %s, %s without it. So some link is full, and a larger window would not help.",
		size(average), unit.Milliseconds(v.rtt), unit.Milliseconds(v.minRTT))
	v.addSending(f)
	return f
}

// who names the program for a sentence.
func (v *view) who() string {
	switch v.flow.Process {
	case "":
		return "the program"
	case Kernel:
		return "the kernel"
	}
	return v.flow.Process
}
