package peer

import (
	"net/netip"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// Limits bound what clients may ask of a far end.
type Limits struct {
	Transfer  time.Duration `json:"transfer_ns" doc:"Longest transfer, omitted time included"`
	Streams   int           `json:"streams" doc:"Most streams of a transfer in one direction"`
	Transfers int           `json:"transfers" doc:"Most transfers at once, of all clients together"`
	Samples   int           `json:"samples" doc:"Most samples one end keeps of a transfer"`
}

// PublicLimits hold for clients without the token: enough for a good
// measurement, too little to occupy a host.
func PublicLimits() Limits {
	return Limits{Transfer: time.Minute, Streams: 16, Transfers: 4, Samples: 20_000}
}

// TokenLimits hold for clients with the token.
func TokenLimits() Limits {
	return Limits{Transfer: bulk.MaxDuration, Streams: bulk.MaxStreams, Transfers: 16, Samples: 100_000}
}

// check says whether the limits allow a transfer.
func (l Limits) check(spec bulk.Spec) error {
	if spec.Duration+spec.Omit > l.Transfer {
		return problem(ErrLimit, "a transfer of %v is longer than the %v allowed here%s", spec.Duration+spec.Omit, l.Transfer, unlessToken)
	}
	if spec.Streams > l.Streams {
		return problem(ErrLimit, "%d streams are more than the %d allowed here%s", spec.Streams, l.Streams, unlessToken)
	}
	if samplesOf(spec, l.Transfer) > l.Samples {
		return problem(ErrLimit, "a sample every %v makes more than the %d samples allowed here: use a longer interval", spec.Interval, l.Samples)
	}
	return nil
}

const unlessToken = ": ask for less, or use the token that `fullbore serve` printed"

// samplesOf is how many samples one end takes at most. A transfer of a number of
// bytes may take all the time there is; it is only sampled at a rate of its own
// if that was asked for.
func samplesOf(spec bulk.Spec, longest time.Duration) int {
	interval, length := spec.Interval, spec.Duration+spec.Omit
	if spec.Bytes > 0 {
		length = longest
		if interval == 0 {
			return 0
		}
	}
	if interval == 0 {
		interval = bulk.DefaultInterval
	}
	connections := spec.Streams
	if spec.Direction == bulk.Both {
		connections *= 2
	}
	return connections * int(length/interval)
}

// gate counts what is inside, over all and by client, and lets no more in than
// it may.
type gate struct {
	all, each int

	mu     sync.Mutex
	total  int
	inside map[netip.Addr]int // as many entries as there are clients inside
}

func newGate(all, each int) *gate {
	return &gate{all: all, each: each, inside: map[netip.Addr]int{}}
}

func (g *gate) enter(who netip.Addr) bool {
	who = client(who)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.total >= g.all || g.inside[who] >= g.each {
		return false
	}
	g.total++
	g.inside[who]++
	return true
}

func (g *gate) leave(who netip.Addr) {
	who = client(who)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.inside[who]--; g.inside[who] == 0 {
		delete(g.inside, who)
	}
}

// client is the address that stands for one client: for IPv6 the /64 that one
// customer gets.
func client(a netip.Addr) netip.Addr {
	if a.Is6() && !a.Is4In6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a.Unmap()
}

// pace is a token bucket for each client: burst at once, then rate a second.
type pace struct {
	rate, burst float64

	mu      sync.Mutex
	buckets map[netip.Addr]*bucket
	swept   time.Time
}

type bucket struct {
	level float64
	at    time.Time
}

// maxBuckets bounds what clients with many addresses can make a far end
// remember; beyond it they share one bucket.
const maxBuckets = 4096

func newPace(rate, burst float64) *pace {
	return &pace{rate: rate, burst: burst, buckets: map[netip.Addr]*bucket{}}
}

func (p *pace) allow(who netip.Addr, now time.Time) bool {
	who = client(who)
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.buckets[who]
	if b == nil {
		if len(p.buckets) >= maxBuckets {
			p.forgetFull(now)
		}
		if len(p.buckets) >= maxBuckets {
			who = netip.Addr{}
		}
		if b = p.buckets[who]; b == nil {
			b = &bucket{level: p.burst, at: now}
			p.buckets[who] = b
		}
	}
	b.level = min(p.burst, b.level+p.rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.level < 1 {
		return false
	}
	b.level--
	return true
}

// forgetFull drops the buckets that have filled up again: a new one would be the
// same. Once a second is enough, and keeps many clients from costing much.
func (p *pace) forgetFull(now time.Time) {
	if now.Sub(p.swept) < time.Second {
		return
	}
	p.swept = now
	for who, b := range p.buckets {
		if b.level+p.rate*now.Sub(b.at).Seconds() >= p.burst {
			delete(p.buckets, who)
		}
	}
}
