package diagnose

import (
	"fmt"
	"math"
	"net/netip"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// The highest goodput that each part alone would allow. A finding predicts the
// lowest of those that remain once its own limit is gone.

// payloadShare is the part of a full IP packet that is payload: 1448/1500 with
// timestamps at MTU 1500.
func (v *view) payloadShare() float64 {
	mss := v.mss()
	if mss <= 0 {
		mss = 1448
	}
	return path.PayloadShare(mss+v.headers(), v.headers())
}

// headers of a segment in bytes: IP, TCP, and the timestamps if they were agreed.
func (v *view) headers() float64 {
	bytes := float64(path.Headers)
	if len(v.senders) == 0 || len(v.senders[0].measured) == 0 {
		return bytes
	}
	s := v.senders[0]
	if s.last().TCP.Options&bulk.OptTimestamps == 0 {
		bytes -= 12
	}
	if local, err := netip.ParseAddrPort(s.Local); err == nil && local.Addr().Unmap().Is6() {
		bytes += 20
	}
	return bytes
}

// capacity is the probed rate of the narrowest link. It is not known when
// nothing was measured, when only a lower bound was, when the transfer itself
// proved it wrong by a tenth, or when it is that of the sender's own shaper.
func (v *view) capacity() (c path.Capacity, known bool) {
	d := v.direction()
	if d == nil {
		return path.Capacity{Assumed: true}, false
	}
	c = d.Capacity
	if !c.Plausible() {
		return path.Capacity{Assumed: true}, false
	}
	known = c.Measured() && float64(v.goodput) <= 1.1*float64(c.High)*v.payloadShare() && !v.shaped(c.Rate)
	return c, known
}

// pathLimit is the goodput of a full bottleneck. Where the capacity is not
// known it is a guess for predictions only: the assumed rate, or twice what was
// already reached.
func (v *view) pathLimit() (limit unit.Rate, known bool) {
	c, known := v.capacity()
	if known {
		return unit.Rate(float64(c.Rate) * v.payloadShare()), true
	}
	guess := max(path.AssumedRate, c.Rate)
	if v.shaped(c.Rate) {
		beyond, _ := v.beyond()
		guess = max(guess, beyond)
	}
	return max(unit.Rate(float64(guess)*v.payloadShare()), 2*v.goodput), false
}

// limit is the goodput that one part allows; infinite if it is not known.
type limit struct {
	rate unit.Rate
	by   string // completes "then limited by ..."
}

// receiverLimit is that of the receiver's largest window.
func (v *view) receiverLimit() limit {
	buffer := tunable(v.ReceiverHost, rmem, 2)
	if fixed := v.Transfer.Spec.RecvBuf; fixed > 0 {
		buffer = v.buffer(v.receivers, receiveBuffer)
	}
	return limit{v.bufferLimit(ReceiverWindow(buffer)), fmt.Sprintf("the receiver's buffer of at most %v", buffer)}
}

// senderLimit is the same of the send buffer.
func (v *view) senderLimit() limit {
	buffer := tunable(v.SenderHost, wmem, 2)
	if fixed := v.Transfer.Spec.SendBuf; fixed > 0 {
		buffer = v.buffer(v.senders, sendBuffer)
	}
	return limit{v.bufferLimit(SenderWindow(buffer)), fmt.Sprintf("the sender's buffer of at most %v", buffer)}
}

func (v *view) bufferLimit(window unit.Size) unit.Rate {
	if window <= 0 || v.rtt <= 0 {
		return unit.Rate(math.Inf(1))
	}
	return WindowRate(window, v.rtt) * unit.Rate(max(1, len(v.senders)))
}

// lossLimit is what the congestion control will reach with the loss seen, if that
// loss is not caused by itself and happened often enough to give a rate.
func (v *view) lossLimit() limit {
	if v.loss.events < 3 || v.queued(v.loss.rttAt) {
		return limit{unit.Rate(math.Inf(1)), ""}
	}
	return limit{v.lossRate(), "the loss that was seen"}
}

// lossRate is the goodput that the response function gives for the loss seen;
// infinite without loss.
func (v *view) lossRate() unit.Rate {
	window := LossWindow(v.congestion(), v.loss.rate, v.rtt) * v.mss()
	if !(window > 0) { // also NaN
		return unit.Rate(math.Inf(1))
	}
	return unit.Rate(window*8/v.rtt.Seconds()) * unit.Rate(len(v.senders))
}

// lossModel is lossRate, and whether it explains what was measured: within a
// factor of three, since windows are sampled and response functions are averages
// over many losses.
func (v *view) lossModel() (model unit.Rate, fits bool) {
	model = v.lossRate()
	off := ratio(float64(model), float64(v.goodput))
	return model, off > 1.0/3 && off < 3
}

// predictMost is predict where it is not known what comes after the cause: a faster
// disk may still be too slow.
func (v *view) predictMost(f *Finding) *Finding {
	v.predict(f, v.receiverLimit(), v.senderLimit(), v.lossLimit())
	if v.Passing != nil {
		return f
	}
	last := &f.Evidence[len(f.Evidence)-1]
	last.Says = fmt.Sprintf("%v at most, as much as the network allows", f.Predicted)
	return f
}

// predict completes a finding with the goodput that its action brings: the
// lowest of the limits that remain.
func (v *view) predict(f *Finding, remaining ...limit) *Finding {
	if v.Passing != nil {
		f.Gain = 1
		return f // what remains is not known
	}
	rate, known := v.pathLimit()
	next := limit{rate, "the path"}
	if !known {
		next.by = "the path, whose capacity is not known and was guessed"
	}
	for _, r := range remaining {
		if r.rate < next.rate {
			next = r
		}
	}
	f.Predicted = max(next.rate, v.goodput)
	f.Gain = float64(f.Predicted) / float64(v.goodput)
	f.Add("predicted_goodput", float64(f.Predicted), "b/s", "%v expected after that, then limited by %s", f.Predicted, next.by)
	return f
}
