// Package examine measures a path with as many transfers as the verdict needs.
// A first transfer is diagnosed; as long as a discriminating transfer (a trial)
// could change the verdict and the budget of test traffic allows it, that is run
// and all is diagnosed again.
package examine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/unit"
)

// Far is the far end as an examination needs it: *peer.Client is one.
type Far interface {
	path.Helper
	// Addr is where it listens, TCP and UDP.
	Addr() netip.AddrPort
	// Transfer runs one transfer; on an error it returns what was measured so far.
	Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error)
	// Facts are the far host's; [peer.ErrMeasuresOnly] without its token, with which it would
	// do more than measure.
	Facts(ctx context.Context) (*host.Facts, error)
}

// Near gives this host's facts: host.Collect is one.
type Near func(ctx context.Context) (*host.Facts, error)

// Watcher is notified of progress. Calls come one at a time.
type Watcher interface {
	// Phase starts an activity: "measure as it is now", "ask: ..." (a trial), "try:
	// ..." (a change).
	Phase(text string)
	// Progress of the running transfer.
	Progress(p bulk.Progress)
	// Result of an activity.
	Result(text string)
}

// Options of one examination.
type Options struct {
	Direction bulk.Direction // Forward: this host sends; Reverse: it receives
	Streams   int            // TCP connections of the transfer; 0 means 1
	Budget    time.Duration  // of test traffic, over all transfers; 0: DefaultBudget of the path
	Quick     bool           // no trials: the verdict rests on one transfer
	Watch     Watcher        // nil: nobody watches
}

// Examination is what was measured and what it says.
type Examination struct {
	Evidence  diagnose.Evidence  // path, first transfer, hosts, and the trials with their results
	Diagnosis diagnose.Diagnosis // Next, if not nil, is the trial that the budget did not allow
	Spent     Spent
}

// Untried is the trial that would show more and was not run, nil if there is none.
func (x *Examination) Untried() *diagnose.Trial {
	if x.Diagnosis.Next == nil || ran(x.Evidence.Trials, x.Diagnosis.Next) {
		return nil
	}
	return x.Diagnosis.Next
}

// ErrBudget says that the budget does not even allow the first transfer.
var ErrBudget = errors.New("budget is too small")

// Run examines one direction of the path to far.
//
// A transfer that begins and then fails, or in which nothing arrives, is no
// error but evidence (Evidence.Failed): a path on which full-size packets vanish
// gets a verdict too. Nor is a path that cannot be probed, as long as a transfer
// runs. Errors are: a transfer that cannot begin, [ErrBudget], a far end that
// goes away for good, and the context's. The last two come with the examination
// as far as it got, if there was something to diagnose; otherwise it is nil.
func Run(ctx context.Context, near Near, far Far, o Options) (*Examination, error) {
	if o.Watch == nil {
		o.Watch = silent{}
	}
	here, there, err := Meet(ctx, near, far)
	if err != nil {
		return nil, err
	}
	x := &Examination{Evidence: diagnose.Evidence{Direction: o.Direction, SenderHost: here, ReceiverHost: there}}
	if o.Direction == bulk.Reverse {
		x.Evidence.SenderHost, x.Evidence.ReceiverHost = there, here
	}
	probing := x.probe(ctx, far, o.Watch)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	rtt := roundTrip(&x.Evidence)
	budget := o.Budget
	if budget == 0 {
		budget = DefaultBudget(rtt)
	}
	meter := NewMeter(far, rtt, budget, o.Watch)
	err = x.transfer(ctx, meter, o)
	x.Spent = meter.Spent()
	if err != nil {
		switch {
		case x.Evidence.Transfer == nil && probing != nil:
			return nil, fmt.Errorf("%w; before that: %w", err, probing)
		case x.Evidence.Transfer == nil:
			return nil, err
		}
		x.Diagnosis = diagnose.Diagnose(&x.Evidence)
		return x, err
	}
	if o.Quick {
		x.Diagnosis = diagnose.Diagnose(&x.Evidence)
		return x, nil
	}
	x.Diagnosis, err = Settle(ctx, meter, &x.Evidence, meter.Left(), diagnose.Diagnose)
	x.Spent = meter.Spent()
	return x, err
}

