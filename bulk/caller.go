package bulk

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// caller is the state of a transfer that its caller ends. In other transfers it is
// zero, and its channels are nil.
type caller struct {
	decides   bool
	alone     bool           // nothing but a failure makes it due: this is the server's end
	receivers int            // streams that may still bring something
	senders   int            // streams whose bytes are not all acknowledged
	delivered chan struct{}  // one less
	isDue     bool           // so it is
	due       chan struct{}  // closed when it is
	halt      chan struct{}  // closed to end the measured time
	once      sync.Once      // closes halt
	halted    atomic.Bool    // the measured time has ended: the threads look here
	writing   sync.WaitGroup // the senders
	frozen    chan struct{}  // closed when the record is final
}

func (c *caller) take(streams []*stream) {
	c.decides = true
	c.delivered = make(chan struct{}, len(streams))
	c.due, c.halt, c.frozen = make(chan struct{}), make(chan struct{}), make(chan struct{})
	for _, s := range streams {
		c.alone = c.alone || s.Server
		if s.Sender {
			c.senders++
			c.writing.Add(1)
		} else {
			c.receivers++
			s.before = s.taken()
		}
	}
}

// end asks for the end of the measured time.
func (c *caller) end() { c.once.Do(func() { close(c.halt) }) }

// gone is closed when ctx is done.
func (c *caller) gone(ctx context.Context) <-chan struct{} {
	if !c.decides {
		return nil
	}
	return ctx.Done()
}

// callerLook is the time between two checks whether all bytes have come.
const callerLook = 10 * time.Millisecond

// nextLook checks whether the transfer is due, and returns when to check again.
func (t *transfer) nextLook() <-chan time.Time {
	c, now, whole := &t.caller, t.now(), t.spec.Omit+t.spec.Duration
	switch {
	case !c.decides || c.alone || c.isDue:
		return nil
	case t.spec.Timed() && now < whole:
		return time.After(whole - now)
	case t.spec.Timed() || t.spec.Bytes == 0 || t.sends() && c.senders == 0:
		t.becomeDue()
		return nil
	case !t.receives():
		return nil // the senders say so
	}
	received := t.receivedSince(now)
	if received >= t.spec.Bytes {
		t.becomeDue()
		return nil
	}
	// Half of the time that the rest takes at this rate: each look comes nearer.
	wait := callerLook
	if since := now - t.spec.Omit; received > 0 && since > 0 {
		rest := float64(t.spec.Bytes-received) / float64(received) * float64(since) / 2
		wait = time.Duration(min(rest, float64(callerLook)))
	}
	return time.After(max(wait, callerLook/100))
}

func (t *transfer) becomeDue() {
	if !t.caller.isDue {
		t.caller.isDue = true
		close(t.caller.due)
	}
}

// broke notes why a stream failed, which makes the transfer due. After it was due,
// a failure only means that the peer has closed as well.
func (t *transfer) broke(err error) {
	if !t.caller.isDue && !t.caller.halted.Load() {
		t.fail(err)
		t.becomeDue()
	}
}

// parted deals with a stream whose thread has ended: it failed, the peer has
// ended its data, or all is over.
func (t *transfer) parted(s *stream) {
	if s.err != nil {
		t.broke(s.err)
		return
	}
	if s.Sender {
		return
	}
	if t.caller.receivers--; t.caller.receivers == 0 {
		t.nextLook() // perhaps all have come
		t.broke(errors.New("receive: the peer ended its data before the transfer was over"))
	}
}

// freeze ends the measured time of all streams at this instant.
func (t *transfer) freeze() {
	t.catchUp()
	t.caller.halted.Store(true)
	now := t.now()
	t.endReceived()
	t.spent()
	t.caller.writing.Wait() // a write that was under way counts: the peer may have its bytes already
	for _, s := range t.streams {
		if s.Sender {
			t.sampler.last(func() time.Duration { return now }, s)
			s.freeze(t.spec)
		}
	}
	t.conclude()
	close(t.caller.frozen)
}

// catchUpMost bounds how long the server waits for its own threads on a busy host,
// and what a client gains that goes on sending.
const catchUpMost = time.Second

// catchUp lets the server's end read what has come already: the client ends a
// transfer of bytes when the last is acknowledged, which the kernel does before
// the application has read it.
func (t *transfer) catchUp() {
	if !t.caller.alone || t.spec.Timed() {
		return
	}
	for until := t.now() + catchUpMost; t.now() < until && t.driving.Err() == nil && slices.ContainsFunc(t.streams, (*stream).isBehind); {
		time.Sleep(callerLook / 100)
	}
}

// taken is how many bytes of the connection have been read, looked up at a moment
// when no more arrive.
func (s *stream) taken() int64 {
	for {
		var look, again Sample
		s.sock.inspect(&look)
		s.sock.inspect(&again)
		if look.TCP.BytesReceived == again.TCP.BytesReceived {
			return int64(look.TCP.BytesReceived) - int64(look.Unread)
		}
		time.Sleep(callerLook / 100) // the window fills before long
	}
}

// isBehind says whether bytes have come that this end has not counted: they are
// unread, or the thread that has just read them had no turn since.
func (s *stream) isBehind() bool {
	if s.Sender {
		return false
	}
	var now Sample
	s.sock.inspect(&now)
	came := int64(now.TCP.BytesReceived) - s.before
	switch now.TCP.State {
	case StateClosed:
		return false // what a reset left unread is lost
	case stateCloseWait:
		came-- // the end of the data counts as one
	}
	return now.Unread > 0 || came > s.meter.bytes.Load()
}

func (t *transfer) sends() bool {
	return slices.ContainsFunc(t.streams, func(s *stream) bool { return s.Sender })
}
func (t *transfer) receives() bool {
	return slices.ContainsFunc(t.streams, func(s *stream) bool { return !s.Sender })
}

// receivedSince is what all streams received in the measured time.
func (t *transfer) receivedSince(now time.Duration) int64 {
	var sum int64
	for _, s := range t.streams {
		if !s.Sender {
			_, measured := s.meter.split(s.meter.bytes.Load(), now)
			sum += measured
		}
	}
	return sum
}
