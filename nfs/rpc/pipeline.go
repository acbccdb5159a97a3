package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Caller has the calls of a pipeline and takes their answers.
type Caller interface {
	// Call appends the next call of a slot, with [Writer.Begin] first, and says what it
	// is; nil: there is no more.
	Call(w *Writer, slot int) *Procedure
	// Answer reads the answer to a slot's call, all of it. If again is above 0, the
	// server asked for time: the slot rests for that long before its next call.
	Answer(r *Reader, slot int) (again time.Duration, err error)
	// Done hears when an answer had come whole, and how long after its call.
	Done(slot int, took time.Duration)
}

// Clock is a caller that is told the time, each time before calls or answers that belong to
// it: reading a clock for each of them would cost as much as a tenth of a small read.
type Clock interface {
	Now(at time.Time)
}

// MaxSlots is how many calls a connection can have on their way.
const MaxSlots = 1 << slotBits

const slotBits = 12 // of a call's number; the others change from call to call

// pipeline is the calls of a connection that are on their way.
type pipeline struct {
	*Conn
	ctx     context.Context
	caller  Caller
	flights []flight
	flying  int
	resting []rest
	now     time.Time
	clock   Clock // nil: the caller has its own
	reader  Reader
	look    time.Time // when to look next whether a call takes too long

	gather func(n int) bool // nil: each answer is taken as it comes
	size   int              // bytes of the last answer
	there  int              // bytes that are sure to be there
}

// flight is a call that waits for its answer.
type flight struct {
	p    *Procedure // nil: there is none
	xid  uint32
	sent time.Time
}

// rest is a slot whose server asked to wait.
type rest struct {
	slot  int
	until time.Time
}

// lookUp is how often a pipeline that waits looks whether a call takes too long.
const lookUp = 500 * time.Millisecond

// Pipeline keeps a call on its way in each of the slots, at most [MaxSlots], until there
// are no more. An error says what was called; after it the connection is of no use, unless
// that was the only call on its way and the server answered it.
func (c *Conn) Pipeline(ctx context.Context, slots int, caller Caller) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	p := &pipeline{Conn: c, ctx: ctx, caller: caller, flights: make([]flight, min(slots, MaxSlots)), now: time.Now()}
	p.clock, _ = caller.(Clock)
	p.tick()
	p.in.fill = p.fill
	if d, ok := c.conn.(dropper); ok && c.Discard {
		p.in.drop = func(n int) (int, error) { return p.wait(func() (int, error) { return d.drop(n) }) }
	}
	defer func() { p.in.fill, p.in.drop = nil, nil }()
	if g, ok := c.conn.(gatherer); ok && c.Coalesce {
		p.gather = g.gather
		defer g.gather(1)
	}
	for slot := range p.flights {
		p.call(slot)
	}
	for p.flying > 0 || len(p.resting) > 0 {
		if err := p.step(); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
	return nil
}

// tick reads the clock.
func (p *pipeline) tick() {
	p.now = time.Now()
	if p.clock != nil {
		p.clock.Now(p.now)
	}
}

// call puts the next call of a slot on its way.
func (p *pipeline) call(slot int) {
	p.out.xid = p.numbers<<slotBits | uint32(slot)
	if proc := p.caller.Call(&p.out, slot); proc != nil {
		p.out.end()
		p.flights[slot] = flight{proc, p.out.xid, p.now}
		p.flying++
		p.numbers++
	}
}

