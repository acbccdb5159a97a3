package bulk

import (
	"context"
	"time"
)

// drainLook is the time between two looks at what is not acknowledged: little
// beside what a path takes to empty its queues.
const drainLook = time.Millisecond

// Drain waits, after Stop, until the peer has acknowledged all that was sent on
// the streams that are still connected, or ctx is done. Where the system does
// not tell what is not acknowledged, it does not wait.
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
