package climb

import (
	"context"
	"errors"
	"slices"

	"github.com/fullbore/fullbore/stat"
)

const (
	// leastGain is the smallest difference that counts, as in tuning: runs of one state
	// differ by as much.
	leastGain = 0.03
	// mostRuns of one state in a contest.
	mostRuns = 6
	// chance that a contest takes a difference for real that is none, over all its looks.
	// It chooses what to go on with; what is kept is proven apart.
	chance = 0.10
	// threefold is a factor that no two runs differ by: there one of each is enough.
	threefold = 3.0
)

// contest measures two states in turns until it is clear which is better, or each has
// mostRuns. One in which requests fail is the worse one, and failed says why.
func (c *climb) contest(ctx context.Context, old, fresh *point) (_ stat.Decision, failed, err error) {
	for {
		if n := min(len(old.readings), len(fresh.readings)); n >= 1 {
			if slices.Min(fresh.rates()) > threefold*slices.Max(old.rates()) {
				return stat.Better, nil, nil
			}
			if n >= 2 {
				d, effect := stat.Decide(old.rates(), fresh.rates(), leastGain, stat.Spend(chance, min(n, mostRuns)-1, mostRuns-1))
				switch {
				case d != stat.Undecided:
					return d, nil, nil
				case effect.High < 1+leastGain: // it may be worse, and is not better
					return stat.Same, nil, nil
				case n >= mostRuns:
					return stat.Undecided, nil, nil
				}
			}
			if c.left() < c.proof()+c.bench.Takes() {
				return stat.Undecided, nil, nil
			}
		}
		next := fresh
		if len(old.readings) < len(fresh.readings) {
			next = old
		}
		err := c.measure(ctx, next)
		switch {
		case err == nil:
		case ctx.Err() != nil || errors.Is(err, ErrHosts):
			return stat.Undecided, nil, err
		case next == fresh:
			return stat.Worse, err, nil
		default:
			return stat.Better, err, nil
		}
	}
}

// ErrHosts says that a host could not be brought to a state: then nothing more can be
// measured.
var ErrHosts = errors.New("the hosts' settings could not be changed")
