package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/sysctld"
	"github.com/fullbore/fullbore/tunable"
)

// Apply sets values within an open set; see Host.
func (m *Manager) Apply(ctx context.Context, id string, settings []Setting) error {
	return m.locked(ctx, func(l *ledger) error {
		set, err := l.open(id)
		if err != nil {
			return err
		}
		if err := l.complete(); err != nil {
			return err
		}
		if err := l.guard(set); err != nil {
			return err
		}
		before := *set
		before.Values = slices.Clone(set.Values)
		touch, err := l.plan(set, settings)
		if err != nil {
			return errors.Join(err, l.keepLost(set, &before))
		}
		return l.apply(set, &before, touch)
	})
}

// step is one value to be set.
type step struct {
	tunable  string
	from, to string
	needsSet bool // it is not there already
	sinks    bool // a size that becomes smaller
}

// plan checks the settings against every rule and enters them in the set; the
// host is only read.
func (l *ledger) plan(set *Set, settings []Setting) ([]step, error) {
	var steps []step
	for _, s := range settings {
		to := tunable.Normalise(s.Value)
		if slices.ContainsFunc(steps, func(st step) bool { return st.tunable == s.Tunable }) {
			return nil, fmt.Errorf("%w: %s is set twice at once", ErrRefused, s.Tunable)
		}
		known, err := permitted(s.Tunable, to)
		if err != nil {
			return nil, err
		}
		if err := l.free(set, s.Tunable); err != nil {
			return nil, err
		}
		v := set.value(s.Tunable)
		if v == nil {
			first, err := l.firstTouch(s.Tunable)
			if err != nil {
				return nil, err
			}
			set.Values = append(set.Values, *first)
			v = &set.Values[len(set.Values)-1]
		}
		now, ours, err := l.still(set, v)
		if err != nil {
			return nil, err
		}
		if v.State == Lost || !ours {
			v.State = Lost
			if now == "" {
				return nil, fmt.Errorf("%s is of another or of nothing now: %w", s.Tunable, ErrLost)
			}
			return nil, fmt.Errorf("%s is %q now, which change set %s did not set: %w", s.Tunable, now, set.ID, ErrLost)
		}
		if known.Rising && tunable.Lowers(v.Old, to) {
			return nil, fmt.Errorf("%w: %s %q would be lower than %q, which is what the host had", ErrRefused, s.Tunable, to, v.Old)
		}
		v.Prior, v.New, v.State = now, to, Applying
		steps = append(steps, step{s.Tunable, now, to, now != to, known.Rising && tunable.Lowers(now, to)})
	}
	return orderSteps(steps), nil
}

// firstTouch is what the journal is to have of a tunable before it is touched.
func (l *ledger) firstTouch(name string) (*Value, error) {
	device, err := l.identify(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrRefused, name, err)
	}
	now, err := l.knobs.Get(name)
	if err != nil {
		return nil, err
	}
	v := &Value{Tunable: name, Old: now, New: now, State: Reverted, Device: device}
	if homeOf(name) == tunable.InSysctl {
		v.AtBoot = &Source{}
		if a := sysctld.Read(l.root, nil).Of(name); a != nil && !a.Negative {
			*v.AtBoot = Source{a.File, a.Line, a.Value}
		}
	}
	return v, nil
}

// apply writes the set down, then touches the host. When anything fails, what
// was touched is put back.
func (l *ledger) apply(set, before *Set, steps []step) error {
	set.State = Applying
	if err := l.renew(set); err != nil {
		return err
	}
	for i, st := range steps {
		if !st.needsSet {
			continue
		}
		if err := l.knobs.Set(st.tunable, st.to); err != nil {
			return l.undo(before, steps[:i+1], err)
		}
	}
	for _, st := range steps {
		v := set.value(st.tunable)
		v.State, v.Prior = Live, ""
	}
	set.State = set.certain()
	if err := l.renew(set); err != nil {
		// It may be written or not: before anything is touched again, the
		// journal is to have both values.
		set.State = Applying
		for _, st := range steps {
			v := set.value(st.tunable)
			v.State, v.Prior = Applying, st.from
		}
		if again := l.renew(set); again != nil {
			return errors.Join(err, again)
		}
		return l.undo(before, steps, err)
	}
	return nil
}

