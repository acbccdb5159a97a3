package bulk

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// The lab sets these inside a host to make it read from or write to its sockets
// no faster than a slow disk would: a rate such as "50mbit", over all streams
// of the process.
const (
	EnvSlowReader = "FULLBORE_SLOW_READER"
	EnvSlowWriter = "FULLBORE_SLOW_WRITER"
)

// throttleStep is how much a slow application moves at once, in time: short
// enough for a steady rate at the far end.
const throttleStep = 10 * time.Millisecond

// throttle limits the rate of all streams that share it. A nil throttle does
// not limit.
type throttle struct {
	rate unit.Rate

	mu   sync.Mutex
	free time.Time // when all that was moved so far is paid for
}

// newThrottle reads the limit from an environment variable; nil: none is set.
func newThrottle(variable string) (*throttle, error) {
	text := os.Getenv(variable)
	if text == "" {
		return nil, nil
	}
	rate, err := unit.ParseRate(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", variable, err)
	}
	return &throttle{rate: rate}, nil
}

// length is how much to move at once, up to n.
func (t *throttle) length(n int) int {
	if t == nil {
		return n
	}
	return max(1, min(n, max(1<<10, int(t.rate.BytesIn(throttleStep)))))
}

// pay waits until n bytes more may be moved. Time in which nothing was moved is
// not saved up beyond one step.
func (t *throttle) pay(ctx context.Context, n int) {
	if t == nil || n <= 0 {
		return
	}
	cost := time.Duration(float64(n) * 8 / float64(t.rate) * float64(time.Second))
	t.mu.Lock()
	now := time.Now()
	if earliest := now.Add(-throttleStep); t.free.Before(earliest) {
		t.free = earliest
	}
	t.free = t.free.Add(cost)
	wait := t.free.Sub(now)
	t.mu.Unlock()
	sleep(ctx, wait)
}

// sleep waits for d or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
