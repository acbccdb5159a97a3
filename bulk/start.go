package bulk

import (
	"context"
	"sync"
	"time"
)

// Running is one end of a transfer that its caller ends, as iperf3's protocol does
// on a control connection. [Run] is for transfers that end by themselves.
//
// The measured time begins Spec.Omit after Start, whether or not bytes move,
// and a sender's share of Spec.Bytes is what it sends from then on.
//
// Unlike in Run, silence is no failure, since the caller watches the peer on its
// control connection; a sender still fails when nothing comes back for
// CallerPatience. Nor is it a failure that the peer ends its data before Stop,
// until it has done so on all streams.
type Running struct {
	t       *transfer
	stopped sync.Once
	over    chan struct{} // closed when the connections are

	draining sync.Mutex // held by Drain, and to close the connections
	closed   bool
}

// CallerPatience stands for [Patience] where the caller watches over the peer
// itself: an outage that its own connection outlasts ends no transfer. Linux
// repeats what was lost 0.2, 0.6, 1.4, 3, 6.2 and 12.6 s after it was sent, so
// that after an outage of up to 12 s data moves again within that time.
const CallerPatience = 15 * time.Second

// Start begins one end of a transfer on conns, which it takes over. watch is as
// in [Run], but called from a goroutine of its own, and not after Stop. Nothing
// is left when Close has returned, or within about 100 ms when ctx is done.
//
// On the server's end (Conn.Server) only the caller ends the transfer:
// its senders go on until Stop whatever Spec.Duration and Spec.Bytes say.
func Start(ctx context.Context, spec Spec, conns []Conn, watch func(Progress)) (*Running, error) {
	return begin(ctx, spec, conns, watch, CallerPatience)
}

func begin(ctx context.Context, spec Spec, conns []Conn, watch func(Progress), patience time.Duration) (*Running, error) {
	before := Read(conns)
	t, err := open(ctx, spec, conns, patience)
	if err != nil {
		return nil, err
	}
	t.caller.take(t.streams)
	t.readings = before
	r := &Running{t: t, over: make(chan struct{})}
	t.sent.fix()
	t.received.fix()
	go func() {
		defer close(r.over)
		t.run(ctx, watch)
		r.draining.Lock()
		defer r.draining.Unlock()
		r.closed = true
		for _, s := range t.streams {
			if ctx.Err() != nil {
				s.sock.reset()
			} else {
				s.sock.close()
			}
		}
	}()
	return r, nil
}

// Due is closed when, by this end's clock and counts, the transfer has had its
// time, or its bytes: all that this end has to send are written and
// acknowledged, or all that it has to receive have come. Of a transfer in both
// directions, one is enough, so that both are under load for all of the
// measured time. Due is also closed when a stream fails before. On the server's
// end, that is the only reason.
func (r *Running) Due() <-chan struct{} { return r.t.caller.due }

// Failed is why a stream failed before Due, or nil: the peer reset it, nothing
// came back for CallerPatience, the peer ended its data on all streams, or ctx
// is done.
func (r *Running) Failed() error { return r.t.failed() }

// Stop ends the measured time, of all streams at the same instant: senders
// write no more, what still comes is read (a peer must not hang in its write)
// and not counted. It waits until that is so, which takes two ticks at most,
// and returns what this end recorded; the connections stay open until Close. A
// second call returns the same.
//
// Of a transfer of bytes, the server's end first reads what has already come, for
// a second at most: the client ends it when the last byte is acknowledged, not
// when it is read.
//
// The counters and links of End are those of the network namespace of the
// threads of Start and Stop.
func (r *Running) Stop() End {
	r.t.caller.end()
	<-r.t.caller.frozen
	r.stopped.Do(func() { r.t.readings.Since(&r.t.end) })
	return r.t.end
}

// Close closes the connections, without waiting for what is buffered, once
// their threads have ended, which takes a tick at most.
func (r *Running) Close() {
	r.Stop()
	r.t.stop()
	<-r.over
}

// drainLook is the time between two looks at what is not acknowledged: little
// beside what a path takes to empty its queues.
const drainLook = time.Millisecond

// Drain waits, after Stop, until the peer has acknowledged all that was sent on
// the streams that are still connected, or ctx is done. Where the system does not
// report what is not acknowledged, it does not wait.
func (r *Running) Drain(ctx context.Context) {
	r.draining.Lock()
	defer r.draining.Unlock()
	for _, s := range r.t.streams {
		for s.Sender && !r.closed && ctx.Err() == nil {
			var now Sample
			s.sock.inspect(&now)
			if now.Unsent == 0 || now.TCP.State == StateClosed {
				break
			}
			time.Sleep(drainLook)
		}
	}
}
