// Package change applies settings to a host so that they can always be undone:
// every old value is in a journal on disk before it is touched, and a change
// set that nobody confirms in time reverts by itself.
package change

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
)

// Setting is a value for one tunable.
type Setting struct {
	Tunable string `json:"tunable"`
	Value   string `json:"value"`
}

// State is where a change set stands.
type State string

// The states of a change set.
const (
	Planned   State = "planned"   // journalled, nothing touched
	Applying  State = "applying"  // some values may be set
	Live      State = "live"      // set, not confirmed: reverts at the deadline
	Confirmed State = "confirmed" // kept
	Reverted  State = "reverted"  // every value that was still ours is back
	Lost      State = "lost"      // someone else changed a value: left alone
	// Unreadable is in the answers of List and Journals only: the journal cannot be read.
	// Only the set's ID and Created, which its name contains, are known then.
	Unreadable State = "unreadable"
)

// Set is a change set as its journal has it.
type Set struct {
	ID       string    `json:"id"`
	State    State     `json:"state"`
	Reason   string    `json:"reason"`
	Note     string    `json:"note,omitempty"` // how it ended, or what is to be known of it, in words
	Created  time.Time `json:"created"`
	Deadline time.Time `json:"deadline,omitzero"`
	KeptAt   time.Time `json:"kept_at,omitzero"` // when it was confirmed
	// Within is how long the set may go without a call before it reverts.
	Within    time.Duration `json:"confirm_within_ns"`
	BootID    string        `json:"boot_id"`
	Namespace string        `json:"namespace"` // network namespace, unique within a boot
	Persist   bool          `json:"persist"`
	Values    []Value       `json:"values"` // in the order they were first touched
	// Elsewhere: it is kept, but its tunables are those of another network
	// namespace. In the answer of List only.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Booted: it is kept, and the host was booted since. In the answer of List only.
	Booted bool `json:"booted,omitempty"`
	// Trouble is why the set cannot be read, or is due and cannot be reverted, or
	// has no watchdog, and what to do. In the answer of List only; that it cannot be
	// read, in that of Journals too.
	Trouble string `json:"trouble,omitempty"`
}

// Open reports whether the set still reverts by itself.
func (s *Set) Open() bool { return s.State == Planned || s.State == Applying || s.State == Live }

// compare orders sets by when they last set something, as far as they can have
// met on a tunable: only a confirmed set's tunables can be set by another.
func compare(a, b *Set) int {
	if a.Open() != b.Open() {
		if b.Open() {
			return -1
		}
		return 1
	}
	return cmp.Or(a.last().Compare(b.last()), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
}

func (s *Set) last() time.Time {
	if s.KeptAt.IsZero() {
		return s.Created
	}
	return s.KeptAt
}

// Kept reports whether there is something that Revert would undo.
func (s *Set) Kept() bool { return s.Open() || s.State == Confirmed }

// Mendable reports whether the host has all that the set wants, and only the next
// boot will not.
func (s *Set) Mendable() bool {
	drifted := false
	for _, v := range s.Values {
		if v.State != Live {
			continue
		}
		if v.Now != v.New {
			return false
		}
		drifted = drifted || v.Drift != ""
	}
	return drifted && s.Persist && !s.Elsewhere
}

// Value is one touched tunable in a change set.
type Value struct {
	Tunable string `json:"tunable"`
	Old     string `json:"old"`   // before this set touched it
	New     string `json:"new"`   // what this set wants; equal to Old after PutBack
	State   State  `json:"state"` // Applying before, Live after, Reverted or Lost at the end
	// Prior is what this set had set before New, while it is not certain which
	// of the two the host has.
	Prior string `json:"prior,omitempty"`
	// AtBoot is what set the tunable at every boot when this set first touched
	// it. Absent where that is not known: of other tunables than those of
	// sysctl.d(5), and in journals of older versions.
	AtBoot *Source `json:"at_boot,omitempty"`
	Device *Device `json:"device,omitempty"` // the interface it is of, if it is of one
	Now    string  `json:"now,omitempty"`    // what the host has, in the answer of List only
	Drift  string  `json:"drift,omitempty"`  // how the host has come away from the set, in words, in the answer of List only
}

// Source is what sets a tunable at every boot; the zero Source: nothing does.
type Source struct {
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Value string `json:"value,omitempty"`
}

// ours reports whether the host has a value that this set, and not someone
// else, gave it or found there.
func (v *Value) ours(now string) bool { return now == v.Old || now == v.New || now == v.Prior }

// Errors that callers distinguish.
var (
	// ErrRefused: the request breaks a rule, and nothing was touched.
	ErrRefused = errors.New("refused")
	// ErrUnknown: there is no such change set.
	ErrUnknown = errors.New("no such change set")
	// ErrClosed: the set was reverted, by its deadline or by someone.
	ErrClosed = errors.New("the change set is no longer open")
	// ErrLost: someone else has changed a value since; it was left alone.
	ErrLost = errors.New("changed by someone else")
)

// Host changes tunables of one host. The local Manager and the client of a far
// end are both Hosts, so that tune treats both ends alike.
type Host interface {
	// Begin opens an empty change set that reverts by itself when no call on
	// it comes within confirmWithin.
	Begin(ctx context.Context, reason string, confirmWithin time.Duration) (id string, err error)
	// Apply sets values within the open set and reads them back. It fails,
	// having put back what this call touched, if a value does not read back.
	// It renews the deadline.
	Apply(ctx context.Context, id string, settings []Setting) error
	// PutBack restores the named tunables (none named: all of the set) to
	// their values from before the set. It renews the deadline.
	PutBack(ctx context.Context, id string, tunables ...string) error
	// Renew moves the deadline to confirmWithin from now.
	Renew(ctx context.Context, id string) error
	// Confirm keeps what is set now; with persist it also survives a reboot,
	// which is checked: where a boot would make something else of a value, it is
	// refused, naming what stands in the way, and the set stays as it is.
	Confirm(ctx context.Context, id string, persist bool) error
	// Revert restores everything that the set touched and that is still ours,
	// live and persisted. It works on open and on confirmed sets.
	Revert(ctx context.Context, id string) (*Set, error)
	// List gives all change sets, newest first. What is wrong with one of them is
	// its Trouble; an error is that of the whole list.
	List(ctx context.Context) ([]Set, error)
}
