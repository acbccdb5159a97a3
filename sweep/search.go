package sweep

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fullbore/fullbore/stat"
)

// fewestPairs is of how many pairs of runs a decision of a search is made at least:
// fewer say next to nothing about their scatter.
const fewestPairs = stat.FewestRuns

// search is the procedure of the NFS article: begin at the present value, double until
// nothing more is gained, and then halve back to the smallest value that does as well.
//
// Two values are compared by pairs of runs, which run in random order within each pair,
// until the 95 % interval of the gain from one to the other excludes what matters, on
// either side; each look at a growing number of pairs gets its share of the error (see
// stat.Spend). Pairs that are spent decide by their middle, and the search says so.
//
// Values are start·2^k. Going back bisects k, as what is enough at one value is enough
// at all above it, up to where it began.
type search struct {
	start      float64
	least      int // k of the smallest and the largest value
	most       int
	matters    float64 // share
	pairs      int     // that a decision may take
	of         func(value float64) Point
	seed       uint64
	comparison comparison
	decided    []step
	back       bool // it halves back
	short      int  // k that is known not to be enough: one below the least if none is
	best       int  // k of the value that the others are held against
	low        int  // while it halves back: between short and low lies the smallest that is enough
	over       bool
	broken     int // k of the larger value that could not be measured while doubling; 0: there is none
	asked      []int
	pair       int // pairs begun in all, for the order within them
}

// comparison is of two values, the smaller one first.
type comparison struct {
	k     [2]int
	runs  [2][]float64
	first int // which of both comes first in the present pair
	half  bool
}

// step is one decision of a search.
type step struct {
	From, To float64
	Gain     stat.Effect
	Pairs    int
	Gains    bool // it is more by what matters
	Sure     bool // the interval says so, and not only its middle
	Failed   bool // the larger value could not be measured
}

// newSearch begins at start and keeps within least and most, which holds start.
func newSearch(start, least, most, matters float64, pairs int, seed uint64, of func(float64) Point) *search {
	s := &search{start: start, matters: matters, pairs: max(fewestPairs, pairs), seed: seed, of: of}
	s.most = max(0, int(math.Floor(math.Log2(most/start)+1e-9)))
	s.least = -max(0, int(math.Floor(math.Log2(start/least)+1e-9)))
	s.short = s.least - 1
	s.compare(0, 1)
	return s
}

// value of a k, rounded as all values are that a search can have.
func (s *search) value(k int) float64 { return math.Max(1, math.Round(math.Ldexp(s.start, k))) }

// compare begins the next comparison, or ends the search.
func (s *search) compare(a, b int) {
	switch {
	case !s.back && b > s.most: // doubling ends here
		s.back, s.best, s.low = true, a, a
		s.halve()
		return
	case s.value(a) == s.value(b):
		s.over = true
		return
	}
	s.comparison = comparison{k: [2]int{a, b}}
	s.draw()
	for _, k := range []int{a, b} {
		if !slices.Contains(s.asked, k) {
			s.asked = append(s.asked, k)
		}
	}
}

// draw says which of a pair comes first.
func (s *search) draw() {
	s.comparison.first = int(rand.New(rand.NewPCG(s.seed, uint64(s.pair))).Uint64() >> 63)
	s.pair++
}

func (s *search) turning() int {
	if s.comparison.half {
		return 1 - s.comparison.first
	}
	return s.comparison.first
}

func (s *search) next() (turn, bool) {
	if s.over {
		return turn{}, false
	}
	return turn{s.pair - 1, s.of(s.value(s.comparison.k[s.turning()]))}, true
}

func (s *search) tell(goodput float64) {
	c := &s.comparison
	at := s.turning()
	if goodput <= 0 {
		s.fail(at)
		return
	}
	c.runs[at] = append(c.runs[at], goodput)
	if !c.half {
		c.half = true
		return
	}
	c.half = false
	if n := len(c.runs[0]); n >= fewestPairs {
		look, looks := n-fewestPairs+1, s.pairs-fewestPairs+1
		e := stat.PairedAt(1-stat.Spend(0.05, look, looks), c.runs[0], c.runs[1])
		bound := 1 + s.matters
		if sure := e.Low > bound || e.High < bound; sure || n >= s.pairs {
			s.decide(step{Gain: e, Pairs: n, Gains: e.Gain >= bound, Sure: sure})
			return
		}
	}
	s.draw()
}

// fail takes a value that cannot be measured for one beyond what is possible: it is
// the larger one, or the smaller is not enough.
func (s *search) fail(at int) {
	c := &s.comparison
	if at == 1 {
		if s.back { // the one that all are held against no longer works
			s.over = true
			return
		}
		s.broken = c.k[1]
		s.decide(step{Gain: stat.Effect{Gain: 1, Low: 1, High: 1}, Failed: true, Sure: true})
		return
	}
	s.decide(step{Gain: stat.Effect{Gain: 1, Low: 1, High: 1}, Gains: s.back, Failed: true, Sure: true})
}

func (s *search) decide(d step) {
	a, b := s.comparison.k[0], s.comparison.k[1]
	d.From, d.To = s.value(a), s.value(b)
	s.decided = append(s.decided, d)
	switch {
	case !s.back && d.Gains:
		if d.Sure {
			s.short = a
		}
		s.compare(b, b+1)
	case !s.back:
		s.back, s.best, s.low = true, a, a
		s.halve()
	case d.Gains:
		s.short = a
		s.halve()
	default:
		s.low = a
		if d.Sure && d.Gain.High < 1/(1+s.matters) { // less is even more
			s.best = a
		}
		s.halve()
	}
}

// halve tries the value in the middle of those in question.
func (s *search) halve() {
	if s.low-s.short <= 1 {
		s.over = true
		return
	}
	s.compare(s.short+(s.low-s.short)/2, s.best)
}

func (s *search) left() int {
	if s.over {
		return 0
	}
	from, comparisons := s.low, 0
	if !s.back {
		from, comparisons = s.most, s.most-s.comparison.k[0]
	}
	for unknown := from - s.short; unknown > 1; unknown = (unknown + 1) / 2 {
		comparisons++
	}
	return 2*s.pairs*comparisons - len(s.comparison.runs[0]) - len(s.comparison.runs[1])
}

func (s *search) points() []Point {
	sorted := slices.Sorted(slices.Values(s.asked))
	var all []Point
	for _, k := range sorted {
		all = append(all, s.of(s.value(k)))
	}
	return all
}
