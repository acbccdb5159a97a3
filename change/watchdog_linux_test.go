package change

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, tc := range []struct {
		name  string
		ctx   context.Context
		owner io.Reader
		prior func(t *testing.T, w *world, m *Manager, id string)
		state State
		note  string
	}{
		{"is confirmed", t.Context(), nil, func(t *testing.T, _ *world, m *Manager, id string) {
			must(t, m.Confirm(t.Context(), id, false))
		}, Confirmed, ""},
		{"its owner ends", t.Context(), strings.NewReader(""), nil, Reverted, "its process ended without confirming"},
		{"its owner ends, but confirmed", t.Context(), strings.NewReader(""), func(t *testing.T, _ *world, m *Manager, id string) {
			must(t, m.Confirm(t.Context(), id, false))
		}, Confirmed, ""},
		{"is late", t.Context(), nil, func(_ *testing.T, w *world, _ *Manager, _ string) {
			w.now = w.now.Add(minute)
		}, Reverted, "nobody confirmed within 1m0s"},
		{"is late, and the clock was set back", t.Context(), nil, func(_ *testing.T, w *world, m *Manager, _ string) {
			w.now = w.now.Add(-24 * time.Hour)
			start := time.Now()
			m.steady = func() time.Time { start = start.Add(minute - time.Second); return start }
		}, Reverted, "nobody confirmed within 1m0s; the clock was set back"},
		{"was cut short", t.Context(), nil, func(t *testing.T, w *world, m *Manager, id string) {
			defer func() { _ = recover() }() // it dies with one of two values set
			w.faults[w.point+4] = crashAfter
			_ = m.Apply(t.Context(), id, []Setting{{rmem, biggest}, {idle, "0"}})
			t.Error("it is still there")
		}, Reverted, "it was cut short"},
		{"is told to stop", ended, nil, nil, Reverted, "its watchdog was asked to stop"},
		{"meets a passing fault", ended, nil, func(_ *testing.T, w *world, _ *Manager, _ string) {
			w.now = w.now.Add(minute)
			w.faults[w.point+1] = failBefore // of the journal, at the first try
		}, Reverted, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t.TempDir())
			m := w.manager(t)
			id := begin(t, m, Setting{rmem, bigger})
			if tc.prior != nil {
				tc.prior(t, w, m, id)
			}
			var said strings.Builder
			must(t, m.Watch(tc.ctx, id, tc.owner, &said))
			set, err := readSet(w.dir, id)
			must(t, err)
			if set.State != tc.state || !strings.Contains(set.Note, tc.note) || said.String() != watching {
				t.Errorf("state %s, note %q, said %q; want %s, %q", set.State, set.Note, said.String(), tc.state, tc.note)
			}
			want := "4096 131072 6291456"
			if tc.state == Confirmed {
				want = bigger
			}
			wantValue(t, w, rmem, want)
		})
	}
	t.Run("is not there", func(t *testing.T) {
		m := newWorld(t.TempDir()).manager(t)
		wantErr(t, m.Watch(t.Context(), "20261120-120000-abcdef", nil, io.Discard), ErrUnknown, "")
	})
}

// A call on the set gives its watchdog another deadline to time.
func TestStopwatch(t *testing.T) {
	start := time.Now()
	set := &Set{Within: minute, Deadline: start.Add(minute)}
	var w stopwatch
	for _, tc := range []struct {
		after, deadline time.Duration
		over            bool
	}{{0, minute, false}, {59 * time.Second, minute, false}, {minute, minute, true}, {minute, 2 * minute, false}, {2 * minute, 2 * minute, true}} {
		set.Deadline = start.Add(tc.deadline)
		if over := w.over(set, start.Add(tc.after)); over != tc.over {
			t.Errorf("after %v, with a deadline at %v: %v", tc.after, tc.deadline, over)
		}
	}
}

// A revert that fails is tried again, less and less often; after one that does not,
// the journal is looked at as often as before.
func TestNextPause(t *testing.T) {
	pause := watchEvery
	for range 20 {
		next := nextPause(pause, errFault)
		if next < pause || next > 2*pause || next > watchRetry || next == pause && next != watchRetry {
			t.Errorf("%v after %v", next, pause)
		}
		pause = next
	}
	if next := nextPause(pause, nil); pause != watchRetry || next != watchEvery {
		t.Errorf("%v at last, then %v", pause, next)
	}
}

// What one look of a watchdog does to a set, with an owner and without one.
func TestWatchOnce(t *testing.T) {
	late := func(w *world) { w.now = w.now.Add(minute) }
	inTime := func(w *world) { w.now = w.now.Add(minute - 1) }
	for _, tc := range []struct {
		name  string
		set   func(*Set)
		since func(*world)
		why   string
		owned bool
		state State
		open  bool
	}{
		{"in time", nil, inTime, "", false, Live, true},
		{"late", nil, late, "", false, Reverted, false},
		{"late, with an owner", nil, late, "", true, Reverted, false},
		{"for a reason", nil, inTime, "its owner is gone", true, Reverted, false},
		{"half applied", func(s *Set) { s.State = Applying }, inTime, "", false, Reverted, false},
		{"half applied, by its owner", func(s *Set) { s.State = Applying }, inTime, "", true, Applying, true},
		{"half persisted", func(s *Set) { s.Persist = true }, inTime, "", false, Live, true},
		{"half persisted, by its owner", func(s *Set) { s.Persist = true }, inTime, "", true, Live, true},
		{"persisted", func(s *Set) { s.State, s.Persist = Confirmed, true }, late, "its owner is gone", false, Confirmed, false},
		{"reverted", func(s *Set) { s.State = Reverted }, late, "its owner is gone", false, Reverted, false},
	} {
		w := newWorld(t.TempDir())
		m := w.manager(t)
		id := begin(t, m, Setting{rmem, bigger})
		set, err := m.Find(t.Context(), id)
		must(t, err)
		if tc.set != nil {
			tc.set(set)
			must(t, (&ledger{Manager: m}).save(set))
		}
		tc.since(w)
		var timed stopwatch
		before := set.Persist
		open, err := m.watchOnce(id, tc.why, !tc.owned, &timed)
		must(t, err)
		set, err = m.Find(t.Context(), id)
		must(t, err)
		half := before && set.Open() && !tc.owned // only that is taken back
		if open != tc.open || set.State != tc.state || set.Persist != (before && !half) {
			t.Errorf("%s: open %v, state %s, persist %v; want %v, %s", tc.name, open, set.State, set.Persist, tc.open, tc.state)
		}
	}
}

