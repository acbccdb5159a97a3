package path

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Limits of a responder and of each of its tickets. A probe takes some seconds
// and, at most, about 40 MB each way.
const (
	maxTickets     = 64
	maxHostTickets = maxTickets / 2 // of one address: so that one client cannot keep all others out
	ticketLifetime = time.Minute
	ticketBudget   = 64 << 20 // IP bytes sent at the prober's request
)

// ErrTickets is returned by Open when too many probes run at once, of all hosts
// or of one.
var ErrTickets = errors.New("too many probes at once: try again in a minute")

// Responder is the far end of probes, on a UDP socket that it may share with
// another protocol.
//
// It answers only packets with the cookie of a live ticket that
// come from the address the ticket was opened for. Answers are no larger than
// what they answer, except for padded packets and trains: those have a budget,
// and since a cookie travels over the authenticated API only, they cannot be
// directed at someone else.
type Responder struct {
	// Strangers, if not nil, is called with every datagram that is no probe: its
	// first bytes, up to 40, where it comes from and the address it was sent to,
	// as far as the system reports it. It must not block, nor keep the packet. Set it
	// before Serve.
	Strangers func(packet []byte, from, local netip.AddrPort)

	conn   *net.UDPConn
	now    func() time.Time
	outbox chan job

	mu      sync.Mutex
	tickets map[cookie]*ticket
}

// ticket is what the responder knows of one prober.
type ticket struct {
	from    netip.Addr
	expires time.Time
	trains  recorder

	// Guarded by Responder.mu.
	largest int // MTU probe received, IP bytes
	budget  int // IP bytes that may still be sent
	asked   uint32
	sent    []Sent
}

// job is a packet or train to send.
type job struct {
	to     netip.AddrPort
	ticket *ticket
	packet packet
}

// NewResponder makes a responder on an open socket, which stays the caller's to
// close. It works once Serve runs.
func NewResponder(conn *net.UDPConn) *Responder {
	return &Responder{
		conn:    conn,
		now:     time.Now,
		outbox:  make(chan job, 256),
		tickets: make(map[cookie]*ticket),
	}
}

