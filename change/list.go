package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/fullbore/fullbore/sysctld"
	"github.com/fullbore/fullbore/tunable"
)

// List gives all change sets, newest first, having reverted those whose
// deadline has passed or that were cut short, and having given a live one a new
// watchdog where its own has died. What is wrong with one set is its Trouble, and
// of no consequence for the others.
func (m *Manager) List(ctx context.Context) ([]Set, error) {
	failed, late := m.expire(ctx)
	l := &ledger{Manager: m}
	if l.sets, l.bad, l.unlisted = readAll(m.dir); l.unlisted != nil {
		return nil, l.unlisted
	}
	l.boot, _ = m.bootID()
	l.namespace, _ = m.namespace()
	var boot sysctld.Settings
	if slices.ContainsFunc(l.sets, func(s *Set) bool { return len(s.persisted()) > 0 }) {
		boot = sysctld.Read(m.root, nil)
	}
	list := []Set{}
	for _, set := range l.sets {
		set.Elsewhere = set.Kept() && !l.here(set)
		set.Booted = set.Kept() && set.BootID != l.boot
		if set.Kept() && !set.Elsewhere {
			l.compare(set, boot)
			set.Trouble = l.trouble(set, failed, late)
		}
		list = append(list, *set)
	}
	for _, b := range l.bad {
		list = append(list, withoutJournal(b))
	}
	slices.SortStableFunc(list, func(a, b Set) int { return compare(&b, &a) })
	return list, nil
}

// Journals gives all change sets as their journals have them, newest first. Unlike
// List it touches nothing, waits for no lock and asks the host nothing, so that it may
// be called often; what it says of an overdue set is what it was.
func (m *Manager) Journals() ([]Set, error) {
	sets, bad, err := readAll(m.dir)
	if err != nil {
		return nil, err
	}
	list := []Set{}
	for _, set := range sets {
		list = append(list, *set)
	}
	for _, b := range bad {
		list = append(list, withoutJournal(b))
	}
	slices.SortStableFunc(list, func(a, b Set) int { return compare(&b, &a) })
	return list, nil
}

// withoutJournal is a set of whose journal only the name is known.
func withoutJournal(b trouble) Set {
	return Set{ID: b.id, State: Unreadable, Created: madeAt(b.id), Values: []Value{}, Trouble: b.err.Error()}
}

// trouble says why the set was not reverted although it is due, or why it has no
// watchdog. Late is why nothing could be reverted.
func (l *ledger) trouble(set *Set, failed []trouble, late error) string {
	for _, f := range failed {
		if f.id == set.ID {
			return f.err.Error() + "; it is tried again: fix what prevents it, or revert it by hand"
		}
	}
	if late != nil && l.overdue(set) && !errors.Is(late, fs.ErrPermission) { // anyone may look
		return late.Error()
	}
	if set.State == Live && !l.watched(l.dir, set.ID) && mayWatch(l.dir) {
		if err := l.Rewatch(l.dir, set.ID); err != nil {
			return fmt.Sprintf("its watchdog has died, and another does not start: %v; revert it, or confirm it", err)
		}
	}
	return ""
}

// compare says of each value of a kept set what the host has, and how it has
// come away from the set: now, and at the next boot.
func (l *ledger) compare(set *Set, boot sysctld.Settings) {
	for i := range set.Values {
		v := &set.Values[i]
		now, err := l.look(set, v)
		v.Now = now
		if v.State != Live {
			continue
		}
		if over := l.over(set, v); over != nil {
			v.Drift = "set again by " + over.ID
			continue
		}
		switch {
		case errors.Is(err, errGone):
			v.Drift = "what it was of is gone, or another by that name"
		case err != nil:
			v.Drift = "cannot be read"
		case now != v.New && set.BootID != l.boot:
			v.Drift = "did not come back with the boot: now " + now
		case now != v.New:
			v.Drift = "someone else set it: now " + now
		}
		v.Drift = sentence(v.Drift, l.driftAtBoot(set, v, boot))
	}
}

// over is a later set that is kept and has the tunable too; nil if there is none.
func (l *ledger) over(set *Set, v *Value) *Set {
	for _, other := range l.sets[slices.Index(l.sets, set)+1:] {
		if !other.Kept() || !l.here(other) {
			continue
		}
		if o := other.value(v.Tunable); o != nil && (o.State == Live || o.State == Applying) && (o.New != o.Old || other.Persist) {
			return other
		}
	}
	return nil
}

// driftAtBoot says why the next boot will not have the value of a persisted set.
func (l *ledger) driftAtBoot(set *Set, v *Value, boot sysctld.Settings) string {
	if set.State != Confirmed || !set.Persist {
		return ""
	}
	for _, d := range dropIns {
		line := d.line(v)
		if line == "" {
			continue
		}
		text, err := l.former(d)
		switch {
		case err != nil:
			return fmt.Sprintf("/%s is not fullbore's any more", d.path)
		case text == nil:
			return fmt.Sprintf("/%s was removed", d.path)
		case !d.says(text, line):
			return fmt.Sprintf("/%s was edited: %q is not in it", d.path, line)
		}
	}
	if homeOf(v.Tunable) != tunable.InSysctl {
		return ""
	}
	switch a := boot.Of(v.Tunable); {
	case a == nil:
		return "nothing sets it at the next boot"
	case a.Negative:
		return fmt.Sprintf("%s:%d keeps it from being set at the next boot", a.File, a.Line)
	case a.Value != v.New:
		return fmt.Sprintf("%s:%d sets it to %q at the next boot", a.File, a.Line, a.Value)
	}
	return ""
}
