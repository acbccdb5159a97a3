package path

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"
)

// PingEvery is the time between the handshakes of a Ping. Five a second see a
// queue fill and drain, and are nothing beside a transfer: less than 2 kB.
const PingEvery = 200 * time.Millisecond

// Pong is the result of one handshake of a Ping.
type Pong struct {
	At  time.Time     // it was started
	RTT time.Duration // 0: no answer within a second, when a SYN is sent again
}

// Ping times single TCP handshakes while something else goes on: what a small
// flow goes through beside it. A burst comes first, to know the path without it.
type Ping struct {
	connect func() (handshake, error)
	cancel  context.CancelFunc
	first   chan struct{} // closed when the burst is over
	ended   chan struct{}

	mu     sync.Mutex
	pongs  []Pong
	closed bool
}

// burst is how many handshakes come first, as close together as those of Probe.
const burst = 5

// mostPongs bounds what is kept: a handshake every 200 ms for half an hour. From
// then on, Ping rests.
const mostPongs = 9000

// StartPing begins to time handshakes with an address and port that TCP is
// answered on, be it by a refusal. It ends with ctx, or with Stop.
func StartPing(ctx context.Context, to netip.AddrPort) *Ping {
	return startPing(ctx, func() (handshake, error) { return connect(to, initialRTO) })
}

func startPing(ctx context.Context, connect func() (handshake, error)) *Ping {
	ctx, cancel := context.WithCancel(ctx)
	p := &Ping{connect: connect, cancel: cancel, first: make(chan struct{}), ended: make(chan struct{})}
	go p.run(ctx)
	return p
}

// Burst is closed when the burst is answered, or as good as lost.
func (p *Ping) Burst() <-chan struct{} { return p.first }

// Stop ends it, and gives what was answered, and what was not, so far: in the
// order of the answers. It does not wait for what is on its way.
func (p *Ping) Stop() []Pong {
	p.cancel()
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.pongs
}

func (p *Ping) run(ctx context.Context) {
	defer close(p.ended)
	var answers sync.WaitGroup
	ticker := time.NewTicker(rttSpacing)
	defer ticker.Stop()
	for range burst {
		answers.Go(p.shake)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
	go func() {
		answers.Wait() // initialRTO at most
		close(p.first)
	}()
	select {
	case <-p.first:
	case <-ctx.Done():
		return
	}
	ticker.Reset(PingEvery)
	for range mostPongs - burst {
		select {
		case <-ticker.C:
			go p.shake() // it ends by its timeout
		case <-ctx.Done():
			return
		}
	}
	<-ctx.Done()
}

// shake times one handshake. Where connecting fails for another reason than
// silence (no descriptors, no route), there is nothing to say about the path.
func (p *Ping) shake() {
	pong := Pong{At: time.Now()}
	h, err := p.connect()
	if err != nil && !errors.Is(err, errNoAnswer) {
		return
	}
	pong.RTT = h.rtt
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.pongs = append(p.pongs, pong)
	}
}
