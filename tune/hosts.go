package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
)

// hosts holds both ends, and brings their tunables to what a configuration says.
type hosts struct {
	near, far *end
	roles     map[plan.Role]*end
}

// end is one host with its open change set.
type end struct {
	name       string      // as people know it; its role in the transfer is in hosts.roles
	facts      *host.Facts // as found; nil when the host does not report them
	held       change.Held // its Host is nil: not to be changed
	refresh    func(ctx context.Context) (*host.Facts, error)
	confirming bool // it was asked to keep what is set
}

func newHosts(d bulk.Direction, near Near, nearFacts *host.Facts, far Far, farFacts *host.Facts) *hosts {
	trying := change.Held{Reason: "tune", Within: confirmWithin}
	here := &end{held: trying, name: nearFacts.Name, facts: nearFacts, refresh: near.Facts}
	there := &end{held: trying, name: far.Addr().String(), facts: farFacts, refresh: far.Facts}
	if nearFacts.CanChange {
		here.held.Host = near.Changes
	}
	if farFacts != nil {
		there.name = farFacts.Name
		if farFacts.CanChange {
			there.held.Host = far.Changes()
		}
	}
	if there.name == here.name {
		there.name += " (far end)"
	}
	return pair(d, here, there)
}

// pair gives both ends their roles.
func pair(d bulk.Direction, near, far *end) *hosts {
	sender, receiver := near, far
	if d == bulk.Reverse {
		sender, receiver = far, near
	}
	return &hosts{near, far, map[plan.Role]*end{plan.Sender: sender, plan.Receiver: receiver}}
}

// of gives the end that a planned change is for. Every planned change has a role.
func (h *hosts) of(c plan.Change) *end { return h.roles[c.Role] }

// allowed names the hosts that may be changed.
func (h *hosts) allowed() string {
	var names []string
	for _, e := range []*end{h.near, h.far} {
		if e.held.Host != nil {
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
			if h.of(ch) == e {
				want[ch.Tunable] = ch.To
			}
		}
		if err := e.held.Bring(ctx, want); err != nil {
			return fmt.Errorf("change %s: %w", e.name, err)
		}
	}
	return nil
}

// current gives the sender's and the receiver's facts as they are now, nil where a
// host does not report them.
func (h *hosts) current(ctx context.Context) (sender, receiver *host.Facts, err error) {
	if sender, err = h.roles[plan.Sender].refreshed(ctx); err != nil {
		return nil, nil, err
	}
	if receiver, err = h.roles[plan.Receiver].refreshed(ctx); err != nil {
		return nil, nil, err
	}
	return sender, receiver, nil
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

// revertWithin is how long one host has to put everything back.
const revertWithin = 10 * time.Second

// end closes both change sets: confirmed sets stay, all others are reverted,
// also when ctx has ended, since that is how Ctrl-C arrives. Both hosts are asked
// at the same time, each with a deadline of its own: one that hangs does not keep
// the other from its way back.
func (h *hosts) end(ctx context.Context, kept bool) error {
	ends := []*end{h.near, h.far}
	failed := make([]error, len(ends))
	var reverting sync.WaitGroup
	for i, e := range ends {
		if e.held.ID == "" || (kept && len(e.held.Live) > 0) {
			continue
		}
		reverting.Go(func() {
			if err := e.revert(context.WithoutCancel(ctx)); !kept { // else the set is empty: nothing is left to undo
				failed[i] = err
			}
		})
	}
	reverting.Wait()
	return errors.Join(failed...)
}

func (e *end) revert(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, revertWithin)
	defer cancel()
	_, err := e.held.Host.Revert(ctx, e.held.ID)
	if err == nil {
		return nil
	}
	otherwise := fmt.Sprintf("it reverts by itself within %v", confirmWithin)
	if e.confirming {
		otherwise = fmt.Sprintf("it had been asked to keep it, so it may not revert by itself: run fullbore revert %s there", e.held.ID)
	}
	return fmt.Errorf("%w: revert change set %s on %s: %w (%s)", ErrNotUndone, e.held.ID, e.name, err, otherwise)
}

// config is a set of changes to both hosts; a later change of the same tunable
// replaces an earlier one.
type config []plan.Change

// with gives the configuration with a step's changes added.
func (c config) with(changes []plan.Change) config {
	out := slices.Clone(c)
	for _, ch := range changes {
		i := slices.IndexFunc(out, func(o plan.Change) bool { return nameOf(o) == nameOf(ch) })
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
	return slices.DeleteFunc(slices.Clone(c), func(o plan.Change) bool { return nameOf(o) == nameOf(ch) })
}

// same says whether two configurations set the same.
func (c config) same(other config) bool {
	has := func(ch plan.Change) bool {
		return slices.ContainsFunc(other, func(o plan.Change) bool { return nameOf(o) == nameOf(ch) && o.To == ch.To })
	}
	return len(c) == len(other) && !slices.ContainsFunc(c, func(ch plan.Change) bool { return !has(ch) })
}

// nameOf says which tunable of which host a change sets.
func nameOf(c plan.Change) string { return string(c.Role) + " " + c.Tunable }
