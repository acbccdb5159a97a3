package peer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fullbore/fullbore/change"
)

// fakeChanges is a host that only keeps books.
type fakeChanges struct {
	mu   sync.Mutex
	sets []change.Set
}

func newFakeChanges() *fakeChanges { return &fakeChanges{} }

func (f *fakeChanges) with(id string, do func(*change.Set) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.sets {
		if f.sets[i].ID == id {
			return do(&f.sets[i])
		}
	}
	return fmt.Errorf("change set %s: %w", id, change.ErrUnknown)
}

func (f *fakeChanges) Begin(_ context.Context, reason string, _ time.Duration) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := fmt.Sprintf("set-%d", len(f.sets)+1)
	f.sets = append(f.sets, change.Set{ID: id, State: change.Live, Reason: reason, Values: []change.Value{}})
	return id, nil
}

func (f *fakeChanges) Apply(_ context.Context, id string, settings []change.Setting) error {
	return f.with(id, func(set *change.Set) error {
		for _, s := range settings {
			if s.Tunable == "lower" {
				return fmt.Errorf("set %s: %w: it would be lowered", s.Tunable, change.ErrRefused)
			}
			set.Values = append(set.Values, change.Value{Tunable: s.Tunable, New: s.Value})
		}
		return nil
	})
}

func (f *fakeChanges) PutBack(_ context.Context, id string, tunables ...string) error {
	return f.with(id, func(set *change.Set) error {
		set.Values = slices.DeleteFunc(set.Values, func(v change.Value) bool {
			return len(tunables) == 0 || slices.Contains(tunables, v.Tunable)
		})
		return nil
	})
}

func (f *fakeChanges) Renew(_ context.Context, id string) error {
	return f.with(id, func(*change.Set) error { return nil })
}

func (f *fakeChanges) Confirm(_ context.Context, id string, persist bool) error {
	return f.with(id, func(set *change.Set) error {
		set.State, set.Persist = change.Confirmed, persist
		return nil
	})
}

func (f *fakeChanges) Revert(_ context.Context, id string) (reverted *change.Set, err error) {
	err = f.with(id, func(set *change.Set) error {
		set.State = change.Reverted
		reverted = set
		return nil
	})
	return reverted, err
}

func (f *fakeChanges) List(context.Context) ([]change.Set, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sets), nil
}

func (f *fakeChanges) Find(_ context.Context, id string) (found *change.Set, err error) {
	err = f.with(id, func(set *change.Set) error {
		found = new(*set)
		return nil
	})
	return found, err
}

func (f *fakeChanges) expire(id string) { _, _ = f.Revert(context.Background(), id) }

func (f *fakeChanges) states() map[string]change.State {
	sets, _ := f.List(context.Background())
	states := map[string]change.State{}
	for _, s := range sets {
		states[s.ID] = s.State
	}
	return states
}
