package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Held is a host's tunables while something is tried on them: an open change set, and
// what it has set.
type Held struct {
	Host   Host              // nil: it may not be changed
	Reason string            // of the change set
	Within time.Duration     // without a call, it reverts by itself
	ID     string            // of the open change set, "" before the first change
	Live   map[string]string // what was set and not put back
}

// Bring sets exactly what is wanted, and puts back everything else that was set before.
// The set is renewed also where nothing is to be done.
func (h *Held) Bring(ctx context.Context, want map[string]string) error {
	var back []string
	for name := range h.Live {
		if _, ok := want[name]; !ok {
			back = append(back, name)
		}
	}
	var settings []Setting
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if h.Live[name] != want[name] {
			settings = append(settings, Setting{Tunable: name, Value: want[name]})
		}
	}
	if h.ID != "" && len(back) == 0 && len(settings) == 0 {
		return h.Host.Renew(ctx, h.ID)
	}
	if len(back) > 0 {
		slices.Sort(back)
		if err := h.Host.PutBack(ctx, h.ID, back...); err != nil {
			return fmt.Errorf("put back %s: %w", strings.Join(back, ", "), err)
		}
		for _, name := range back {
			delete(h.Live, name)
		}
	}
	if len(settings) == 0 {
		return nil
	}
	if h.Host == nil {
		return errors.New("changes are not allowed here")
	}
	if h.ID == "" {
		id, err := h.Host.Begin(ctx, h.Reason, h.Within)
		if err != nil {
			return fmt.Errorf("open a change set: %w", err)
		}
		h.ID = id
	}
	if err := h.Host.Apply(ctx, h.ID, settings); err != nil {
		return err
	}
	if h.Live == nil {
		h.Live = map[string]string{}
	}
	for _, s := range settings {
		h.Live[s.Tunable] = s.Value
	}
	return nil
}
