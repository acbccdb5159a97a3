package change

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/printable"
)

const (
	// lockWait is how long to wait for another process that is changing
	// tunables, or for a watchdog to start. Both take milliseconds.
	lockWait = 5 * time.Second
	// maxWithin bounds how long a set may go unconfirmed.
	maxWithin = 7 * 24 * time.Hour
	// maxReason bounds a reason's length in bytes.
	maxReason = 500
)

// Knobs read and set tunables.
type Knobs interface {
	// Get reads a value, in the form of tunable.Normalise.
	Get(name string) (string, error)
	// Set writes a value and fails if it does not read back.
	Set(name, value string) error
}

// Kernel is the Knobs of this host.
type Kernel struct{}

// Get reads a tunable of this host.
func (Kernel) Get(name string) (string, error) { return host.Get(name) }

// Set writes a tunable of this host and reads it back.
func (Kernel) Set(name, value string) error { return host.Set(name, value) }

// Manager keeps the change sets of this host. Any number of processes may have
// one for the same directory; a lock keeps them apart.
type Manager struct {
	// StartWatchdog is called by Begin for something that reverts the set when
	// this process no longer can. The default is the function of that name;
	// StartDetachedWatchdog is for sets that another process will confirm.
	StartWatchdog func(dir, id string) error
	// Rewatch is called by List for a live set whose watchdog has died. The
	// default is StartDetachedWatchdog.
	Rewatch func(dir, id string) error

	dir   string
	knobs Knobs

	// The world around, which tests replace.
	now       func() time.Time // as people set it
	steady    func() time.Time // for differences only: nobody sets it
	bootID    func() (string, error)
	namespace func() (string, error)
	bootsHere func() (bool, error)
	patience  time.Duration // with another holder of the lock
	root      string        // what stands before /etc/sysctl.d
	write     func(path string, data []byte) error
	device    func(name string) (Device, error)
	watched   func(dir, id string) bool // whether a watchdog watches the set
}

var _ Host = (*Manager)(nil)

// NewManager gives the change sets whose journals are in dir, for knobs.
// The directory need not exist before the first Begin.
func NewManager(dir string, knobs Knobs) (*Manager, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find change sets: %w", err)
	}
	return &Manager{
		StartWatchdog: StartWatchdog, Rewatch: StartDetachedWatchdog,
		dir: dir, knobs: knobs,
		now: time.Now, steady: time.Now, bootID: host.BootID, namespace: host.Namespace, bootsHere: host.BootsHere,
		patience: lockWait, root: "/", write: writeDurably,
		device: findDevice, watched: watched,
	}, nil
}

