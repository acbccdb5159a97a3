package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPipeline: all calls are answered, however the server orders and cuts its answers.
func TestPipeline(t *testing.T) {
	const slots, count = 8, 200
	for name, fragment := range map[string]int{"whole records": 1 << 20, "fragments of 5 bytes": 5, "one byte each": 1} {
		c, far := dial(t)
		go func() {
			var held [][]byte
			for {
				call, ok := far.take()
				if !ok {
					return
				}
				n := binary.BigEndian.Uint32(call.args)
				held = append(held, cut(answered(call.xid, n+1), fragment))
				if len(held) == 4 || n >= count-slots { // in the opposite order
					slices.Reverse(held)
					far.say(slices.Concat(held...))
					held = nil
				}
			}
		}()
		a := newAdder(count)
		if err := c.Pipeline(t.Context(), slots, a); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		slices.Sort(a.done)
		for i, v := range a.done {
			if v != uint32(i)+1 {
				t.Fatalf("%s: the answers are %v", name, a.done)
			}
		}
		if len(a.done) != count || slices.IsSorted(a.order) {
			t.Errorf("%s: %d answers, in the order %v", name, len(a.done), a.order)
		}
	}
}

// TestServerAsksForTime: a call that the server wants later is called again, and others
// go on meanwhile.
func TestServerAsksForTime(t *testing.T) {
	c, far := dial(t)
	go func() {
		seen := map[uint32]bool{}
		for {
			call, ok := far.take()
			if !ok {
				return
			}
			n := binary.BigEndian.Uint32(call.args)
			if n%10 == 3 && !seen[n] {
				seen[n] = true
				far.say(answered(call.xid, busy))
				continue
			}
			far.say(answered(call.xid, n))
		}
	}()
	a := newAdder(100)
	if err := c.Pipeline(t.Context(), 4, a); err != nil {
		t.Fatal(err)
	}
	if len(a.done) != 100 || len(a.later) != 10 {
		t.Errorf("%d answers, %d of them later", len(a.done), len(a.later))
	}
}

