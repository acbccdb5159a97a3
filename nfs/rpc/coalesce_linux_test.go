package rpc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// counted counts how often something was read, and what was waited for.
type counted struct {
	*blocking
	reads    int
	gathered []int
}

func (c *counted) Read(b []byte) (n int, err error) {
	if n, err = c.blocking.Read(b); n > 0 {
		c.reads++
	}
	return n, err
}

func (c *counted) gather(n int) bool {
	c.gathered = append(c.gathered, n)
	return c.blocking.gather(n)
}

// coalescing is a connection that takes answers several at a time, whose server answers each call
// by itself.
func coalescing(t *testing.T) (*Conn, *counted, *far) {
	t.Helper()
	c, far := dial(t)
	c.Coalesce = true
	own := &counted{blocking: c.conn.(*blocking)}
	c.conn = own
	return c, own, far
}

// TestCoalesced: of 64 calls on their way 16 answers are waited for, and read at once.
func TestCoalesced(t *testing.T) {
	const slots, calls = 64, 5000
	c, own, far := coalescing(t)
	go func() {
		for call, ok := far.take(); ok; call, ok = far.take() {
			far.say(answered(call.xid, 1, 2, 3))
		}
	}()
	a := &largeCalls{count: calls}
	if err := c.Pipeline(t.Context(), slots, a); err != nil || a.done != calls {
		t.Fatalf("%d calls done: %v", a.done, err)
	}
	t.Logf("%d answers in %d reads", calls, own.reads)
	if own.reads > calls/3 { // a far end that gets no processor for a millisecond is not waited for
		t.Errorf("%d answers were taken in %d reads", calls, own.reads)
	}
	if want := slots / coalesced * len(answered(0, 1, 2, 3)); own.gathered[1] != want {
		t.Errorf("with %d calls on their way %d bytes were waited for, want %d", slots, own.gathered[1], want)
	}
	if last := own.gathered[len(own.gathered)-1]; last != 1 {
		t.Errorf("at its end it waits for %d bytes", last)
	}
}

// TestCoalescedLess: answers of which fewer bytes come than came before are not waited for in vain,
// nor are those that do not come at all.
func TestCoalescedLess(t *testing.T) {
	c, _, far := coalescing(t)
	const slots, calls = 32, 320
	go func() {
		for n := range calls {
			call, ok := far.take()
			if !ok {
				return
			}
			words := 1
			if n%slots == 0 {
				words = 50_000 // more than is read at once
			}
			far.say(answered(call.xid, make([]uint32, words)...))
		}
		far.take() // and to this it says nothing
	}()
	a := &largeCalls{count: calls}
	if err := c.Pipeline(t.Context(), slots, a); err != nil || a.done != calls {
		t.Fatalf("%d calls done: %v", a.done, err)
	}
	c.Within = 30 * time.Millisecond
	if err := c.Pipeline(t.Context(), slots, &largeCalls{count: calls}); err == nil || !strings.Contains(err.Error(), "no answer within 30ms") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	time.AfterFunc(10*time.Millisecond, func() { cancel(enough) })
	c, _, _ = coalescing(t)
	if err := c.Pipeline(ctx, slots, &largeCalls{count: calls}); !errors.Is(err, enough) {
		t.Error(err)
	}
}
