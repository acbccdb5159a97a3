package iperf3

import (
	"context"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/bulk/datagram"
)

// transfer is this end's half of the data, while it runs.
type transfer interface {
	Due() <-chan struct{}
	Failed() error
	Stop() bulk.End
	Close()
}

func (c *client) start(ctx context.Context, conns []bulk.Conn) (transfer, error) {
	c.hearken()
	if c.Spec.Protocol == bulk.UDP {
		return datagram.Start(ctx, c.Spec, conns, c.watch)
	}
	return bulk.Start(ctx, c.Spec, conns, c.watch)
}

// hearken notices when nothing moves any more, where the client waits for bytes
// of the server and no clock ends that. Of datagrams those that were lost do not
// come again: then the test is over.
func (c *client) hearken() {
	if c.Spec.Timed() || c.Spec.Direction == bulk.Forward {
		return
	}
	limit := c.wait.silence
	if c.Spec.Protocol == bulk.UDP {
		limit = bulk.Patience
	}
	if c.Spec.Rate > 0 { // what the rate itself explains
		burst := float64(c.Spec.Length * max(1, c.Spec.Burst))
		limit += time.Duration(min(burst*8/float64(c.Spec.Rate), bulk.MaxDuration.Seconds()) * float64(time.Second))
	}
	quiet := make(chan struct{})
	c.quiet = quiet
	watch, last, closed := c.watch, bulk.Progress{}, false
	c.watch = func(p bulk.Progress) {
		switch {
		case p.Received != last.Received || p.Sent != last.Sent:
			last = p
		case !closed && p.At-last.At > limit:
			closed = true
			close(quiet)
		}
		if watch != nil {
			watch(p)
		}
	}
}

// Between the last byte that the client sends and its TestEnd there is time for
// the server to read: iperf3 looks at its control connection first, and counts
// nothing that it finds on the streams afterwards.
const (
	// drainMost is how long what is still in the send buffer and on the path is
	// waited for: 4 MB, Linux's most for a sender that is not tuned, leave at
	// 6.4 Mb/s in that time. A slower path is cut off, as iperf3 cuts off every
	// path.
	drainMost = 5 * time.Second
	// readWithin is for the server's process to read what its kernel has
	// acknowledged: 6 MB of receive buffer take 3 ms, its turn on a busy host some
	// time slices.
	readWithin = 50 * time.Millisecond
)

// end informs the server that the test is over, so that both ends count the same:
// of what the client sent all, of what it receives what has come by now. Where
// both go on, by the clock, what is on its way is missing at either end.
func (c *client) end(ctx context.Context, running transfer) error {
	switch {
	case c.Spec.Direction == bulk.Forward:
		running.Stop()
		if tcp, ok := running.(*bulk.Running); ok { // nobody acknowledges a datagram
			drain, done := context.WithTimeout(ctx, drainMost)
			tcp.Drain(drain)
			done()
		}
		c.rest(ctx)
	case c.Spec.Direction == bulk.Both && !c.Spec.Timed():
		c.rest(ctx)
	}
	return c.control.writeState(TestEnd)
}

func (c *client) rest(ctx context.Context) {
	select {
	case <-time.After(c.wait.read):
		c.rested = c.wait.read
	case <-ctx.Done():
	}
}