// A watchdog that has nothing to do waits for nobody: its look takes no lock.
func TestWatchOnceWithNothingToDo(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	set, err := m.Find(t.Context(), id)
	must(t, err)
	unlock, err := lock(t.Context(), w.dir, 0)
	must(t, err)
	defer unlock()
	for _, tc := range []struct {
		state State
		owned bool
		open  bool
	}{{Live, false, true}, {Live, true, true}, {Planned, false, true}, {Applying, true, true}, {Confirmed, false, false}, {Reverted, false, false}} {
		set.State = tc.state
		must(t, (&ledger{Manager: m}).save(set))
		var timed stopwatch
		if open, err := m.watchOnce(id, "", !tc.owned, &timed); open != tc.open || err != nil {
			t.Errorf("%s, owned %v: open %v (%v)", tc.state, tc.owned, open, err)
		}
	}
}

// A set that was renewed while its watchdog waited for the lock is left alone, also
// one that its owner is about to apply.
func TestWatchOnceOfARenewedSet(t *testing.T) {
	for _, owned := range []bool{true, false} {
		w := newWorld(t.TempDir())
		m := w.manager(t)
		id := begin(t, m, Setting{rmem, bigger})
		set, err := m.Find(t.Context(), id)
		must(t, err)
		if owned {
			set.State = Applying
		}
		must(t, (&ledger{Manager: m}).save(set))
		looks := 0
		m.now = func() time.Time {
			if looks++; looks == 1 {
				return w.now.Add(minute)
			}
			return w.now
		}
		var timed stopwatch
		open, err := m.watchOnce(id, "", !owned, &timed)
		if now, again := m.Find(t.Context(), id); !open || err != nil || again != nil || now.State != set.State {
			t.Errorf("owned %v: open %v (%v), %+v (%v)", owned, open, err, now, again)
		}
		wantValue(t, w, rmem, bigger)
	}
}

// A watchdog ends where its set's journal is gone, and stays where it only cannot be
// read, or where the set cannot be reverted.
func TestWatchOnceInTrouble(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	w.now = w.now.Add(minute)
	var timed stopwatch
	look := func(want error, stays bool) {
		t.Helper()
		if open, err := m.watchOnce(id, "", true, &timed); open != stays || !errors.Is(err, want) {
			t.Errorf("stays %v, error %v; want %v, %v", open, err, stays, want)
		}
	}
	m.knobs = stuck{w, rmem}
	look(errFault, true)
	m.write = func(string, []byte) error { return errFault } // what is back cannot be written down
	m.knobs = w
	look(errFault, true)
	wantValue(t, w, rmem, "4096 131072 6291456")
	text, err := os.ReadFile(journalPath(w.dir, id))
	must(t, err)
	must(t, os.WriteFile(journalPath(w.dir, id), nil, 0o644))
	if open, err := m.watchOnce(id, "", true, &timed); !open || err == nil || !strings.Contains(err.Error(), "it is empty") {
		t.Errorf("stays %v, error %v", open, err)
	}
	must(t, os.WriteFile(journalPath(w.dir, id), text, 0o644))
	must(t, os.Remove(journalPath(w.dir, id)))
	look(ErrUnknown, false)
}

// Each set has a place of its own at which its watchdogs are seen.
func TestWatched(t *testing.T) {
	dir := t.TempDir()
	const id, other, odd = "20261120-120000-a1b2c3", "20261120-120000-a1b2c4", "20261399-120000-a1b2c3" // no such day
	for _, id := range []string{id, odd} {
		if !watched(dir, id) {
			t.Errorf("%s: without a lock file it cannot be known", id)
		}
	}
	holdWatch(dir, id)() // nothing to hold
	write(t, lockPath(dir), "")
	if watched(dir, id) {
		t.Error("nobody watches it")
	}
	first, second := holdWatch(dir, id), holdWatch(dir, id)
	if !watched(dir, id) || watched(dir, other) {
		t.Errorf("watched: %v, the other %v", watched(dir, id), watched(dir, other))
	}
	first()
	if !watched(dir, id) {
		t.Error("the second one is still there")
	}
	second()
	if watched(dir, id) {
		t.Error("nobody watches it any more")
	}
	holdWatch(dir, odd)()
	if !watched(dir, odd) {
		t.Error("of an odd id it cannot be known")
	}
	if a, ok := watchPlace(id); !ok || a != time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix()<<24|0xa1b2c3 {
		t.Errorf("place %x, %v", a, ok)
	}
}
