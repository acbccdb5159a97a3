package examine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer"
)

// Meter runs transfers with one far end, and keeps account of the test traffic
// against a budget. It is not safe for concurrent use.
type Meter struct {
	far    Far
	rtt    time.Duration // of the path
	budget time.Duration
	watch  Watcher
	spent  Spent
	beside time.Duration // the most that a transfer took beside its own time
}

// NewMeter gives a meter for a path of a round-trip time, with nothing spent.
func NewMeter(far Far, rtt, budget time.Duration, watch Watcher) *Meter {
	return &Meter{far: far, rtt: rtt, budget: budget, watch: watch}
}

// Spent is the test traffic of all transfers together.
type Spent struct {
	Time  time.Duration // from asking for a transfer to having both ends' halves of it, over all of them
	Bytes int64         // that were received
}

// Add is the sum of two.
func (s Spent) Add(t Spent) Spent { return Spent{s.Time + t.Time, s.Bytes + t.Bytes} }

// Spent is what all transfers so far took.
func (m *Meter) Spent() Spent { return m.spent }

// Left is what is left of the budget, never less than 0.
func (m *Meter) Left() time.Duration { return max(0, m.budget-m.spent.Time) }

// Expect is what a transfer takes of the budget, going by those before it.
func (m *Meter) Expect(omit, measured time.Duration) time.Duration {
	return omit + measured + max(m.beside, setUp(m.rtt))
}

// Cost is what must be left of the budget to begin a transfer: it is stopped
// where it would take longer.
func (m *Meter) Cost(omit, measured time.Duration) time.Duration {
	return m.Expect(omit, measured) + stopping(m.rtt)
}

// Moved is one transfer and what became of it.
type Moved struct {
	Result *bulk.Result // what was recorded, nil if nothing was
	Err    error        // why it did not come to its end
	Spent  Spent
}

// patience is how long nothing may arrive, beside two round trips, before a
// transfer is stopped. Linux repeats what was lost after 0.2, 0.6, 1.4 and 3 s
// (RTO_MIN, doubled each time): what four packets in a row did not bring, a
// fifth rarely will, and the budget is for other questions.
const patience = 3 * time.Second

// errStalled says that a transfer was stopped since nothing arrived any more.
var errStalled = errors.New("nothing arrived")

// ErrSpent says that a transfer was stopped since it took more than was left: its
// first byte came late, or its end did.
var ErrSpent = errors.New("the budget of test traffic was spent before it ended")

// setUp is how long a transfer takes beside its own time: asking for it, opening
// its connections, starting it, the last bytes' way, and fetching what the far end
// recorded are a round trip each, and one more is for a call that needs two.
func setUp(rtt time.Duration) time.Duration { return 6 * rtt }

// stopping is how long it takes until a transfer that has to stop has stopped and
// the far end's half of it is here: the 100 ms of bulk.Run, as much for a busy
// machine, and two round trips. Only where the far end no longer answers it takes
// longer.
func stopping(rtt time.Duration) time.Duration { return 200*time.Millisecond + 2*rtt }

// Move runs one transfer and puts it on the account. It is stopped when it stands
// still, or would take more than most, which is never more than what is left.
func (m *Meter) Move(ctx context.Context, spec bulk.Spec, most time.Duration) Moved {
	quiet := patience + 2*m.rtt
	limited, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	spent := time.AfterFunc(min(most, m.Left())-stopping(m.rtt), func() { stop(ErrSpent) })
	defer spent.Stop()
	var r Moved
	var arrived time.Duration // when something last did
	began := time.Now()
	r.Result, r.Err = m.far.Transfer(limited, spec, func(p bulk.Progress) {
		if p.Rate > 0 {
			arrived = p.At
		}
		if p.At-arrived >= quiet {
			stop(fmt.Errorf("%w for %v", errStalled, quiet.Round(100*time.Millisecond)))
		}
		m.watch.Progress(p)
	})
	r.Spent.Time = time.Since(began)
	if r.Result != nil {
		for _, d := range spec.Directions() {
			r.Spent.Bytes += r.Result.Received(d)
		}
	}
	m.spent = m.spent.Add(r.Spent)
	if r.Err == nil {
		m.beside = max(m.beside, r.Spent.Time-spec.Omit-spec.Duration)
	}
	return r
}

// Began says whether the transfer did, so that there is something to see in it.
func (r Moved) Began() bool {
	return r.Result != nil && len(r.Result.Client.Streams)+len(r.Result.Server.Streams) > 0
}

// Fatal is the error after which nothing more can be measured: the user has
// enough, or the far end is gone. Any other failure is only evidence.
func (r Moved) Fatal(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(r.Err, peer.ErrLost):
		return r.Err
	}
	return nil
}
