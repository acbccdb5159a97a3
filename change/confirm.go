package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// zero is no deadline.
var zero time.Time

// Confirm keeps what the set has set; see Host. A set that was confirmed before
// can be confirmed again to persist it, or to mend the files that do.
func (m *Manager) Confirm(ctx context.Context, id string, persist bool) error {
	err := m.locked(ctx, func(l *ledger) error {
		set, err := l.find(id)
		if err != nil {
			return err
		}
		if set.State == Confirmed && !persist {
			return nil
		}
		if set.State == Confirmed {
			return l.persistLater(set)
		}
		if set, err = l.open(id); err != nil {
			return err
		}
		if err := l.settle(set); err != nil {
			return err
		}
		switch {
		case set.State == Reverted || set.State == Lost: // nothing left to keep
			return l.save(set)
		case persist:
			return l.persist(set)
		default:
			set.State, set.Deadline, set.KeptAt = Confirmed, zero, l.now()
			return l.save(set)
		}
	})
	if err != nil {
		return fmt.Errorf("confirm change set: %w", err)
	}
	return nil
}

// persistLater persists a set that was confirmed before. A value that is another
// by now may be so only for a while, under a later set; so it is not lost, but
// the set as a whole has to wait.
func (l *ledger) persistLater(set *Set) error {
	for _, v := range set.Values {
		if v.State != Live {
			continue
		}
		now, err := l.look(set, &v)
		if err != nil {
			return err
		}
		if now != v.New {
			return fmt.Errorf("%w: %s is %q now, not %q as change set %s has it", ErrRefused, v.Tunable, now, v.New, set.ID)
		}
	}
	return l.persist(set)
}

// settle compares an open set with the host: values that someone else has changed
// since are lost. A set with nothing left is closed.
func (l *ledger) settle(set *Set) error {
	kept := false
	var lost []string
	for i := range set.Values {
		v := &set.Values[i]
		switch v.State {
		case Applying:
			return fmt.Errorf("%w: a change to %s was cut short; revert the set", ErrRefused, v.Tunable)
		case Lost:
			lost = append(lost, v.Tunable)
		case Live:
			now, err := l.look(set, v)
			if err != nil && !errors.Is(err, errGone) {
				return err
			}
			if err == nil && now == v.New {
				kept = true
				continue
			}
			v.State = Lost
			lost = append(lost, v.Tunable)
		}
	}
	if len(lost) > 0 {
		set.Note = sentence(set.Note, strings.Join(lost, ", ")+" was changed by someone else since, and is not kept")
	}
	if !kept {
		set.State, set.Deadline = Reverted, zero
		if len(lost) > 0 {
			set.State = Lost
		}
		set.Note = sentence(set.Note, "there was nothing to keep")
	}
	return nil
}

// persist confirms the set for this boot and the next. When anything fails,
// the set and the files are as they were.
func (l *ledger) persist(set *Set) error {
	if err := l.complete(); err != nil { // our files are made from all of them
		return err
	}
	here, err := l.bootsHere()
	if err != nil {
		return err
	}
	if !here {
		return fmt.Errorf("%w: settings at boot are for the first network namespace, and this is another: without --persist it is kept as long as this namespace is, and what makes that can set it", ErrRefused)
	}
	before := *set
	if err := l.persistable(set); err != nil {
		if before.Open() { // time to do something about it
			err = errors.Join(err, l.renew(set))
		}
		return err
	}
	if set.Open() {
		// After a crash, and a boot with the drop-in, this shows that live
		// values may be the set's.
		set.Persist = true
		if err := l.save(set); err != nil {
			return err
		}
	}
	if set.Open() {
		set.KeptAt = l.now()
	}
	set.State, set.Deadline, set.Persist = Confirmed, zero, true
	restore, err := l.publish()
	if err != nil {
		return errors.Join(err, l.save(&before))
	}
	set.Note = sentence(set.Note, l.byHand(set))
	if err := l.save(set); err != nil {
		return errors.Join(err, restore(), l.save(&before))
	}
	return nil
}
