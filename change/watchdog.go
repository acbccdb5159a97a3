package change

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// watching is what a watchdog says once it watches.
const watching = "watching\n"

// A watchdog looks at the journal twice a second: the deadline moves with every
// call on the set. A revert that fails is tried again, less and less often.
const (
	watchEvery = 500 * time.Millisecond
	watchRetry = time.Minute // at the least
)

// Watch reverts the set when its deadline passes, when owner reaches its end, or
// when ctx is done. Without an owner (nil) it also reverts a set that was left
// half applied. It returns when the set is no longer open, whoever closed it.
// Once it watches, it says so on ready.
func (m *Manager) Watch(ctx context.Context, id string, owner io.Reader, ready io.Writer) error {
	if _, err := readSet(m.dir, id); err != nil {
		return fmt.Errorf("watch change set: %w", err)
	}
	gone := make(chan struct{})
	if owner != nil {
		go func() {
			_, _ = io.Copy(io.Discard, owner)
			close(gone)
		}()
	}
	defer holdWatch(m.dir, id)()
	if _, err := io.WriteString(ready, watching); err != nil {
		return fmt.Errorf("watch change set: %w", err)
	}
	pause, why := watchEvery, ""
	var timed stopwatch
	for {
		open, err := m.watchOnce(id, why, owner == nil, &timed)
		if !open {
			return err
		}
		pause = nextPause(pause, err)
		select {
		case <-time.After(pause):
		case <-gone:
			gone, why = nil, "its process ended without confirming"
		case <-ctx.Done():
			_, err := m.watchOnce(id, "its watchdog was asked to stop", false, &timed)
			return err
		}
	}
}

// nextPause is how long to wait before the journal is looked at again.
func nextPause(pause time.Duration, err error) time.Duration {
	if err == nil {
		return watchEvery
	}
	return min(2*pause, watchRetry)
}

// stopwatch times a set's deadline on a clock that cannot be set: the deadline in
// the journal is of the day's clock, and when that is set back, as it may be soon
// after a boot, it would come too late.
type stopwatch struct {
	deadline time.Time // the one that is timed
	since    time.Time // when it was first seen, on Go's monotonic clock
}

// over reports whether the set's deadline would have come if the day's clock had
// not been set back. Every call on the set gives it another one.
func (w *stopwatch) over(set *Set, now time.Time) bool {
	if !w.deadline.Equal(set.Deadline) {
		*w = stopwatch{set.Deadline, now}
	}
	return now.Sub(w.since) >= set.Within
}

// watchOnce reverts the set if it is due, or for the reason given, and reports
// whether it is still open. With whole, a set that is half applied is due as
// soon as no process works on it, which the lock shows.
func (m *Manager) watchOnce(id, why string, whole bool, timed *stopwatch) (open bool, err error) {
	set, err := readSet(m.dir, id)
	if errors.Is(err, ErrUnknown) {
		return false, err // its journal was moved away, and with it what to restore
	}
	if err != nil {
		return true, err
	}
	half := whole && (set.State == Applying || set.Open() && set.Persist)
	if !set.Open() || why == "" && !half && m.now().Before(set.Deadline) && !timed.over(set, m.steady()) {
		return set.Open(), nil
	}
	err = m.locked(context.Background(), func(l *ledger) error {
		set, err := l.find(id)
		if err != nil {
			return err
		}
		// It may have been renewed, confirmed or reverted meanwhile.
		switch {
		case set.Open() && l.late(set):
			err = l.revert(set, l.lateNote(set))
		case set.Open() && timed.over(set, m.steady()):
			err = l.revert(set, unconfirmed(set)+"; the clock was set back meanwhile")
		case set.Open() && why != "":
			err = l.revert(set, why)
		case whole && l.overdue(set):
			err = l.close(set)
		}
		open = set.Open()
		return err
	})
	return open || err != nil, err
}
