package twin

import (
	"fmt"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// link is the rate of the narrowest link of a way, and how it is known.
type link struct {
	rate, low, high unit.Rate
	how             Knowledge
	why             string
}

func (l link) key() Key {
	k := Key{How: l.how, Why: l.why}
	if l.low > 0 {
		k.Low = l.low.String()
	}
	if l.high > 0 && l.how != AtLeast {
		k.High = l.high.String()
	}
	return k
}

// tight is the width of an interval, as a share of the rate, within which packet trains
// are taken at their word. Beyond it a full link is the better measure: jitter and busy
// processors spread trains, and even out over a transfer.
const tight = 0.05

// trains is what packet trains say of a way.
func trains(d *path.Direction) (l link, measured bool) {
	c := d.Capacity
	if !c.Measured() || c.Low <= 0 || c.Low > c.High {
		return l, false
	}
	return link{c.Rate, c.Low, c.High, Measured, "dispersion of packet trains"}, true
}

// linkThere is the rate of the data's way, before it is known whether a transfer filled it.
func (s *seen) linkThere() link {
	reached, peak := s.most()
	if l, ok := trains(s.there); ok {
		if shaped := shaper(s.a, s.used(true)); shaped > 0 && near(l.rate, shaped, 0.1) {
			return s.behind(shaped)
		}
		wide := float64(l.high-l.low) > tight*float64(l.rate)
		switch {
		case wide && reached > l.rate && float64(reached) <= 1.1*float64(l.high):
			return link{reached, reached, max(l.high, reached), Inferred, "a transfer came to as much, with its headers; packet trains disagree"}
		case float64(reached) <= 1.1*float64(l.high):
			return l
		}
	}
	least := reached
	if c := s.there.Capacity; c.Plausible() && !c.Assumed {
		least = max(least, c.Low)
	}
	l := link{rate: max(least, peak), low: least, how: AtLeast, why: "the most that arrived at any time; packet trains gave no upper bound"}
	if speed := s.slowerNIC(); speed >= least {
		l.rate, l.why = speed, fmt.Sprintf("the speed of the slower of the hosts' interfaces; %s were seen", least)
	}
	return l
}

// behind is the rate of what lies behind the sender's own shaper, which trains have to
// pass as well: what comes the other way, or the speed of an interface, or not known.
func (s *seen) behind(shaped unit.Rate) link {
	l := link{rate: max(2*shaped, path.AssumedRate), low: shaped, how: AtLeast, why: fmt.Sprintf("nothing got past the sender's own shaper of %s", shaped)}
	if back, ok := trains(s.back); ok && back.rate > shaped {
		l.rate, l.why = back.rate, l.why+"; as much as the way back carries"
	} else if speed := s.slowerNIC(); speed > shaped {
		l.rate, l.why = speed, l.why+"; the speed of the slower of the hosts' interfaces"
	}
	return l
}

// linkBack is the rate of the acknowledgements' way.
func (s *seen) linkBack() link {
	if l, ok := trains(s.back); ok {
		return l
	}
	l := link{rate: path.AssumedRate, how: Assumed, why: "nothing measured the way back; taken to be as fast as the way there"}
	if there, ok := trains(s.there); ok {
		l.rate = there.rate
	} else if reached, peak := s.most(); max(reached, peak) > 0 {
		l.rate = max(reached, peak)
	}
	if c := s.back.Capacity; c.Plausible() && !c.Assumed && c.Low > 0 {
		l.low, l.how, l.why = c.Low, AtLeast, "packet trains gave no upper bound"
		l.rate = max(l.rate, c.Low)
	}
	if speed := s.slowerNIC(); speed > l.rate {
		l.rate, l.why = speed, l.why+"; the speed of the slower of the hosts' interfaces"
	}
	return l
}

// most is the highest rate of IP packets over a whole transfer, and in the best tenth
// of one's samples by TCP's own measure.
func (s *seen) most() (reached, peak unit.Rate) {
	for _, m := range s.moved {
		_, payload := m.packet()
		reached = max(reached, sound(m.carried()))
		total := 0.0
		for i := range m.senders {
			var all []float64
			for j := range m.senders[i].Samples {
				all = append(all, 8*float64(m.senders[i].Samples[j].TCP.DeliveryRate))
			}
			if len(all) > 0 {
				total += stat.Quantile(all, 0.95)
			}
		}
		peak = max(peak, sound(unit.Rate(total/payload)))
	}
	return reached, peak
}

// plateau is the rate of a bottleneck that was full throughout a transfer: a queue
// stood before it, or several connections got what one did. It is 0 if none was, or
// if others had a part of it, or if what was full is no link.
func (s *seen) plateau() unit.Rate {
	if s.has(diagnose.CompetingTraffic, diagnose.ReversePath, diagnose.Policer) != nil || s.hostHeld() {
		return 0
	}
	var full []float64
	for _, m := range s.moved {
		if m.goodput > 0 && s.stood(m) {
			full = append(full, float64(m.carried())*m.twice())
		}
	}
	if len(full) > 0 {
		return sound(unit.Rate(stat.Median(full)))
	}
	// No transfer kept a queue from beginning to end: what came while one stood.
	bits, time := 0.0, 0.0
	for _, m := range s.moved {
		bytes, _ := m.packet()
		for _, step := range m.steps {
			if step.least > max(s.base.value+1e6, s.base.value*9/8) && m.rate(step) > keepsUp*float64(s.rates[0].rate) {
				bits += step.delivered * bytes * 8
				time += (step.to - step.from).Seconds()
			}
		}
	}
	if time < max(0.3, 5*s.base.value/1e9) {
		return 0
	}
	return sound(unit.Rate(bits / time))
}

// twice is by how much more than it delivered a transfer took of the link: what came
// twice crossed it, too.
func (m *moved) twice() float64 {
	sent, needless := 0.0, 0.0
	for _, step := range m.steps {
		sent, needless = sent+step.sent, needless+step.needless
	}
	if needless <= 0 || needless > sent/2 {
		return 1
	}
	return sent / (sent - needless)
}

// stood says whether a queue stood throughout the measured time of a transfer, as
// diagnose has it: a quarter of the round trip, and more than a millisecond, which is
// a scheduler's hiccup.
func (s *seen) stood(m *moved) bool {
	var rtts []float64
	for i := range m.senders {
		for _, sample := range m.senders[i].Measured() {
			rtts = append(rtts, 1e3*float64(sample.TCP.RTT))
		}
	}
	return len(rtts) > 4 && stat.Quantile(rtts, 0.25) > max(1.25*s.base.value, s.base.value+1e6)
}

// seenFull is the rate once a transfer is known to have filled the link.
func (l link) seenFull(full unit.Rate) link {
	switch {
	case l.how == Measured && float64(l.high-l.low) <= tight*float64(l.rate):
		return l
	case l.how == Measured && (full < l.low*0.95 || full > l.high*1.05):
		return l // what stood was no queue of this link
	case l.how == AtLeast && full < l.low*0.9:
		return l
	}
	return link{full, l.low, l.high, Inferred, "what a full bottleneck delivered, with its headers: a queue stood before it"}
}

func near(a, b unit.Rate, within float64) bool {
	return float64(a) >= (1-within)*float64(b) && float64(a) <= (1+within)*float64(b)
}
