package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Revert restores what the set touched; see Host. It is not interrupted when
// ctx ends, so that Ctrl-C and a revert go together. A set that was reverted
// before is given as it is.
func (m *Manager) Revert(ctx context.Context, id string) (*Set, error) {
	var done *Set
	err := m.locked(context.WithoutCancel(ctx), func(l *ledger) error {
		set, err := l.find(id)
		if err != nil {
			return err
		}
		done = set
		if !set.Kept() {
			return nil
		}
		return l.revert(set, "on request")
	})
	if err != nil {
		return nil, fmt.Errorf("revert change set: %w", err)
	}
	return done, nil
}

// Expire reverts every open set whose deadline has passed, and closes those
// that ended with another boot. The error names those that cannot be reverted;
// the others are.
func (m *Manager) Expire(ctx context.Context) error {
	failed, err := m.expire(ctx)
	return errors.Join(joined(failed), err)
}

// expire is Expire with what went wrong for each set.
func (m *Manager) expire(ctx context.Context) (failed []trouble, err error) {
	// Most of the time there is nothing to do: seen without the lock, and
	// without the right to take it.
	sets, _, _ := readAll(m.dir)
	boot, err := m.bootID()
	if len(sets) == 0 || err != nil {
		return nil, nil //nolint:nilerr // a system without boot ids has no change sets of its own
	}
	namespace, err := m.namespace()
	if err != nil {
		return nil, err
	}
	due := &ledger{Manager: m, boot: boot, namespace: namespace}
	if !slices.ContainsFunc(sets, func(s *Set) bool { return due.overdue(s) && due.here(s) }) {
		return nil, nil
	}
	err = m.locked(ctx, func(l *ledger) error {
		failed = l.expire()
		return nil
	})
	return failed, err
}

// expire is Expire under the lock, newest set first.
func (l *ledger) expire() (failed []trouble) {
	for _, set := range slices.Backward(l.sets) {
		if l.overdue(set) && l.here(set) {
			if err := l.close(set); err != nil {
				failed = append(failed, trouble{set.ID, err})
			}
		}
	}
	return failed
}

// overdue reports whether the set has to be closed without being asked: it is late,
// or was cut short, since a process that works on it would hold the lock.
func (l *ledger) overdue(set *Set) bool {
	if set.BootID != l.boot {
		return set.Open() || set.State == Confirmed && !set.Persist
	}
	return set.Open() && (l.late(set) || set.State == Applying || set.Persist)
}

// close reverts a set that is overdue. One that is in time, and whole, is so
// because its persisting was cut short: only that is taken back, and another call
// may come.
func (l *ledger) close(set *Set) error {
	if set.State != Applying && !l.late(set) {
		set.Persist = false
		if err := l.withdraw(); err != nil {
			return err // the journal still says that it is to be done
		}
		return l.save(set)
	}
	return l.revert(set, l.lateNote(set))
}

func (l *ledger) late(set *Set) bool { return set.BootID != l.boot || !l.now().Before(set.Deadline) }

// cutShort is the note of a set whose process ended amid a change.
const cutShort = "it was cut short"

func (l *ledger) lateNote(set *Set) string {
	switch {
	case set.Note != "" && set.State == Applying:
		return set.Note // a revert that did not come to its end
	case set.BootID != l.boot:
		return "the host was booted since"
	case l.now().Before(set.Deadline):
		return cutShort
	default:
		return unconfirmed(set)
	}
}

func unconfirmed(set *Set) string { return fmt.Sprintf("nobody confirmed within %v", set.Within) }

// revert restores what is still the set's. It is written down first, so that a
// revert that is cut short is taken up again. A set that is late is due in any
// case, so its values come back even where nothing can be written, as on a full
// disk.
func (l *ledger) revert(set *Set, note string) error {
	late := set.Open() && l.late(set)
	set.State, set.Deadline, set.Note = Applying, l.now(), note
	if err := l.save(set); err != nil && !late {
		return err
	}
	gone := set.BootID != l.boot && !set.Persist && !l.published(set) // with the boot, all that was live
	var failed []error
	var lost []string
	for _, v := range set.backwards() {
		if gone && v.State != Lost {
			v.State = Reverted
		}
		if v.State != Reverted && v.State != Lost {
			failed = append(failed, l.restore(set, v))
		}
		if v.State == Lost {
			lost = append(lost, v.Tunable)
		}
	}
	failed = append(failed, l.withdraw())
	if err := errors.Join(failed...); err != nil {
		return errors.Join(fmt.Errorf("change set %s: %w", set.ID, err), l.save(set))
	}
	set.State, set.Deadline = Reverted, zero
	if len(lost) > 0 {
		set.State = Lost
		set.Note = sentence(set.Note, strings.Join(lost, ", ")+" was changed by someone else since, and left alone")
	}
	if err := l.save(set); err != nil {
		return fmt.Errorf("change set %s: its values are restored, but this cannot be written down: %w", set.ID, err)
	}
	return nil
}

// restore gives the tunable its old value, if it has one that the set gave it.
// If a later set is kept that began where this one ended, the old value is for
// that one to restore.
func (l *ledger) restore(set *Set, v *Value) error {
	if v.New == v.Old && v.State == Live { // it was there already: nothing of ours
		v.State = Reverted
		return nil
	}
	if over := l.above(set, v); over != nil {
		over.value(v.Tunable).Old = v.Old
		if err := l.save(over); err != nil {
			return err
		}
		v.State, v.Prior = Reverted, ""
		return nil
	}
	now, ours, err := l.still(set, v)
	if err != nil {
		return err
	}
	if !ours {
		v.State = Lost
		return nil
	}
	if now != v.Old {
		if err := l.knobs.Set(v.Tunable, v.Old); err != nil {
			return err
		}
	}
	v.State, v.Prior = Reverted, ""
	return nil
}

// above is the next later set that is kept and has set the tunable to something
// else, starting from what this set gave it; nil if there is none.
func (l *ledger) above(set *Set, v *Value) *Set {
	for _, other := range l.sets[slices.Index(l.sets, set)+1:] {
		if !other.Kept() || !l.here(other) {
			continue
		}
		o := other.value(v.Tunable)
		// Its old value is this set's already if a revert was cut short.
		if o != nil && (o.State == Live || o.State == Applying) && (o.Old == v.New || o.Old == v.Old) {
			return other
		}
	}
	return nil
}

// sentence adds a clause, unless it is there already; either may be empty.
func sentence(a, b string) string {
	switch {
	case strings.Contains(a, b):
		return a
	case a == "":
		return b
	}
	return a + "; " + b
}