// Serve answers probes until the context ends, which is no error, or the socket
// fails or is closed, which is.
func (r *Responder) Serve(ctx context.Context) error {
	if err := prepare(r.conn); err != nil {
		return fmt.Errorf("prepare UDP socket for probes: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sender sync.WaitGroup
	sender.Go(func() { r.send(ctx) })
	defer sender.Wait()
	defer cancel()
	if err := receive(ctx, r.conn, r.answer); err != nil {
		return fmt.Errorf("answer probes: %w", err)
	}
	return nil
}

// Open gives a host a ticket for the next minute.
func (r *Responder) Open(from netip.Addr) (Ticket, error) {
	from = from.Unmap()
	if !from.IsValid() || from.IsMulticast() || from.IsUnspecified() {
		return Ticket{}, fmt.Errorf("open probe for %v: not the address of a host", from)
	}
	var c cookie
	rand.Read(c[:]) // never fails
	t := &ticket{from: from, expires: r.now().Add(ticketLifetime), budget: ticketBudget}

	r.mu.Lock()
	defer r.mu.Unlock()
	own := 0
	for c, t := range r.tickets {
		if r.now().After(t.expires) {
			delete(r.tickets, c)
		} else if t.from == from {
			own++
		}
	}
	if len(r.tickets) >= maxTickets || own >= maxHostTickets {
		return Ticket{}, ErrTickets
	}
	r.tickets[c] = t
	return Ticket{
		Cookie:       c.String(),
		Port:         r.conn.LocalAddr().(*net.UDPAddr).AddrPort().Port(),
		Expires:      t.expires,
		DontFragment: canDontFragment,
	}, nil
}

// Observed is what was seen and done for a cookie so far.
func (r *Responder) Observed(s string) (Observed, error) {
	c, err := parseCookie(s)
	if err != nil {
		return Observed{}, fmt.Errorf("observe probe: %w", err)
	}
	t := r.ticket(c)
	if t == nil {
		return Observed{}, errors.New("observe probe: no such ticket, or it has expired")
	}
	o := Observed{Received: t.trains.trains()}
	if way, err := routeTo(t.from); err == nil {
		o.Link, o.Kernel = way.link, way.kernel
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Largest, o.Sent = t.largest, slices.Clone(t.sent)
	return o, nil
}

// ticket is the live ticket of a cookie, or nil.
func (r *Responder) ticket(c cookie) *ticket {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tickets[c]
	if t == nil || r.now().After(t.expires) {
		return nil
	}
	return t
}

// answer handles one datagram. It must not wait: trains come in meanwhile.
func (r *Responder) answer(d datagram) {
	p, err := parse(d.head)
	if err != nil {
		r.stranger(d)
		return
	}
	t := r.ticket(p.cookie)
	if t == nil || d.from.Addr().Unmap().WithZone("") != t.from.WithZone("") {
		return
	}
	size := d.size + overhead(t.from)
	switch p.kind {
	case kindProbe:
		r.mu.Lock()
		t.largest = max(t.largest, size)
		r.mu.Unlock()
		p.kind, p.size = kindGot, uint32(size)
	case kindData:
		t.trains.add(p, d.at, size, d.lost)
		return
	case kindWant:
		if !r.spend(t, int(p.size)) {
			return
		}
		p.kind = kindPadded
	case kindSend:
		if !r.spendTrain(t, p) {
			return
		}
		p.kind = kindData
	default: // what only a responder sends
		return
	}
	select {
	case r.outbox <- job{d.from, t, p}:
	default: // lost, as packets may be: the prober asks again
	}
}

// stranger passes a datagram on that is no probe.
func (r *Responder) stranger(d datagram) {
	if r.Strangers == nil {
		return
	}
	local := r.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	if d.local.IsValid() {
		local = netip.AddrPortFrom(d.local, local.Port())
	}
	r.Strangers(d.head, d.from, local)
}

// spend takes bytes off a ticket's budget, if they are there.
func (r *Responder) spend(t *ticket, bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes > t.budget {
		return false
	}
	t.budget -= bytes
	return true
}

// spendTrain does so for a train, once for each: they are numbered upwards.
func (r *Responder) spendTrain(t *ticket, p packet) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	bytes := int(p.count) * max(int(p.size), headerSize+overhead(t.from))
	if p.id <= t.asked || len(t.sent) >= maxTrains || bytes > t.budget {
		return false
	}
	t.asked = p.id
	t.budget -= bytes
	return true
}

// send empties the outbox: one packet or train at a time, since two trains at
// once would measure each other.
func (r *Responder) send(ctx context.Context) {
	for {
		var j job
		select {
		case <-ctx.Done():
			return
		case j = <-r.outbox:
		}
		if err := r.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
			return // closed: Serve returns the error
		}
		headers := overhead(j.ticket.from)
		switch j.packet.kind {
		case kindGot:
			_, _ = r.conn.WriteToUDPAddrPort(j.packet.small(), j.to) // if it fails, it is lost
		case kindPadded:
			_, _ = r.conn.WriteToUDPAddrPort(j.packet.padded(headers), j.to)
		case kindData:
			datagrams, size := j.packet.train(headers)
			busy, err := sendTrain(r.conn, j.to, datagrams, size)
			if err != nil {
				continue
			}
			r.mu.Lock()
			j.ticket.sent = append(j.ticket.sent, Sent{ID: j.packet.id, Packets: int(j.packet.count), Busy: busy})
			r.mu.Unlock()
		}
	}
}

// sendTimeout bounds how long a train may wait for a slow first hop: the
// longest one takes 1.7 s at 10 Mb/s.
const sendTimeout = 3 * time.Second
