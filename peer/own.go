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

// LocalChanges is what a far end changes its own host with. [change.Manager] is one.
type LocalChanges interface {
	change.Host
	// Find gives one change set, whatever is wrong with others.
	Find(ctx context.Context, id string) (*change.Set, error)
}

// ownChanges is a change.Host that remembers which sets were begun through it
// and neither confirmed nor reverted: a far end that is stopped reverts those,
// and leaves the sets of others on this host alone.
type ownChanges struct {
	LocalChanges

	mu   sync.Mutex
	open map[string]bool
}

func newOwnChanges(local LocalChanges) *ownChanges {
	return &ownChanges{LocalChanges: local, open: map[string]bool{}}
}

func (o *ownChanges) Begin(ctx context.Context, reason string, confirmWithin time.Duration) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.open) >= maxOpenSets {
		o.forgetEnded(ctx)
	}
	if len(o.open) >= maxOpenSets {
		return "", fmt.Errorf("open change set: %d are open already: confirm or revert one", len(o.open))
	}
	id, err := o.LocalChanges.Begin(ctx, reason, confirmWithin)
	if err == nil {
		o.open[id] = true
	}
	return id, err
}

func (o *ownChanges) Confirm(ctx context.Context, id string, persist bool) error {
	err := o.LocalChanges.Confirm(ctx, id, persist)
	if err == nil {
		o.forget(id)
	}
	return err
}

func (o *ownChanges) Revert(ctx context.Context, id string) (*change.Set, error) {
	set, err := o.LocalChanges.Revert(ctx, id)
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

// forgetEnded drops the sets that ended by their deadline, or that someone on this
// host has confirmed or reverted; o.mu is held.
func (o *ownChanges) forgetEnded(ctx context.Context) {
	for id := range o.open {
		set, err := o.Find(ctx, id)
		if errors.Is(err, change.ErrUnknown) || err == nil && !set.Open() {
			delete(o.open, id)
		}
	}
}

// revertOpen reverts what was not confirmed. One that cannot be reverted is in no
// other's way.
func (o *ownChanges) revertOpen(ctx context.Context) error {
	o.mu.Lock()
	o.forgetEnded(ctx)
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
