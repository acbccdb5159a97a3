package diagnose

import (
	"fmt"
	"math"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// pacingCap: the sender's own host lets no more out, by a rate set on the socket
// or on the queue before its interface, and that is what arrives.
func pacingCap(v *view) *Finding {
	c := v.ownCap()
	explained := ratio(float64(v.goodput), float64(c.goodput))
	// A shaper's bucket and the headers it counts make some percent.
	if explained < 0.85 || explained > 1.1 {
		return nil
	}
	if capacity, known := v.capacity(); known && float64(capacity.High) < 0.9*float64(c.rate) {
		return nil // the path is narrower
	}
	precise := explained > 0.95 && explained < 1.02
	f := &Finding{
		Cause: PacingCap,
		Confidence: confidence(
			1+count(precise, explained > 0.9, c.fills(v)),
			count(v.rwnd > 0.5)+count(v.sndbuf > 0.5)),
		Says: fmt.Sprintf("The sender lets no more out: %s is %v, which makes %v of payload, and %v arrive. That is a setting and not the path's limit.",
			c.what, c.rate, c.goodput, v.goodput),
		Action: c.action,
		weight: 1,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("cap", float64(c.rate), "b/s", "%s: %v", c.what, c.rate)
	f.Add("cap_goodput", float64(c.goodput), "b/s", "%v of that is payload", c.goodput)
	if beyond, by := v.beyond(); beyond > 0 && c.shaper {
		f.Add("beyond", float64(beyond), "b/s", "beyond it there may be %v (a guess: %s)", beyond, by)
	}
	return v.predict(f, v.receiverLimit(), v.senderLimit(), v.lossLimit())
}

// ownCap is the lowest rate that the sender's host sets.
type ownCap struct {
	rate    unit.Rate // of packets, or of payload where the socket paces; 0: none
	goodput unit.Rate // that fits into it
	shaper  bool      // a queue's, which probes have to pass, too
	what    string
	action  string
}

func (v *view) ownCap() ownCap {
	least := v.shaper()
	if socket := v.pacing(); socket.rate > 0 && (least.rate == 0 || socket.goodput < least.goodput) {
		least = socket
	}
	return least
}

// pacing is the cap of all sockets together. The kernel counts payload, as long
// as TCP paces by itself (tcp_update_skb_after_send, net/ipv4/tcp_output.c).
func (v *view) pacing() ownCap {
	total := 0.0
	for _, f := range v.senders {
		if len(f.measured) == 0 {
			return ownCap{}
		}
		most := f.last().TCP.MaxPacingRate
		if most == 0 || most == math.MaxUint32 { // none, as kernels before 4.20 say it; later ones say what no flow reaches
			return ownCap{}
		}
		total += 8 * float64(most)
	}
	return ownCap{rate: unit.Rate(total), goodput: unit.Rate(total), what: "the pacing rate set on its sockets (SO_MAX_PACING_RATE)",
		action: "let the sending application raise or drop SO_MAX_PACING_RATE (iperf3 has --fq-rate for it)"}
}

// shaper is the lowest rate of a queue before an interface that the sender uses.
func (v *view) shaper() ownCap {
	least := ownCap{}
	for _, i := range v.devices(sender) {
		for _, q := range i.Qdiscs {
			rate := q.Rate
			if q.PerFlow {
				rate *= unit.Rate(max(1, len(v.senders)))
			}
			if !(rate > 0 && rate < path.Fastest) || least.rate > 0 && rate >= least.rate {
				continue
			}
			name, kind := printable.Line(i.Name), printable.Line(q.Kind)
			least = ownCap{
				rate: rate, goodput: unit.Rate(float64(rate) * v.payloadShare()), shaper: true,
				what:   fmt.Sprintf("the rate of the %s queue on %s", kind, name),
				action: fmt.Sprintf("raise or remove the shaper, if it is not there on purpose: tc qdisc show dev %s", name),
			}
		}
	}
	return least
}

// fills says whether the sender had data waiting for its turn.
func (c ownCap) fills(v *view) bool { return v.unfilled() < 0.5 && v.busy > 0.9 }

// shaped says whether a probed rate is that of the sender's own shaper, which
// the probes had to pass: what lies beyond is not known then. Where the way back
// carries no more either, the shaper does no harm.
func (v *view) shaped(rate unit.Rate) bool {
	s := v.shaper()
	if s.rate <= 0 || float64(rate) < 0.9*float64(s.rate) || float64(rate) > 1.1*float64(s.rate) {
		return false
	}
	beyond, _ := v.beyond()
	return beyond == 0 || float64(beyond) > 1.1*float64(rate)
}

// beyond is a guess at what the path carries behind the sender's shaper: what it
// carries the other way, or else the speed of the sender's interface: of the one
// that the route names, of the slowest that carried the transfer where that is not
// reported; 0 if neither is known.
func (v *view) beyond() (rate unit.Rate, by string) {
	if back := v.Path.Way(v.Direction != bulk.Reverse); back != nil {
		c := back.Capacity
		if c.Measured() {
			return c.Rate, "what the path carries the other way"
		}
	}
	speed := 0
	for _, l := range v.used(sender) {
		i, known := v.device(sender, l.Name)
		if !known || i.Speed <= 0 {
			continue
		}
		if l.Route {
			speed = i.Speed
			break
		}
		if speed == 0 {
			speed = i.Speed
		}
		speed = min(speed, i.Speed)
	}
	if speed == 0 {
		return 0, ""
	}
	return unit.Rate(speed) * unit.Mbps, "the speed of the sender's interface"
}