// Meet gives the facts of both hosts. Those of the far one are nil where this client
// has no token, so that it may only measure. Any other reason why they are missing is
// an error, since what limits the path may be among them.
func Meet(ctx context.Context, near Near, far Far) (here, there *host.Facts, err error) {
	if here, err = near(ctx); err != nil {
		return nil, nil, fmt.Errorf("collect facts of this host: %w", err)
	}
	there, err = far.Facts(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case errors.Is(err, peer.ErrMeasuresOnly):
		return here, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("collect facts of the far end: %w", err)
	}
	return here, there, nil
}

// probe measures the path itself. What it cannot find out, a transfer may.
func (x *Examination) probe(ctx context.Context, far Far, watch Watcher) error {
	watch.Phase("probe the path")
	estimate, err := Probe(ctx, far, x.Evidence.Direction)
	if err != nil {
		if ctx.Err() == nil {
			watch.Result(fmt.Sprintf("not possible: %v", err))
		}
		return err
	}
	x.Evidence.Path = estimate
	way := x.way()
	watch.Result(fmt.Sprintf("RTT %s, capacity %s", unit.Milliseconds(estimate.RTT.Min), way.Capacity.Rate))
	return nil
}

// transfer runs the first one: as any bulk application would, with nothing set.
func (x *Examination) transfer(ctx context.Context, m *Meter, o Options) error {
	omit, measured := Timing(m.rtt)
	if takes := m.Cost(omit, measured); takes > m.Left() {
		return fmt.Errorf("%w: %v of test traffic, and one transfer takes up to %.1fs on this path", ErrBudget, m.budget, math.Ceil(10*takes.Seconds())/10)
	}
	spec := bulk.Spec{Direction: o.Direction, Streams: max(1, o.Streams), Omit: omit, Duration: measured}
	o.Watch.Phase("measure a transfer")
	run := m.Move(ctx, spec, m.Left())
	switch {
	case !run.Began():
		return run.Err
	case run.Err == nil:
		o.Watch.Result(run.Result.Goodput(o.Direction).String())
	default:
		x.Evidence.Failed = run.Err.Error()
		o.Watch.Result(fmt.Sprintf("failed: %v", run.Err))
	}
	x.Evidence.Transfer = run.Result
	return run.Fatal(ctx)
}

// way is the direction of the path that is examined.
func (x *Examination) way() *path.Direction {
	return x.Evidence.Path.Way(x.Evidence.Direction == bulk.Reverse)
}

// silent is a Watcher that ignores everything.
type silent struct{}

func (silent) Phase(string)           {}
func (silent) Progress(bulk.Progress) {}
func (silent) Result(string)          {}

// looks is how often a path is probed at most. Hosts on which other programs
// take every second time slice still have an even chance each time.
const looks = 3

// Probe measures the path itself. Where a busy host could not send or stamp its
// packet trains evenly, so that they only give a lower bound of the capacity in the
// direction that matters, it probes again: without that figure it is not known
// whether a transfer fills the path. Between the probes a second or two pass.
func Probe(ctx context.Context, far Far, d bulk.Direction) (*path.Estimate, error) {
	best, err := again(ctx, d, func() (*path.Estimate, error) { return path.Probe(ctx, far.Addr(), far, path.Options{}) })
	if err != nil {
		return nil, fmt.Errorf("probe the path: %w", err)
	}
	return best, nil
}

// again looks until a probe measured the capacity, or has looked often enough. Only
// where the first fails there is no estimate.
func again(ctx context.Context, d bulk.Direction, look func() (*path.Estimate, error)) (*path.Estimate, error) {
	best, err := look()
	for range looks - 1 {
		if err != nil || !bounded(best, d) {
			break
		}
		next, failed := look()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if failed == nil && next.Way(d == bulk.Reverse).Capacity.Measured() { // a lower bound is more than what is assumed
			best = next
		}
	}
	return best, err
}

// bounded says whether only a lower bound of the capacity was measured.
func bounded(e *path.Estimate, d bulk.Direction) bool {
	c := e.Way(d == bulk.Reverse).Capacity
	return !c.Assumed && c.High == 0
}
