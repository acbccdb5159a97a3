package wire

import (
	"math/rand/v2"
	"time"

	"github.com/fullbore/fullbore/lab/schema"
)

// Each impairment draws from a stream of its own, so that adding one leaves what
// the others do as it was.
const (
	streamRandom = iota
	streamGilbert
	streamDuplicate
	streamReorder
	streamCorrupt
	streamBit
	streamJitter
)

// coin falls on one side with probability p.
type coin struct {
	p   float64
	rng *rand.Rand
}

func newCoin(p schema.Share, seed, stream uint64) coin {
	return coin{float64(p), rand.New(rand.NewPCG(seed, stream))}
}

func (c *coin) toss() bool { return c.p > 0 && c.rng.Float64() < c.p }

// jitter is a delay that wanders: straight lines between random heights, which
// lie 4 amplitudes of time apart. It never falls faster than time passes (at most
// by half of it), so that nothing overtakes, however densely packets come.
// Independent draws per packet could not do that without turning into a constant
// delay at the maximum.
type jitter struct {
	amplitude float64 // ns
	rng       *rand.Rand
	start     float64 // when the present line starts, ns
	from, to  float64 // its heights
}

func newJitter(amplitude time.Duration, seed uint64) jitter {
	return jitter{amplitude: float64(amplitude), rng: rand.New(rand.NewPCG(seed, streamJitter))}
}

// at is the height at t, which must not go back.
func (j *jitter) at(t int64) int64 {
	if j.amplitude == 0 {
		return 0
	}
	step := 4 * j.amplitude
	if gap := float64(t) - j.start; gap >= 8*step { // idle: no use drawing every line
		j.start = float64(t) - step
	}
	for float64(t) >= j.start+step {
		j.start += step
		j.from, j.to = j.to, (2*j.rng.Float64()-1)*j.amplitude
	}
	return int64(j.from + (j.to-j.from)*(float64(t)-j.start)/step)
}