// TestFalseServers: whatever a server does, the call ends with an error that says what
// was called and what is wrong.
func TestFalseServers(t *testing.T) {
	words := func(ws ...uint32) (b []byte) {
		b = binary.BigEndian.AppendUint32(b, uint32(4*len(ws))|lastFragment)
		for _, w := range ws {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	for name, test := range map[string]struct {
		answer func(xid uint32) []byte
		want   string
	}{
		"closes":                         {func(uint32) []byte { return nil }, "ADD, 1 calls on their way: the server closed the connection"},
		"closes within an answer":        {func(xid uint32) []byte { return answered(xid, 1)[:14] }, "the server closed the connection"},
		"answers what was not asked":     {func(xid uint32) []byte { return answered(xid+MaxSlots, 1) }, "waits for no answer"},
		"answers for a slot there isn't": {func(xid uint32) []byte { return answered(xid+5, 1) }, "waits for no answer"},
		"says too little":                {func(xid uint32) []byte { return answered(xid) }, "ADD: the message ends too early"},
		"says too much":                  {func(xid uint32) []byte { return answered(xid, 1, 2) }, "ADD: 4 bytes are left behind the answer"},
		"a record of 2 GiB":              {func(uint32) []byte { return []byte{0xff, 0xff, 0xff, 0xff} }, "a record of 2147483647 bytes or more"},
		"fragments without an end":       {func(uint32) []byte { return make([]byte, 5*maxParts) }, "a record in more than 1024 parts"},
		"calls":                          {func(xid uint32) []byte { return words(xid, msgCall, 2, 3, 4, 5) }, "ADD: a message of kind 0 instead of an answer"},
		"has another RPC":                {func(xid uint32) []byte { return words(xid, msgReply, 1, 0, 3, 3) }, "ADD: the server speaks another version of RPC than 2"},
		"wants Kerberos":                 {func(xid uint32) []byte { return words(xid, msgReply, 1, 1, 5) }, "a stronger identity than AUTH_SYS"},
		"does not have the program":      {func(xid uint32) []byte { return words(xid, msgReply, 0, 0, 0, 1) }, "ADD: the server does not have this program"},
		"a verifier of 4 GiB":            {func(xid uint32) []byte { return words(xid, msgReply, 0, 0, 0xffffffff, 0) }, "4294967295 bytes where there can be at most 400"},
		"a status nobody knows":          {func(xid uint32) []byte { return words(xid, msgReply, 7) }, "ADD: an answer with status 7"},
	} {
		c, far := dial(t)
		go func() {
			if call, ok := far.take(); ok {
				far.say(test.answer(call.xid))
			}
			far.Close()
		}()
		err := c.Pipeline(t.Context(), 1, newAdder(1))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("a server that %s: %v, want %q", name, err, test.want)
		}
	}
}

// TestAnsweredTwice: the second answer to a call is an error, also when the slot has its
// next call on the way.
func TestAnsweredTwice(t *testing.T) {
	c, far := dial(t)
	go func() {
		call, _ := far.take()
		far.say(slices.Concat(answered(call.xid, 1), answered(call.xid, 1)))
	}()
	if err := c.Pipeline(t.Context(), 1, newAdder(5)); err == nil || !strings.Contains(err.Error(), "answered twice") {
		t.Error(err)
	}
}

// TestServerHangs: a call that is not answered ends after its time, and one that is
// given up at once.
func TestServerHangs(t *testing.T) {
	c, _ := dial(t)
	c.Within = 30 * time.Millisecond
	began := time.Now()
	err := c.Pipeline(t.Context(), 1, newAdder(1))
	if err == nil || err.Error() != "ADD: no answer within 30ms" {
		t.Error(err)
	}
	t.Logf("given up after %v", time.Since(began))

	c, _ = dial(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	time.AfterFunc(10*time.Millisecond, func() { cancel(enough) })
	if err := c.Pipeline(ctx, 1, newAdder(1)); !errors.Is(err, enough) {
		t.Error(err)
	}
}

// TestServerReadsNothing: calls that the server does not take do not keep its answers
// from being read: both would wait for each other.
func TestServerReadsNothing(t *testing.T) {
	const count, size = 64, 1 << 20
	c, far := dial(t)
	c.Most = 1 << 24
	go func() {
		for range count { // it answers at length before it reads on
			call, ok := far.take()
			if !ok {
				return
			}
			far.say(answered(call.xid, make([]uint32, size/4)...))
		}
	}()
	large := &largeCalls{count: count, size: size}
	if err := c.Pipeline(t.Context(), count, large); err != nil || large.done != count {
		t.Errorf("%d calls done: %v", large.done, err)
	}
}

type largeCalls struct{ count, next, done, size int }

func (l *largeCalls) Call(w *Writer, _ int) *Procedure {
	if l.next == l.count {
		return nil
	}
	l.next++
	w.Begin(add)
	w.Opaque(make([]byte, l.size))
	return add
}

func (l *largeCalls) Answer(r *Reader, _ int) (time.Duration, error) {
	r.Skip(r.Left())
	return 0, nil
}

func (l *largeCalls) Done(int, time.Duration) { l.done++ }

// TestGivenUp: who waits for an answer hears at once that the connection was closed, and soon
// that it is to wait no more; neither leaves a goroutine behind.
func TestGivenUp(t *testing.T) {
	for name, end := range map[string]func(c *Conn, cancel func()){
		"closed":    func(c *Conn, _ func()) { _ = c.Close() },
		"cancelled": func(_ *Conn, cancel func()) { cancel() },
	} {
		c, far := dial(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Call(ctx, add, func(w *Writer) { w.Uint32(1) }, nil) }()
		if _, ok := far.take(); !ok {
			t.Fatal("no call came")
		}
		end(c, cancel)
		select {
		case err := <-ended:
			if err == nil {
				t.Errorf("%s: it has an answer", name)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: it still waits", name)
		}
		cancel()
		if err := c.Net().Close(); name == "closed" && err == nil {
			t.Error("it could be closed twice")
		}
	}
}