// undo puts back what one call of Apply has touched, because of cause. If that
// fails too, the journal stays as it is, and the deadline reverts the set.
func (l *ledger) undo(before *Set, steps []step, cause error) error {
	for _, st := range slices.Backward(steps) {
		if !st.needsSet {
			continue
		}
		if err := l.put(st.tunable, st.from); err != nil {
			return errors.Join(cause, fmt.Errorf("put back %s: %w; it is tried again at the deadline", st.tunable, err))
		}
	}
	return errors.Join(cause, l.renew(before))
}

// PutBack restores tunables within an open set; see Host.
func (m *Manager) PutBack(ctx context.Context, id string, tunables ...string) error {
	return m.locked(ctx, func(l *ledger) error {
		set, err := l.open(id)
		if err != nil {
			return err
		}
		for _, name := range tunables {
			if set.value(name) == nil {
				return fmt.Errorf("%w: change set %s has not touched %.80q", ErrRefused, id, name)
			}
		}
		// The way back is never refused; that nothing watches what remains is reported.
		unwatched := l.guard(set)
		return errors.Join(l.putBack(set, tunables), unwatched)
	})
}

func (l *ledger) putBack(set *Set, tunables []string) error {
	var back []*Value
	var lost []string
	for _, v := range set.backwards() {
		if v.State == Reverted || len(tunables) > 0 && !slices.Contains(tunables, v.Tunable) {
			continue
		}
		now, ours, err := l.still(set, v)
		if err != nil {
			return err
		}
		if v.State == Lost || !ours {
			v.State = Lost
			lost = append(lost, v.Tunable)
			continue
		}
		v.Prior, v.New, v.State = now, v.Old, Applying
		back = append(back, v)
	}
	set.State = Applying
	if err := l.renew(set); err != nil {
		return err
	}
	for _, v := range back {
		if err := l.put(v.Tunable, v.Old); err != nil {
			return fmt.Errorf("put back %s: %w", v.Tunable, err)
		}
		v.State, v.Prior = Reverted, ""
	}
	set.State = set.certain()
	if err := l.renew(set); err != nil {
		return err
	}
	if len(lost) > 0 {
		return fmt.Errorf("%s: %w, and left alone", strings.Join(lost, ", "), ErrLost)
	}
	return nil
}

// put sets a value unless it is there already.
func (l *ledger) put(name, value string) error {
	if now, err := l.knobs.Get(name); err == nil && now == value {
		return nil
	}
	return l.knobs.Set(name, value)
}

// permitted looks the tunable up and checks the value.
func permitted(name, value string) (*tunable.Tunable, error) {
	known, ok := lookup(name)
	if !ok {
		return nil, fmt.Errorf("%w: %.80q is not in the catalogue of tunables", ErrRefused, name)
	}
	if known.Leave != "" {
		return nil, fmt.Errorf("%w: %s is never changed: %s", ErrRefused, name, known.Leave)
	}
	if _, instance := tunable.Split(name); known.Scope.Instanced() && instance == "" {
		return nil, fmt.Errorf("%w: %s is one of each %s: say which, such as %s@NAME", ErrRefused, name, known.Scope, name)
	}
	if err := known.Check(value); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return known, nil
}

// free reports, as an error, that another open set holds the tunable. What a
// confirmed set has set is anyone's to change.
func (l *ledger) free(set *Set, name string) error {
	for _, other := range l.sets {
		if other.ID == set.ID || !other.Open() || other.BootID != l.boot || other.Namespace != l.namespace {
			continue
		}
		if v := other.value(name); v != nil && v.State != Lost {
			return fmt.Errorf("%w: %s is held by change set %s (%s), which is neither confirmed nor reverted", ErrRefused, name, other.ID, other.Reason)
		}
	}
	return nil
}

// keepLost writes down, after a refused Apply, which value was found lost; all
// else stays as it was before.
func (l *ledger) keepLost(set, before *Set) error {
	for i := range before.Values {
		if set.Values[i].State == Lost {
			before.Values[i].State = Lost
		}
	}
	return l.renew(before)
}

// certain is Live, unless an earlier call was cut short and left a value of
// which it is not known whether it was set.
func (s *Set) certain() State {
	for _, v := range s.Values {
		if v.State == Applying {
			return Applying
		}
	}
	return Live
}

// value finds the tunable in the set.
func (s *Set) value(name string) *Value {
	for i := range s.Values {
		if s.Values[i].Tunable == name {
			return &s.Values[i]
		}
	}
	return nil
}
