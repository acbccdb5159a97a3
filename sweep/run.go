package sweep

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/unit"
)

// Errors that callers distinguish.
var (
	// ErrBudget: the experiment costs more than its budget, or has spent it.
	ErrBudget = errors.New("budget is too small")
	// ErrNotPutBack: something could not be put back.
	ErrNotPutBack = errors.New("not everything could be put back")
	// ErrFailing: so many transfers failed one after the other that no other will do.
	ErrFailing = errors.New("nothing can be measured")
)

// putBackWithin is how long putting back may take.
const putBackWithin = 30 * time.Second

// mostFailures one after the other end an experiment of which nothing could be measured.
const mostFailures = 5

// Run runs an experiment. The document is there also with an error: of what was
// measured until then. Transfers that fail are said and do not end it, unless they are
// many in a row.
//
// Everything that was set is put back when it ends: with its last point, with an error,
// when ctx is done, or when it panics.
func Run(ctx context.Context, spec *Spec, world World, store Store, watch Watch) (doc *Document, err error) {
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackWithin)
		defer cancel()
		if failed := world.PutBack(within); failed != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", ErrNotPutBack, failed))
		}
		if doc != nil && err != nil {
			doc.Error = oneLine(err)
		}
	}()
	r, err := begin(spec, world, store, watch)
	if err != nil {
		return nil, err
	}
	err = r.all(ctx)
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted: what was measured until then is kept: %w", context.Cause(ctx))
	}
	return r.document(), err
}

// drawSeed draws one: JSON numbers hold 53 bits exactly.
func drawSeed() uint64 { return rand.Uint64() >> 11 }

// run is an experiment that runs.
type run struct {
	spec     *Spec
	factors  Factors
	world    World
	about    About
	store    Store
	watch    Watch
	order    order
	usual    Point // the present setting
	cost     Cost
	kept     map[string]Measured // of an earlier start, by block and point
	measured []Measured
	spent    Spent
	failing  []error // of transfers, one after the other
}

// place recognises a transfer that is there already.
func place(block int, key string) string { return fmt.Sprintf("%d %s", block, key) }

// all runs what is not there already.
func (r *run) all(ctx context.Context) error {
	for {
		t, more := r.order.next()
		if !more {
			search, err := r.opened()
			if search == nil || err != nil {
				return err
			}
			r.order = search
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, there := r.kept[place(t.block, t.point.Key())]
		if there {
			r.spent.Resumed++
			r.failing = nil
			r.count(m)
			continue
		}
		if err := r.one(ctx, t); err != nil {
			return err
		}
	}
}

// goodput of a transfer, 0 if it failed.
func goodput(m Measured) unit.Rate {
	if m.Run == nil {
		return 0
	}
	return m.Run.Goodput
}

// count takes a transfer into the account, and tells the order of it.
func (r *run) count(m Measured) {
	r.measured = append(r.measured, m)
	r.spent.Transfers++
	r.spent.Seconds += m.Took.Seconds()
	r.spent.Bytes += m.Bytes
	if m.Run == nil {
		r.spent.Failed++
	}
	r.order.tell(float64(goodput(m)))
}

// one measures a point. An error ends the experiment.
func (r *run) one(ctx context.Context, t turn) error {
	if r.spent.Seconds > r.spec.Budget.Seconds() {
		return fmt.Errorf("%w: %v is spent, and %d transfers remain", ErrBudget, r.spec.Budget, r.order.left())
	}
	left := r.left()
	r.watch.Phase(fmt.Sprintf("%s (block %d; %s, about %v left)", t.point, t.block+1, unit.Count(left.Transfers, "transfer"), left.Time.Round(time.Second)))
	began := time.Now()
	m, result, err := r.measure(ctx, t, began)
	m.Took = time.Since(began)
	if ctx.Err() != nil { // not a measurement of anything
		return context.Cause(ctx)
	}
	if err != nil {
		m.Error = oneLine(err)
		r.watch.Result("failed: " + m.Error)
		r.failing = append(r.failing, err)
	} else {
		r.watch.Result(m.Run.Goodput.String())
		r.failing = nil
	}
	if kept := r.store.Keep(m); kept != nil {
		return fmt.Errorf("keep what was measured: %w", kept)
	}
	r.count(m)
	r.watch.Kept(m, result, r.left())
	if n := len(r.failing); n > 0 && n >= r.patience(err) {
		return fmt.Errorf("%w: %d transfers failed one after the other, the last one: %w", ErrFailing, n, err)
	}
	return nil
}

// patience is how many failures one after the other end an experiment. Where others have
// been measured, or a host refuses what a point asks for, it may be the values: two
// blocks can have all but one of theirs between them.
func (r *run) patience(err error) int {
	if r.spent.Failed < r.spent.Transfers && !errors.Is(err, peer.ErrLost) || errors.Is(err, change.ErrRefused) {
		return max(mostFailures, 2*len(r.order.points()))
	}
	return mostFailures
}

// measure sets a point, runs its transfer and reads back what was in effect.
func (r *run) measure(ctx context.Context, t turn, began time.Time) (Measured, *bulk.Result, error) {
	none := Measured{Block: t.block, Key: t.point.Key(), Began: began}
	if err := r.world.Set(ctx, t.point); err != nil {
		return none, nil, err
	}
	if files, ok := r.world.(Requester); ok {
		m, err := r.requests(ctx, files, t, none)
		return m, nil, err
	}
	result, err := r.world.Transfer(ctx, t.point.Spec(r.spec.Measure), r.watch.Progress)
	if result != nil {
		for _, d := range result.Spec.Directions() {
			none.Bytes += result.Received(d)
		}
	}
	if err != nil {
		return none, nil, err
	}
	m := newMeasured(t, began, result, r.spec.Measure.Also)
	m.Bytes = none.Bytes
	if m.Run.Goodput <= 0 {
		return none, nil, errors.New("nothing arrived")
	}
	set, err := r.world.Taken(ctx, t.point)
	if err != nil {
		return none, nil, fmt.Errorf("read back what was set: %w", err)
	}
	m.Taken, m.Notes = taken(t.point, result, r.about.Kernels)
	m.Taken, m.Notes = join(m.Taken, m.Notes, set)
	for name, got := range set {
		if f := r.factors.of(name); f != nil {
			asked, _ := t.point.Of(name)
			if note := differs(f.setting, asked, got, t.point); note != "" && asked.Word != allOfCPU {
				m.Notes = append(m.Notes, note)
			}
		}
	}
	return m, result, nil
}

// left is what remains, by what the transfers so far took.
func (r *run) left() Left {
	n := r.order.left()
	each := r.cost.Time / time.Duration(max(1, r.cost.Transfers))
	if done := r.spent.Transfers - r.spent.Failed; done > 0 {
		each = time.Duration(r.spent.Seconds / float64(done) * float64(time.Second))
	}
	return Left{n, each * time.Duration(n)}
}
