package sweep

import (
	"math/rand/v2"
)

// turn is one transfer to run: a point, and the block that it belongs to.
type turn struct {
	block int // from 0 on
	point Point
}

// order says which transfer comes next, and learns how fast each was.
type order interface {
	// next is the next transfer, the same until it is told of; false: that was all.
	next() (turn, bool)
	// tell gives the goodput of the transfer that next gave, in bit/s; 0: it failed.
	tell(goodput float64)
	// left is how many transfers remain, at most.
	left() int
	// points are all that it has gone through so far, in the order of a table.
	points() []Point
}

// blocks go through all points once each, in shuffled order, again and again: what
// drifts with time, or comes of what ran before, falls on all points alike (R. A.
// Fisher, "The arrangement of field experiments", 1926). The order of a block depends
// on the seed and its number alone, so that an experiment that was interrupted goes on
// in the same order.
type blocks struct {
	all   []Point
	count int
	seed  uint64
	done  int   // transfers
	perm  []int // of the present block
}

func newBlocks(all []Point, count int, seed uint64) *blocks {
	return &blocks{all: all, count: count, seed: seed}
}

func (b *blocks) next() (turn, bool) {
	block, at := b.done/len(b.all), b.done%len(b.all)
	if block >= b.count {
		return turn{}, false
	}
	if at == 0 || b.perm == nil {
		b.perm = rand.New(rand.NewPCG(b.seed, uint64(block))).Perm(len(b.all))
	}
	return turn{block, b.all[b.perm[at]]}, true
}

func (b *blocks) tell(float64)    { b.done++ }
func (b *blocks) left() int       { return len(b.all)*b.count - b.done }
func (b *blocks) points() []Point { return b.all }
