package peer

import (
	"net/netip"
	"sync"
	"time"
)

// places are what the transfers of all protocols share: so many at once, and
// never all of them for one client.
type places struct {
	mu     sync.Mutex
	taken  map[*place]struct{}
	closed bool
}

// place is what a running transfer has.
type place struct {
	all   *places
	who   netip.Addr // the client, as gate counts clients
	until time.Time  // it is free by then
}

func newPlaces() *places { return &places{taken: map[*place]struct{}{}} }

// take gives a client a place for a transfer that takes no longer than longest,
// if less than most are taken, and less than each of them by this client; or says
// how long it takes until there is one.
func (p *places) take(who netip.Addr, most, each int, longest time.Duration) (*place, error) {
	who = client(who)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errStopping
	}
	own := 0
	for taken := range p.taken {
		if taken.who == who {
			own++
		}
	}
	switch {
	case len(p.taken) >= most:
		return nil, &busyError{running: len(p.taken), soonest: p.soonest(netip.Addr{})}
	case own >= each:
		return nil, &busyError{running: own, from: who, soonest: p.soonest(who)}
	}
	taken := &place{all: p, who: who, until: time.Now().Add(longest)}
	p.taken[taken] = struct{}{}
	return taken, nil
}

// soonest is when the first place of a client, or of any, is free at the latest;
// p.mu is held.
func (p *places) soonest(who netip.Addr) time.Duration {
	var first time.Time
	for taken := range p.taken {
		if (who == netip.Addr{} || taken.who == who) && (first.IsZero() || taken.until.Before(first)) {
			first = taken.until
		}
	}
	return max(time.Second, time.Until(first))
}

// Lasts sets how much longer the place is taken at most, once that is known.
func (p *place) Lasts(longest time.Duration) {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	p.until = time.Now().Add(longest)
}

// Leave gives the place free. It is called once.
func (p *place) Leave() {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	delete(p.all.taken, p)
}

func (p *places) running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.taken)
}

// close gives out no more places.
func (p *places) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}
