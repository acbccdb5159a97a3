package examine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer"
)

// run is one transfer and what became of it.
type run struct {
	result *bulk.Result
	err    error
	spent  Spent
}

// patience is how long nothing may arrive, beside two round trips, before a
// transfer is stopped. Linux repeats what was lost after 0.2, 0.6, 1.4 and 3 s
// (RTO_MIN, doubled each time): what four packets in a row did not bring, a
// fifth will hardly, and the budget is for other questions.
const patience = 3 * time.Second

// errStalled says that a transfer was stopped since nothing arrived any more.
var errStalled = errors.New("nothing arrived")

// errSpent says that a transfer was stopped since it took more than was left: its
// first byte came late, or its end did.
var errSpent = errors.New("the budget of test traffic was spent before it ended")

// stopping is how long it takes at most until a transfer that has to stop has
// stopped: the next look at it, and the 100 ms of bulk.Run.
const stopping = bulk.DefaultInterval + 100*time.Millisecond

// move runs one transfer, stops it when it stands still or would take more than
// left, and keeps account.
func move(ctx context.Context, far Far, spec bulk.Spec, rtt, left time.Duration, watch Watcher) run {
	quiet := patience + 2*rtt
	limited, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var r run
	var arrived time.Duration // when something last did
	r.result, r.err = far.Transfer(limited, spec, func(p bulk.Progress) {
		r.spent.Time = p.At
		if p.Rate > 0 {
			arrived = p.At
		}
		switch {
		case p.At > left-stopping:
			stop(errSpent)
		case p.At-arrived >= quiet:
			stop(fmt.Errorf("%w for %v", errStalled, quiet.Round(100*time.Millisecond)))
		}
		watch.Progress(p)
	})
	if r.err == nil { // the last look came before the end
		r.spent.Time = max(r.spent.Time, spec.Omit+spec.Duration)
	}
	if r.result != nil {
		r.spent.Time = max(r.spent.Time, ended(&r.result.Client))
		for _, d := range spec.Directions() {
			r.spent.Bytes += r.result.Received(d)
		}
	}
	return r
}

// ended is when the last stream of an end did, after the start. What a queue of
// the path holds then is on its way for a moment longer.
func ended(e *bulk.End) time.Duration {
	var last time.Duration
	for _, s := range e.Streams {
		if n := len(s.Samples); n > 0 {
			last = max(last, s.Samples[n-1].At)
		}
	}
	return last
}

// began says whether the transfer did, so that there is something to see in it.
func (r run) began() bool {
	return r.result != nil && len(r.result.Client.Streams)+len(r.result.Server.Streams) > 0
}

// fatal is the error after which nothing more can be measured: the user has
// enough, or the far end is gone. Any other failure is only evidence.
func (r run) fatal(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(r.err, peer.ErrLost):
		return r.err
	}
	return nil
}