// Begin opens an empty change set; see Host.
func (m *Manager) Begin(ctx context.Context, reason string, confirmWithin time.Duration) (string, error) {
	if confirmWithin <= 0 || confirmWithin > maxWithin {
		return "", fmt.Errorf("%w: a change set must be confirmed within more than 0s and at most %v, not %v", ErrRefused, maxWithin, confirmWithin)
	}
	if len(reason) > maxReason {
		return "", fmt.Errorf("%w: a reason of %d bytes is too long, %d are allowed", ErrRefused, len(reason), maxReason)
	}
	var id string
	err := m.locked(ctx, func(l *ledger) error {
		if err := l.complete(); err != nil {
			return err
		}
		_ = l.expire() // what cannot be reverted stays held, and free tells
		var chance [3]byte
		_, _ = rand.Read(chance[:]) // never fails (crypto/rand)
		now := m.now()
		set := &Set{
			ID: newID(now, chance), State: Planned, Reason: printable.Line(reason), Created: now,
			Within: confirmWithin, BootID: l.boot, Namespace: l.namespace, Values: []Value{},
		}
		if err := l.renew(set); err != nil {
			return err
		}
		if err := m.StartWatchdog(m.dir, set.ID); err != nil {
			set.State, set.Note = Reverted, "nothing was touched: its watchdog did not start"
			return errors.Join(err, l.save(set))
		}
		id = set.ID
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("begin change set: %w", err)
	}
	return id, nil
}

// Find gives one change set as its journal has it, whatever is wrong with others.
// It changes nothing. The error is ErrUnknown where there is no such set.
func (m *Manager) Find(_ context.Context, id string) (*Set, error) { return readSet(m.dir, id) }

// Renew moves the deadline; see Host.
func (m *Manager) Renew(ctx context.Context, id string) error {
	return m.locked(ctx, func(l *ledger) error {
		set, err := l.open(id)
		if err != nil {
			return err
		}
		return errors.Join(l.renew(set), l.guard(set))
	})
}

// ledger is every journal of the directory, read under its lock.
type ledger struct {
	*Manager
	sets            []*Set    // oldest first
	bad             []trouble // journals that cannot be read
	unlisted        error     // why it is not known which journals there are
	boot, namespace string
}

// complete reports, as an error, journals that cannot be read: they may hold what
// another set would touch, or have lines in our files. It stands in the way of
// what is new, never of the way back.
func (l *ledger) complete() error { return errors.Join(l.unlisted, joined(l.bad)) }

// locked reads the journals under the lock and lets do work on them.
func (m *Manager) locked(ctx context.Context, do func(*ledger) error) error {
	l := &ledger{Manager: m}
	var err error
	if l.boot, err = m.bootID(); err != nil {
		return err
	}
	if l.namespace, err = m.namespace(); err != nil {
		return err
	}
	if err := makeDir(m.dir); err != nil {
		return fmt.Errorf("make directory for change sets: %w", err)
	}
	unlock, err := lock(ctx, m.dir, m.patience)
	if err != nil {
		return err
	}
	defer unlock()
	l.sweep()
	l.sets, l.bad, l.unlisted = readAll(m.dir)
	return do(l)
}

// sweep removes what writers have left behind that died at it: under the lock
// there is no other writer.
func (l *ledger) sweep() {
	left, _ := filepath.Glob(beside(filepath.Join(l.dir, "*.json")))
	for _, d := range dropIns {
		left = append(left, beside(filepath.Join(l.root, d.path)))
	}
	for _, path := range left {
		_ = os.Remove(path) // it is in nobody's way
	}
}

// find gives a set that may be worked on from here. What is wrong with other
// sets, or with the list of them, does not matter.
func (l *ledger) find(id string) (*Set, error) {
	at := slices.IndexFunc(l.sets, func(s *Set) bool { return s.ID == id })
	if at < 0 {
		set, err := readSet(l.dir, id) // says what is wrong with it
		if err != nil {
			return nil, err
		}
		l.sets = append(l.sets, set)
		slices.SortFunc(l.sets, compare)
		at = slices.Index(l.sets, set)
	}
	set := l.sets[at]
	if set.Kept() && !l.here(set) {
		return nil, fmt.Errorf("%w: change set %s was made in another network namespace (%s, this is %s): run this there", ErrRefused, id, set.Namespace, l.namespace)
	}
	return set, nil
}

// here reports whether the set's tunables are those of this network namespace.
// Of another boot, only persisted values have an effect, and only there where
// the boot's settings have theirs.
func (l *ledger) here(set *Set) bool {
	if set.BootID == l.boot {
		return set.Namespace == l.namespace
	}
	if !set.Persist {
		return true
	}
	here, err := l.bootsHere()
	return err == nil && here
}

// open gives a set that is still open and in time. One that is late is
// reverted first.
func (l *ledger) open(id string) (*Set, error) {
	set, err := l.find(id)
	if err != nil {
		return nil, err
	}
	if set.Open() && (l.late(set) || set.Persist) {
		if err := l.close(set); err != nil {
			return nil, err
		}
	}
	if !set.Open() {
		return nil, fmt.Errorf("change set %s is %s (%s): %w", id, set.State, set.Note, ErrClosed)
	}
	return set, nil
}

// guard sees to it that the set has a watchdog: whatever this process does next
// may be the last that is heard of it.
func (l *ledger) guard(set *Set) error {
	if l.watched(l.dir, set.ID) {
		return nil
	}
	if err := l.StartWatchdog(l.dir, set.ID); err != nil {
		return fmt.Errorf("%w: the watchdog of change set %s is not running, and nothing is changed without one: %w", ErrRefused, set.ID, err)
	}
	return nil
}

// renew moves the deadline and writes the set down.
func (l *ledger) renew(set *Set) error {
	set.Deadline = l.now().Add(set.Within)
	return l.save(set)
}

// save writes the set's journal, durably.
func (l *ledger) save(set *Set) error {
	data, err := encode(set)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := l.write(journalPath(l.dir, set.ID), data); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// StateDir is where fullbore keeps what outlives a process: FULLBORE_STATE, or
// /var/lib/fullbore.
func StateDir() string {
	if dir := os.Getenv("FULLBORE_STATE"); dir != "" {
		return dir
	}
	return "/var/lib/fullbore"
}

// DefaultDir is where journals are kept.
func DefaultDir() string { return filepath.Join(StateDir(), "changes") }
