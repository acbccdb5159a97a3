package twin

import (
	"fmt"
	"math"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// acknowledgements are what the receivers sent back over all transfers, and what of it
// the senders got. They are of 52 bytes: IPv4, TCP, timestamps.
type acknowledgements struct {
	went, came float64
	fill       bool    // they took most of the way back
	waited     float64 // ns, the longest that a round trip took beyond the least, where they fill the way back
}

const ackBytes = 52

// fewACKs say nothing.
const fewACKs = 100

func (s *seen) acks() (a acknowledgements) {
	most, waited := 0.0, 0.0
	for _, m := range s.moved {
		went, came := 0.0, 0.0
		for i := range m.receivers {
			went += float64(bulk.Grown(m.receivers[i].Samples, func(t *bulk.TCPInfo) uint32 { return t.SegsOut }))
		}
		for i := range m.senders {
			came += float64(bulk.Grown(m.senders[i].Samples, func(t *bulk.TCPInfo) uint32 { return t.SegsIn }))
		}
		a.went, a.came = a.went+went, a.came+came
		took := (m.steps[len(m.steps)-1].to - m.steps[0].from).Seconds()
		if load := went * ackBytes * 8 / took; load > most {
			most = load
		}
		for _, step := range m.steps {
			waited = max(waited, step.rtt-s.base.value)
		}
	}
	a.fill = s.has(diagnose.ReversePath) != nil && most > keepsUp*float64(s.rates[1].rate)
	if a.fill {
		a.waited = waited
	}
	return a
}

// missing is the share that did not come. Both ends look at slightly different moments,
// so that little says nothing.
func (a acknowledgements) missing() (share float64, notable bool) {
	if a.went < fewACKs || a.came <= 0 {
		return 0, false
	}
	share = math.Max(0, 1-a.came/a.went)
	return share, share >= unnoticed
}

const unnoticed = 0.02

// lostBack is the loss of acknowledgements.
func (b *builder) lostBack(name string) {
	a := b.acks()
	if a.went < fewACKs || a.came <= 0 {
		return
	}
	missing, notable := a.missing()
	switch {
	case !notable:
		b.leave(Key{How: AtMost, High: unit.Percent(unnoticed), Why: fmt.Sprintf("%.0f acknowledgements were sent, %.0f came", a.went, a.came)}, "path", name, "loss")
	case a.fill:
		b.leave(Key{How: Inferred, Why: fmt.Sprintf("%s of the acknowledgements were lost where they filled the way back", unit.Percent(missing))}, "path", name, "loss")
	default:
		b.set(Key{
			How: Measured, Low: unit.Percent(max(0, missing-unnoticed)), High: unit.Percent(missing + unnoticed),
			Why: fmt.Sprintf("%.0f acknowledgements were sent, %.0f came", a.went, a.came),
		}, share(missing), "path", name, "loss")
	}
}

// queueOfACKs is the queue of the way back where acknowledgements fill it: how long they
// waited, times its rate.
func (b *builder) queueOfACKs() (bytes float64, k Key, ok bool) {
	a := b.acks()
	bytes = bytesIn(b.rates[1].rate, a.waited)
	if bytes < ackBytes {
		return 0, k, false
	}
	if _, notable := a.missing(); notable {
		return bytes, Key{How: Inferred, Low: unit.Size(bytes * overran).String(), Why: fmt.Sprintf("acknowledgements waited %s, and some were lost for want of room", waited(a.waited))}, true
	}
	return 2 * bytes, Key{How: AtLeast, Low: unit.Size(bytes).String(), Why: fmt.Sprintf("acknowledgements waited %s, and hardly any was lost", waited(a.waited))}, true
}
