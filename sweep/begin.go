package sweep

import (
	"fmt"
	"time"
)

// begin says what an experiment is about to do, and what it costs.
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
	if err := asksFor(r.factors, world); err != nil {
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

// opening is the one transfer with the present setting, from whose value a search begins.
type opening struct {
	point Point
	done  bool
}

func (o *opening) next() (turn, bool) { return turn{-1, o.point}, !o.done }
func (o *opening) tell(float64)       { o.done = true }
func (o *opening) left() int          { return 1 }
func (o *opening) points() []Point    { return []Point{o.point} }
