package examine

import (
	"context"
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/path"
)

// looks is how often a path is probed at most. Hosts on which other programs
// take every second time slice still have an even chance each time.
const looks = 3

// Probe measures the path itself. Where a busy host could not send or stamp its
// packet trains evenly, so that they only tell a lower bound of the capacity in
// the direction that matters, it looks again: without that figure nobody can say
// whether a transfer gets all there is. Between the looks a second or two pass.
func Probe(ctx context.Context, far Far, d bulk.Direction) (*path.Estimate, error) {
	best, err := path.Probe(ctx, far.Addr(), far, path.Options{})
	for look := 1; err == nil && look < looks && bounded(best, d); look++ {
		again, failed := path.Probe(ctx, far.Addr(), far, path.Options{})
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if failed == nil && !bounded(again, d) {
			best = again
		}
	}
	if err != nil {
		return nil, fmt.Errorf("probe the path: %w", err)
	}
	return best, nil
}

// bounded says whether only a lower bound of the capacity was measured.
func bounded(e *path.Estimate, d bulk.Direction) bool {
	c := e.Way(d == bulk.Reverse).Capacity
	return !c.Assumed && c.High == 0
}
