package datagram

import (
	"math"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// quantum is how long a sender that has many datagrams to send each moment
// sleeps at least, and sends what is due in one go: fast flows would otherwise
// spend their time going to sleep and waking. iperf3's pacing timer has 1 ms.
const quantum = 250 * time.Microsecond

// pacer spreads datagrams of one length over time, at a rate that it keeps over
// the whole transfer: what could not be sent in time is made up for, as iperf3
// does.
type pacer struct {
	rate   unit.Rate // of payload, 0: unpaced
	length int       // bytes
	burst  int64     // datagrams that go back to back, at least 1
}

// due is how many datagrams may go now, when sent are gone since the start; if
// none, when to ask again. The first goes at once.
func (p pacer) due(sent int64, now time.Duration) (n int64, wait time.Duration) {
	if p.rate <= 0 {
		return math.MaxInt64, 0
	}
	gap := p.gap()
	bursts := int64(float64(now)/gap) + 1
	if n = bursts*p.burst - sent; n > 0 {
		return n, 0
	}
	next := float64((sent+p.burst-1)/p.burst) * gap
	wait = time.Duration(min(next-float64(now), float64(time.Hour))) + 1 // rounded up
	if p.rapid() {
		wait = quantum
	}
	return 0, wait
}

// gap is the time from one burst to the next, in ns.
func (p pacer) gap() float64 {
	return float64(p.length) * 8 / float64(p.rate) * float64(time.Second) * float64(p.burst)
}

// rapid says whether datagrams are due faster than the sender sleeps.
func (p pacer) rapid() bool { return p.rate <= 0 || p.gap() < float64(quantum) }
