package web

import (
	"net/netip"
	"sync"
	"time"
)

// guesses is a pace for what may be a guess: some at once, then one every so often, by
// address, and over all.
type guesses struct {
	mu   sync.Mutex
	made map[netip.Addr][]time.Time
}

// Bounds of guesses: a secret has 256 bits, so that these are for the log's sake more
// than for the secret's.
const (
	mostGuesses  = 10 // in guessesIn, of one address
	guessesIn    = time.Minute
	mostGuessers = 1000
)

func (g *guesses) allow(who netip.Addr, now time.Time) bool {
	who = customer(who)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made == nil || len(g.made) > mostGuessers {
		g.made = map[netip.Addr][]time.Time{}
	}
	made := g.made[who]
	for len(made) > 0 && now.Sub(made[0]) > guessesIn {
		made = made[1:]
	}
	if len(made) >= mostGuesses {
		return false
	}
	g.made[who] = append(made, now)
	return true
}

// forget is for who knew it.
func (g *guesses) forget(who netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.made, customer(who))
}

// customer is the address that stands for one: for IPv6 the /64 that they get.
func customer(who netip.Addr) netip.Addr {
	if who.Is6() {
		if p, err := who.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return who
}
