package flow

import (
	"math"
	"strconv"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// network says that data waits, and that it does not wait for a buffer or for the
// receiver: what holds it back is the congestion control.
func (v *view) network() bool {
	return v.share(drained) < 0.5 && v.rwnd < 0.5 && v.sndbuf < 0.5
}

// lossyPath: the congestion window is kept small by loss, and no queue stands
// that could explain it. A bucket that drops above a rate (a policer) and a queue
// that is far too short look the same from here, so this is never very sure.
func lossyPath(v *view) *diagnose.Finding {
	l := &v.losses
	if !v.network() || l.events < 1 || l.segments <= 0 || v.queued() || diagnose.IsBBR(v.flow.Congestion) {
		return nil
	}
	model := v.lossRate()
	fits := ratio(float64(model), float64(v.goodput))
	every := strconv.FormatFloat(math.Round(ratio(1, l.rate())), 'f', 0, 64)
	confidence := 0.5
	if l.events >= 3 && fits > 1.0/3 && fits < 3 {
		confidence = 0.6
	}
	f := v.found(diagnose.RandomLoss, confidence,
		"look for the link that loses packets, or use a congestion control that does not take loss for congestion, such as bbr; fullbore diagnose tells random loss from a policer or a short queue",
		"Packets are lost although no queue builds up, and %s takes every loss for congestion: with one loss in %s packets it reaches about %v on a round trip of %s.",
		v.flow.Congestion, every, model, unit.Milliseconds(v.rtt))
	f.Add("loss_events", l.rate(), "per packet", "packets were lost %.0f times of late, once in %s packets", l.events, every)
	f.Add("loss_rate_limit", float64(model), "b/s", "%s can reach %v with this loss (response function)", v.flow.Congestion, model)
	v.addSending(f)
	return f
}

// lossRate is the goodput that the response function gives for the loss seen.
func (v *view) lossRate() unit.Rate {
	packets := diagnose.LossWindow(v.flow.Congestion, v.losses.rate(), v.rtt)
	return unit.Rate(ratio(packets*float64(v.last().TCP.SndMSS)*8, v.rtt.Seconds()))
}

// fullPath: data waits and a queue stands on the path, or BBR sends at the rate
// at which it has seen the path deliver.
func fullPath(v *view) *diagnose.Finding {
	if !v.network() {
		return nil
	}
	switch {
	case v.queued():
		f := v.found(diagnose.PathCapacity, sure(v.rtt > 3*v.minRTT/2, v.share(cwndFull) > 0.5),
			"nothing to tune on this host; look for other traffic at the bottleneck",
			"The sender fills a queue on the path: the round trip is %s, %s without it. So some link is full at %v, whether by this flow alone or with others.",
			unit.Milliseconds(v.rtt), unit.Milliseconds(v.minRTT), v.goodput)
		v.addSending(f)
		return f
	case diagnose.IsBBR(v.flow.Congestion) && diagnose.Agrees(unit.Rate(8*float64(v.last().TCP.PacingRate)), v.goodput):
		f := v.found(diagnose.PathCapacity, sure(),
			"fullbore diagnose measures the path itself; this rests on what BBR believes",
			"BBR sends at %v, the rate at which it has seen the path deliver, and data waits behind it. So the path gives no more, whether by its capacity or by what others leave.", v.goodput)
		v.addSending(f)
		return f
	}
	return nil
}

// growing: the congestion window is still opening, and the flow gets faster with
// it: it has not come to its limit.
func growing(v *view) *diagnose.Finding {
	if v.growth(cwnd) < 1.2 || v.speedUp() < 1.2 {
		return nil
	}
	f := v.found(diagnose.Unknown, 0, "look again in a few seconds",
		"The connection is still getting faster, and its congestion window is still opening: it has not come to its limit.")
	v.addSending(f)
	return f
}

// speedUp is the rate in the second half of the view over that in the first; 1
// where that cannot be told.
func (v *view) speedUp() float64 {
	if len(v.samples) < 8 {
		return 1
	}
	middle := &v.samples[len(v.samples)/2]
	before := ratio(float64(middle.TCP.BytesAcked-v.base.TCP.BytesAcked), (middle.At - v.base.At).Seconds())
	after := ratio(float64(v.last().TCP.BytesAcked-middle.TCP.BytesAcked), (v.last().At - middle.At).Seconds())
	if before <= 0 {
		return 1
	}
	return after / before
}
