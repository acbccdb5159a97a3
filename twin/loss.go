package twin

import (
	"fmt"
	"math"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// lossCount is what was sent while no queue stood, and what of it was lost.
type lossCount struct {
	sent, lost float64 // segments
	events     float64 // steps in which something was lost
}

// fewEvents are too few to speak of a share: one or two losses may be anything.
const fewEvents = 3

// shortTrip is the round trip below which a queue fills and drains between two looks: a
// tenth of the time between them (bulk.DefaultInterval).
const shortTrip = bulk.DefaultInterval / 10

// unqueued counts the segments that were lost with no queue before them that could have
// run over: what was sent again, less what the receiver had already, while round trips
// were near the least. Slow start fills and overruns a queue between two looks, and is
// left out. Where round trips are short, so does every loss-based control, again and
// again: a look during which the link was full, or just before, is left out then.
func (s *seen) unqueued() (c lossCount) {
	limit := max(float64(time.Millisecond), s.base.value/4)
	if s.depth.full > 0 {
		limit = min(limit, s.depth.full/3)
	}
	full := math.Inf(1)
	if s.base.value < float64(shortTrip) {
		full = keepsUp * float64(s.rates[0].rate)
	}
	for _, m := range s.moved {
		rate := 0.0
		for _, step := range m.steps {
			before := rate
			rate = m.rate(step)
			if step.omitted || step.rtt-s.base.value > limit || step.rtt == 0 || max(rate, before) >= full {
				continue
			}
			c.sent += step.sent
			if lost := step.again - step.needless; lost > 0 {
				c.lost += lost
				c.events++
			}
		}
	}
	return c
}

// damaged is how many packets of data came in with a wrong checksum, over all transfers,
// and of how many.
func (s *seen) damaged() (bad, came float64) {
	for _, m := range s.moved {
		end := s.end(m, false)
		frames := int64(0)
		for _, l := range end.Links {
			if l.Used {
				frames = max(frames, l.Damaged())
			}
		}
		bad += float64(max(0, frames) + max(0, end.Counters["Tcp.InCsumErrors"]))
		for _, step := range m.steps {
			came += step.sent
		}
	}
	return bad, came
}

// loss of the data's way: what is damaged, what is lost at random, and whether in
// bursts.
func (b *builder) loss(name string) {
	bad, came := b.damaged()
	if bad >= fewEvents && came > bad {
		low, high := counted(bad)
		b.set(Key{
			How: Measured, Low: unit.Percent(low / came), High: unit.Percent(high / came),
			Why: fmt.Sprintf("%.0f of %.0f packets came in with a wrong checksum", bad, came),
		}, share(bad/came), "path", name, "corrupt")
	}
	if explained := b.lostElsewhere(); explained != "" {
		b.leave(Key{How: Inferred, Why: explained}, "path", name, "loss")
		return
	}
	c := b.unqueued()
	lost := c.lost
	if came > 0 {
		lost -= bad * c.sent / came
	}
	_, most := counted(max(0, lost))
	if c.events < fewEvents || lost < fewEvents || lost < c.lost/3 || c.sent <= lost {
		if c.sent == 0 {
			b.leave(Key{How: Assumed, Why: "a queue stood all the time: what was lost without one cannot be told"}, "path", name, "loss")
		} else {
			b.leave(Key{How: AtMost, High: unit.Percent(most / c.sent), Why: fmt.Sprintf("%.0f of %.0f segments were lost without a queue, damaged ones left out", max(0, lost), c.sent)}, "path", name, "loss")
		}
		return
	}
	p := lost / c.sent
	low, high := counted(lost)
	k := Key{How: Measured, Low: unit.Percent(low / c.sent), High: unit.Percent(high / c.sent), Why: fmt.Sprintf("%.0f of %.0f segments were lost while no queue stood", lost, c.sent)}
	length := b.burstLength(p)
	if reached, _ := b.most(); length >= overrun && float64(reached) >= float64(b.rates[0].rate)/2 {
		b.leave(Key{How: Inferred, Why: fmt.Sprintf("%.0f of %.0f segments were lost, %.2g at a time: a queue that ran over between two looks; whether more is lost cannot be told", lost, c.sent, length)}, "path", name, "loss")
		return
	}
	if length >= bursty {
		k.Why += fmt.Sprintf(", %.2g at a time", length)
		r := 1 / length
		b.set(k, fmt.Sprintf("{model: gilbert, p: %s, r: %s, loss: 100%%}", share(p*r/(1-p)), share(r)), "path", name, "loss")
		return
	}
	b.set(k, share(p), "path", name, "loss")
}

// lostElsewhere says what else explains losses without a queue, if something does.
func (s *seen) lostElsewhere() string {
	switch {
	case s.has(diagnose.Policer) != nil:
		return "what was lost was above the policer's rate; whether more is lost cannot be told"
	case s.has(diagnose.ShallowQueue) != nil:
		return "what was lost came in bursts that the short queue had no room for; whether more is lost cannot be told"
	case s.has(diagnose.MTUBlackHole) != nil:
		return "what was lost was too large; whether more is lost cannot be told"
	case s.has(diagnose.Reordering) != nil:
		return "what was sent again had been late; whether more is lost cannot be told"
	case s.has(diagnose.SenderCPU, diagnose.ReceiverCPU) != nil || s.throttled(true) || s.throttled(false):
		return "a host that is held back sends in bursts, which overrun any queue; whether more is lost cannot be told"
	}
	return ""
}

// bursty is the mean number of packets lost at once from which on losses are not
// independent of each other.
const bursty = 1.6

// overrun is the mean number from which on it is a queue that ran over, on a path that
// was at least half full: what comes at once there is a super-packet of 64 KB, some 45
// packets, of which a full queue takes a part.
const overrun = 5

// burstLength is how many packets are lost at once, in the mean, beyond what chance
// brings together: with a share p lost independently, a window of w packets that lost any
// lost x/(1-exp(-x)) of them with x = p w (Poisson), and the kernel counts one reaction.
// It is 1 where that cannot be told.
func (s *seen) burstLength(p float64) float64 {
	packets, reactions, window := 0.0, 0.0, []float64{}
	for _, m := range s.moved {
		if !m.gentle() || s.everQueued(m) {
			continue
		}
		counters := s.end(m, true).Counters
		n := 0.0
		for _, name := range []string{"TcpExt.TCPSackRecovery", "TcpExt.TCPRenoRecovery", "TcpExt.TCPTimeouts"} {
			n += float64(max(0, counters[name]))
		}
		again := 0.0
		for _, step := range m.steps {
			again += max(0, step.again-step.needless)
		}
		if n == 0 || n > again {
			continue
		}
		packets, reactions = packets+again, reactions+n
		window = append(window, float64(m.median(func(t *bulk.TCPInfo) uint32 { return t.SndCwnd })))
	}
	if reactions < 5 {
		return 1
	}
	x := p * stat.Median(window)
	chance := 1.0
	if x > 1e-6 {
		chance = x / (1 - math.Exp(-x))
	}
	return max(1, packets/reactions/chance)
}

// everQueued says whether packets were lost with a queue in a transfer.
func (s *seen) everQueued(m *moved) bool {
	limit := max(float64(time.Millisecond), s.base.value/4)
	for _, step := range m.steps {
		if step.again > 0 && step.rtt-s.base.value > limit {
			return true
		}
	}
	return false
}

// median of a figure over all samples of the senders.
func (m *moved) median(figure func(*bulk.TCPInfo) uint32) float64 {
	var all []float64
	for i := range m.senders {
		for j := range m.senders[i].Samples {
			all = append(all, float64(figure(&m.senders[i].Samples[j].TCP)))
		}
	}
	return stat.Median(all)
}
