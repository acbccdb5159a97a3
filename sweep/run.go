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

func begin(spec *Spec, world World, store Store, watch Watch) (*run, error) {
	r := &run{spec: spec, world: world, about: world.About(), store: store, watch: watch, kept: map[string]Measured{}}
	own := *spec
	r.spec = &own
	for r.spec.Seed == 0 {
		r.spec.Seed = drawSeed()
	}
	for _, m := range store.Kept() {
		if m.Run != nil { // what failed is tried again
			r.kept[place(m.Block, m.Key)] = m
		}
	}
	var err error
	if r.factors, err = spec.Factors.with(max(1, r.about.CPUs)); err != nil {
		return nil, err
	}
	rate := float64(r.about.Capacity)
	if spec.Plan == Search {
		f := r.searched()
		r.usual = r.factors.usual()
		if f.Range.From.IsNumber() {
			r.order = r.searchFrom(f, f.Range.From.Number)
			r.cost = spec.cost(r.factors, 0, r.order.left(), rate)
		} else {
			r.order = &opening{point: r.usual}
			least, ok := f.floor()
			if !ok {
				least = 1
			}
			r.cost = spec.cost(r.factors, 0, 1+r.searchFrom(f, least).left(), rate)
		}
	} else {
		points, usual := r.factors.points()
		r.usual = points[usual]
		r.order = newBlocks(points, spec.Blocks, r.spec.Seed)
		r.cost = spec.cost(r.factors, len(points), len(points)*spec.Blocks, rate)
	}
	if r.cost.Time > spec.Budget && spec.Plan == Grid {
		return nil, fmt.Errorf("%w: %v, and the experiment takes about %v (%s): use fewer values or blocks, shorter transfers, or a larger budget", ErrBudget,
			spec.Budget, r.cost.Time.Round(time.Second), r.cost)
	}
	watch.Starts(r.cost, len(r.kept))
	return r, nil
}

// searched is the factor that a search is about.
func (r *run) searched() *Factor {
	for i := range r.factors {
		if r.factors[i].Range != nil {
			return &r.factors[i]
		}
	}
	return nil
}

// searchFrom begins a search at a value.
func (r *run) searchFrom(f *Factor, start float64) *search {
	to := f.Range.To.Number
	if !f.Range.To.IsNumber() {
		to = float64(max(1, r.about.CPUs))
	}
	least := start
	if low, ok := f.floor(); ok && !f.Range.From.IsNumber() {
		least = min(start, low)
	}
	return newSearch(start, least, max(start, to), float64(r.spec.Smallest), r.spec.Blocks, r.spec.Seed,
		func(v float64) Point { return r.usual.with(f.name, number(v)) })
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

// opened gives the search that begins at the present value, once that is measured.
func (r *run) opened() (*search, error) {
	o, ok := r.order.(*opening)
	if !ok {
		return nil, nil
	}
	f := r.searched()
	for _, m := range r.measured {
		if m.Key != o.point.Key() || m.Run == nil {
			continue
		}
		v := m.Taken[f.name]
		if known := f.known(present); known.IsNumber() {
			v = known
		}
		if v.IsNumber() && v.Number > 0 {
			return r.searchFrom(f, v.Number), nil
		}
	}
	return nil, fmt.Errorf("the present value of %s is not known: say where to begin, with {from: …}", f.name)
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

// opening is the one transfer with the present setting, from whose value a search begins.
type opening struct {
	point Point
	done  bool
}

func (o *opening) next() (turn, bool) { return turn{-1, o.point}, !o.done }
func (o *opening) tell(float64)       { o.done = true }
func (o *opening) left() int          { return 1 }
func (o *opening) points() []Point    { return []Point{o.point} }
