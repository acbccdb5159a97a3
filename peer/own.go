package peer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fullbore/fullbore/change"
)

// maxOpenSets bounds how many change sets clients may have open.
const maxOpenSets = 16

// ownChanges is a change.Host that remembers which sets were begun through it
// and neither confirmed nor reverted: a far end that is stopped reverts those,
// and leaves the sets of others on this host alone.
type ownChanges struct {
	change.Host

	mu   sync.Mutex
	open map[string]bool
}

func newOwnChanges(h change.Host) *ownChanges {
	return &ownChanges{Host: h, open: map[string]bool{}}
}

func (o *ownChanges) Begin(ctx context.Context, reason string, confirmWithin time.Duration) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.open) >= maxOpenSets {
		if err := o.forgetEnded(ctx); err != nil {
			return "", err
		}
	}
	if len(o.open) >= maxOpenSets {
		return "", fmt.Errorf("open change set: %d are open already: confirm or revert one", len(o.open))
	}
	id, err := o.Host.Begin(ctx, reason, confirmWithin)
	if err == nil {
		o.open[id] = true
	}
	return id, err
}

func (o *ownChanges) Confirm(ctx context.Context, id string, persist bool) error {
	err := o.Host.Confirm(ctx, id, persist)
	if err == nil {
		o.forget(id)
	}
	return err
}

func (o *ownChanges) Revert(ctx context.Context, id string) (*change.Set, error) {
	set, err := o.Host.Revert(ctx, id)
	if err == nil {
		o.forget(id)
	}
	return set, err
}

func (o *ownChanges) forget(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, id)
}

// forgetEnded drops the sets that ended by their deadline; o.mu is held.
func (o *ownChanges) forgetEnded(ctx context.Context) error {
	sets, err := o.List(ctx)
	if err != nil {
		return err
	}
	for _, set := range sets {
		if set.State != change.Planned && set.State != change.Applying && set.State != change.Live {
			delete(o.open, set.ID)
		}
	}
	return nil
}

// revertOpen reverts what nobody confirmed.
func (o *ownChanges) revertOpen(ctx context.Context) error {
	o.mu.Lock()
	if len(o.open) > 0 {
		if err := o.forgetEnded(ctx); err != nil {
			o.mu.Unlock()
			return err
		}
	}
	ids := slices.Sorted(maps.Keys(o.open))
	o.mu.Unlock()
	var errs []error
	for _, id := range ids {
		if _, err := o.Revert(ctx, id); err != nil {
			errs = append(errs, fmt.Errorf("revert change set %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}
