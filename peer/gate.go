package peer

import (
	"net/netip"
	"sync"
	"time"
)

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
