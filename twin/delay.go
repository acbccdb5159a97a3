package twin

import (
	"fmt"
	"math"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// handshake is the size of a SYN, and of its answer, in IP bytes: 20 of IP, 20 of TCP,
// 20 of options, as Linux has them. A slow link takes its time for them.
const handshake = 60

// roundTrip is the least time that anything took there and back, without the time that
// the links take to send it.
func (s *seen) roundTrip() interval {
	sending := func(there, back float64) float64 {
		return 8e9 * (there/float64(s.rates[0].rate) + back/float64(s.rates[1].rate))
	}
	tcp := s.leastRTT()
	if s.rtt.Min == 0 {
		bytes, _ := s.moved[0].packet()
		value := max(0, tcp-sending(bytes, 52))
		return interval{value, value, value + float64(diagnose.TimestampTick)}
	}
	least, median := float64(s.rtt.Min), float64(s.rtt.Median)
	off := min(sending(handshake, handshake), least)
	if tcp+float64(diagnose.TimestampTick) < least && tcp < 0.95*least { // others kept a queue while it was probed
		return interval{tcp, tcp, tcp + float64(diagnose.TimestampTick)}
	}
	if s.wander() > 0 { // it goes both ways about the middle
		return interval{median - off, least - off, float64(s.rtt.Max) - off}
	}
	return interval{least - off, least - off, median - off}
}

// restless is how far a handshake on a path without jitter may be above the least: what
// schedulers do, by the ten handshakes of probes in the lab.
const restless = 200 * time.Microsecond

// wander is by how much the delay wanders about its middle, as the handshakes of the
// probe show it. They show a queue of other people's, too, so that there is none to be
// told where one stands; and a single late one is an accident.
func (s *seen) wander() time.Duration {
	below, above := s.rtt.Median-s.rtt.Min, s.rtt.Max-s.rtt.Median
	if s.rtt.Count < 5 || below < restless || above < restless || above > 4*below || below > s.rtt.Median/2 ||
		s.has(diagnose.CompetingTraffic) != nil || s.leastRTT()+float64(diagnose.TimestampTick) < float64(s.rtt.Min) {
		return 0
	}
	// Ten looks at a delay that goes evenly up and down within ± jitter span about 0.7
	// of its range: 9/11 for independent draws (David and Nagaraja, Order Statistics,
	// 2003), less as draws in a row are alike.
	return time.Duration(float64(s.rtt.Max-s.rtt.Min) / 2 / 0.7)
}

// delay of either way, half of the round trip: a handshake does not tell one way from
// the other.
func (b *builder) delay(name string, a bool) {
	oneWay := time.Duration(max(0, b.base.value/2))
	k := Key{How: Measured, Why: fmt.Sprintf("half of the least round trip, %s", unit.Milliseconds(time.Duration(b.base.value)))}
	k.Low = span(time.Duration(b.base.low / 2))
	k.High = span(time.Duration(b.base.high / 2))
	b.set(k, span(oneWay), "path", name, "delay")
	jitter := b.wander()
	switch {
	case a && jitter > 0 && oneWay > 0:
		b.set(Key{
			How: Inferred, Low: unit.Milliseconds((b.rtt.Max - b.rtt.Min) / 2),
			High: unit.Milliseconds(b.rtt.Max - b.rtt.Min),
			Why:  "how far apart handshakes were; whether it is this way or the way back that wanders is not known",
		}, span(min(jitter, oneWay)), "path", name, "jitter")
	case a && b.rtt.Count > 0:
		most := b.rtt.Median - b.rtt.Min
		b.leave(Key{How: AtMost, High: unit.Milliseconds(most), Why: "how far handshakes were apart without load"}, "path", name, "jitter")
	}
}

// bytesIn is how many a rate moves in a time in ns.
func bytesIn(r unit.Rate, ns float64) float64 {
	v := float64(r) / 8 * ns / 1e9
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
