package tune

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
)

// hosts holds both ends, and brings their tunables to what a configuration says.
type hosts struct {
	near, far *end
}

// end is one host with its open change set.
type end struct {
	name    string
	facts   *host.Facts // as found; nil when the host does not tell
	changes change.Host // nil: not to be changed
	refresh func(ctx context.Context) (*host.Facts, error)
	set     string            // id of the open change set, "" before the first change
	live    map[string]string // what tune has set and not put back
}

func newHosts(near Near, nearFacts *host.Facts, far Far, farFacts *host.Facts) *hosts {
	h := &hosts{
		near: &end{name: nearFacts.Name, facts: nearFacts, refresh: near.Facts, live: map[string]string{}},
		far:  &end{name: far.Addr().String(), facts: farFacts, refresh: far.Facts, live: map[string]string{}},
	}
	if nearFacts.CanChange {
		h.near.changes = near.Changes
	}
	if farFacts != nil {
		h.far.name = farFacts.Name
		if farFacts.CanChange {
			h.far.changes = far.Changes()
		}
	}
	if h.far.name == h.near.name {
		h.far.name += " (far end)"
	}
	return h
}

// find gives the end that a planned change is for.
func (h *hosts) find(name string) *end {
	if name == h.near.name {
		return h.near
	}
	return h.far
}

// allowed names the hosts that may be changed.
func (h *hosts) allowed() string {
	var names []string
	for _, e := range []*end{h.near, h.far} {
		if e.changes != nil {
			names = append(names, e.name)
		}
	}
	if len(names) == 0 {
		return "neither host"
	}
	return strings.Join(names, " and ")
}

// bring sets on both hosts exactly what the configuration says, and puts back
// everything else that tune had set.
func (h *hosts) bring(ctx context.Context, c config) error {
	for _, e := range []*end{h.near, h.far} {
		want := map[string]string{}
		for _, ch := range c {
			if h.find(ch.Host) == e {
				want[ch.Tunable] = ch.To
			}
		}
		if err := e.bring(ctx, want); err != nil {
			return fmt.Errorf("change %s: %w", e.name, err)
		}
	}
	return nil
}

func (e *end) bring(ctx context.Context, want map[string]string) error {
	var back []string
	for name := range e.live {
		if _, ok := want[name]; !ok {
			back = append(back, name)
		}
	}
	var settings []change.Setting
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if e.live[name] != want[name] {
			settings = append(settings, change.Setting{Tunable: name, Value: want[name]})
		}
	}
	if e.set != "" && len(back) == 0 && len(settings) == 0 {
		return e.changes.Renew(ctx, e.set)
	}
	if len(back) > 0 {
		slices.Sort(back)
		if err := e.changes.PutBack(ctx, e.set, back...); err != nil {
			return fmt.Errorf("put back %s: %w", strings.Join(back, ", "), err)
		}
		for _, name := range back {
			delete(e.live, name)
		}
	}
	if len(settings) == 0 {
		return nil
	}
	if e.changes == nil {
		return errors.New("changes are not allowed here")
	}
	if e.set == "" {
		id, err := e.changes.Begin(ctx, "tune", confirmWithin)
		if err != nil {
			return fmt.Errorf("open a change set: %w", err)
		}
		e.set = id
	}
	if err := e.changes.Apply(ctx, e.set, settings); err != nil {
		return err
	}
	for _, s := range settings {
		e.live[s.Tunable] = s.Value
	}
	return nil
}

// facts gives both hosts' facts as they are now.
func (h *hosts) current(ctx context.Context) (near, far *host.Facts, err error) {
	if near, err = h.near.refreshed(ctx); err != nil {
		return nil, nil, err
	}
	if far, err = h.far.refreshed(ctx); err != nil {
		return nil, nil, err
	}
	return near, far, nil
}

func (e *end) refreshed(ctx context.Context) (*host.Facts, error) {
	if e.facts == nil {
		return nil, nil
	}
	facts, err := e.refresh(ctx)
	if err != nil {
		return nil, fmt.Errorf("collect facts of %s: %w", e.name, err)
	}
	facts.Name = e.name // may have been made distinct
	return facts, nil
}

// end closes both change sets: confirmed sets stay, all others are reverted,
// also when ctx has ended, since that is how Ctrl-C arrives.
func (h *hosts) end(ctx context.Context, kept bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var failed error
	for _, e := range []*end{h.near, h.far} {
		if e.set == "" || (kept && len(e.live) > 0) {
			continue
		}
		if _, err := e.changes.Revert(ctx, e.set); err != nil {
			failed = errors.Join(failed, fmt.Errorf(
				"%w: revert change set %s on %s: %w (it reverts by itself within %v)", ErrNotUndone, e.set, e.name, err, confirmWithin))
		}
	}
	return failed
}

// config is a set of changes to both hosts; a later change of the same tunable
// replaces an earlier one.
type config []plan.Change

// with gives the configuration with a step's changes added.
func (c config) with(changes []plan.Change) config {
	out := slices.Clone(c)
	for _, ch := range changes {
		i := slices.IndexFunc(out, func(o plan.Change) bool { return o.Host == ch.Host && o.Tunable == ch.Tunable })
		if i < 0 {
			out = append(out, ch)
			continue
		}
		// From is as found, not as first tried; the first reason still holds.
		ch.From, ch.Why = out[i].From, out[i].Why+"; "+ch.Why
		out[i] = ch
	}
	return out
}

// without gives the configuration less one change.
func (c config) without(ch plan.Change) config {
	return slices.DeleteFunc(slices.Clone(c), func(o plan.Change) bool { return o.Host == ch.Host && o.Tunable == ch.Tunable })
}