// step takes an answer.
func (p *pipeline) step() error {
	if p.flying == 0 {
		return p.wake()
	}
	r := &p.reader
	if err := p.record(p.Most, r); err != nil {
		return p.lost(err)
	}
	p.size = markSize + r.left
	var err error
	xid := r.Uint32()
	slot := int(xid % MaxSlots)
	if r.err == nil && (slot >= len(p.flights) || p.flights[slot].p == nil || p.flights[slot].xid != xid) {
		return fmt.Errorf("the server answers call %#x, which waits for no answer: it answered twice, or what nobody asked", xid)
	}
	if r.err != nil {
		return p.lost(r.err)
	}
	f := &p.flights[slot]
	name := f.p.Name
	again := time.Duration(0)
	if err = accepted(r); err == nil {
		again, err = p.caller.Answer(r, slot)
	}
	if r.err != nil {
		err = r.err
	}
	if err == nil && r.left > 0 {
		err = fmt.Errorf("%d bytes are left behind the answer", r.left)
	}
	if err != nil {
		if r.err == nil {
			r.Skip(r.left) // the connection is still good, if this was the only call
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	f.p = nil
	p.flying--
	if again > 0 {
		p.resting = append(p.resting, rest{slot, p.now.Add(again)})
		return nil
	}
	p.caller.Done(slot, p.now.Sub(f.sent))
	p.call(slot)
	return nil
}

// dropper is a connection whose kernel drops what comes, without a copy of it: at most n bytes.
type dropper interface{ drop(n int) (int, error) }

// headRoom is how much is read at once where the kernel drops the rest of an answer: the head
// of one, and little of its data.
const headRoom = 256

// fill reads what there is, after it has sent what is to be answered.
func (p *pipeline) fill(b []byte) (int, error) {
	if p.in.drop != nil {
		b = b[:min(len(b), headRoom)]
	}
	return p.wait(func() (int, error) { return p.conn.Read(b) })
}

// gatherer is a connection whose kernel lets it sleep until so many bytes are there: it says whether
// they are, and after less than 2 it waits for any again.
type gatherer interface{ gather(n int) bool }

// coalesced is the share of the answers on their way that is waited for at a time, one in so many.
const coalesced = 4

// several waits until several answers are there, as far as that is to be expected.
func (p *pipeline) several() {
	if p.gather == nil || p.there > 0 {
		return
	}
	n := 1
	if together := p.flying / coalesced; together > 1 {
		n = max(1, min(together*p.size, roomSize))
	}
	p.there = 0
	if p.gather(n) {
		p.there = n
	}
}

// wait reads by read, after it has sent what is to be answered.
func (p *pipeline) wait(read func() (int, error)) (int, error) {
	for {
		if err := p.flush(); err != nil {
			return 0, err
		}
		if !p.now.Before(p.look) {
			if err := p.check(); err != nil {
				return 0, err
			}
		}
		p.several()
		n, err := read()
		p.there -= n
		p.tick()
		switch {
		case n > 0:
			return n, nil
		case errors.Is(err, io.EOF):
			return 0, errClosed
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		}
		p.look, p.there = p.now, 0 // nothing is lost
	}
}

// check looks whether a call takes too long, or a slot has rested long enough, and sets
// when to look next.
func (p *pipeline) check() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if err := p.sendError(); err != nil {
		return err
	}
	for slot := range p.flights {
		if f := &p.flights[slot]; f.p != nil && p.now.Sub(f.sent) > p.Within {
			return &Late{f.p.Name, p.Within}
		}
	}
	p.look = p.now.Add(min(lookUp, p.Within))
	p.rested()
	for _, r := range p.resting {
		if r.until.Before(p.look) {
			p.look = r.until
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.conn.SetReadDeadline(p.look)
}

// Late says that a server has not answered a call in time.
type Late struct {
	Call   string
	Within time.Duration
}

func (l *Late) Error() string { return fmt.Sprintf("%s: no answer within %v", l.Call, l.Within) }

var errClosed = errors.New("the server closed the connection")

// rested calls in the slots that have rested long enough.
func (p *pipeline) rested() {
	still := p.resting[:0]
	for _, r := range p.resting {
		if p.now.Before(r.until) {
			still = append(still, r)
		} else {
			p.call(r.slot)
		}
	}
	p.resting = still
}

// wake waits until a slot has rested long enough.
func (p *pipeline) wake() error {
	first := p.resting[0].until
	for _, r := range p.resting {
		if r.until.Before(first) {
			first = r.until
		}
	}
	select {
	case <-time.After(time.Until(first)):
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
	p.tick()
	p.rested()
	return nil
}

// lost says what waited for an answer when the connection ended.
func (p *pipeline) lost(err error) error {
	if broken := p.sendError(); broken != nil {
		err = broken
	}
	if _, late := errors.AsType[*Late](err); late {
		return err
	}
	for _, f := range p.flights {
		if f.p != nil {
			return fmt.Errorf("%s, %d calls on their way: %w", f.p.Name, p.flying, err)
		}
	}
	return err
}
