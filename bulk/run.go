package bulk

import (
	"context"
	"fmt"
	"time"
)

// Patience is how long nothing may come from the peer, or a receiver may keep
// its window shut, before it is taken for dead. A live path is never silent so
// long: Linux repeats a lost packet after 0.2 s + RTT, then twice as long, and
// so on, so that four losses in a row still fit (RFC 6298; TCP_RTO_MIN in
// include/net/tcp.h). And a person who waits for the result of a dead transfer
// has it within 5 s. Where Spec.Rate makes senders pause, the length of a pause
// is added.
const Patience = 4 * time.Second

// Run drives one end of a transfer until it ends, and returns what this end
// recorded, also with an error: what was measured until then. It closes the
// connections.
//
// A transfer that is not [Spec.Timed] ends when the receiver has read all of
// Spec.Bytes, which may be none. Any other is ended by the receiver: its clock
// starts with the first byte on any stream, and after Omit and Duration it
// resets the connections, so that the sender stops immediately and nothing buffered
// is waited for. A sender whose connection is reset earlier, or not within
// Patience after its time, fails; so does an end for which nothing moves for
// Patience. When ctx is done, Run returns within about 100 ms with its cause.
//
// watch, if not nil, is called every Spec.Interval from the goroutine of Run,
// which also takes the samples: it must not block. The counters and links of End
// are those of the network namespace of Run's thread.
func Run(ctx context.Context, spec Spec, conns []Conn, watch func(Progress)) (End, error) {
	return run(ctx, spec, conns, nil, watch, Patience)
}

// RunAfter is Run that has all ready, calls begin, and goes on as soon as that returns: for
// hosts that begin at the same instant. The other end waits for Patience at most. An error of
// begin ends the transfer.
func RunAfter(ctx context.Context, spec Spec, conns []Conn, begin func(context.Context) error, watch func(Progress)) (End, error) {
	return run(ctx, spec, conns, begin, watch, Patience)
}

func run(ctx context.Context, spec Spec, conns []Conn, begin func(context.Context) error, watch func(Progress), patience time.Duration) (End, error) {
	before := Read(conns)
	t, err := open(ctx, spec, conns, patience)
	if err != nil {
		end := newEnd()
		end.Error = err.Error()
		return end, err
	}
	t.readings = before
	if begin != nil {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		if err := begin(ctx); err != nil {
			cancel(err)
		}
		t.start = time.Now()
	}
	t.run(ctx, watch)
	if first := max(t.sent.first.Load(), t.received.first.Load()); first > 0 {
		t.end.First = t.start.Add(time.Duration(first))
	}
	t.spent()
	if err := t.complete(); err != nil {
		t.fail(err)
	}
	t.conclude()
	before.Since(&t.end)
	return t.end, t.failed()
}

// letGo closes the connection of a stream whose thread has ended: without
// waiting for what is buffered, except after a transfer of bytes that went well.
func (t *transfer) letGo(s *stream) {
	if !s.done {
		t.sampler.last(t.now, s)
		s.finish(t.spec)
	}
	if !t.spec.Timed() && s.err == nil {
		s.sock.close()
	} else {
		s.sock.reset()
	}
	if s.err != nil {
		t.fail(s.err)
		t.stop()
	}
}

// complete checks that a receiver has got all bytes of a transfer of bytes.
func (t *transfer) complete() error {
	var received int64
	receivers := 0
	for _, s := range t.streams {
		if !s.Sender {
			receivers++
			received += s.meter.bytes.Load()
		}
	}
	if t.spec.Timed() || receivers == 0 || received == t.spec.Bytes {
		return nil
	}
	return fmt.Errorf("receive: %d of %d bytes came before the peer ended its data", received, t.spec.Bytes)
}

// due is the earliest time at which a sender may believe that the receiver is
// done. The receiver's clock starts after the sender's; that it may run a
// little faster is what the percent is for.
func (t *transfer) due() time.Duration { return (t.spec.Omit + t.spec.Duration) / 100 * 99 }
