package change

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	minute  = time.Minute
	bigger  = "4096 131072 67108864"
	biggest = "4096 131072 134217728"
)

// begin opens a set with these settings.
func begin(t *testing.T, m *Manager, settings ...Setting) string {
	t.Helper()
	if w, ok := m.knobs.(*world); ok {
		w.now = w.now.Add(time.Second) // no two sets at one instant
	}
	id, err := m.Begin(t.Context(), "test", minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(t.Context(), id, settings); err != nil {
		t.Fatal(err)
	}
	return id
}

func wantErr(t *testing.T, err, want error, says string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		t.Errorf("error is %v, want %v that says %q", err, want, says)
	}
}

func wantValue(t *testing.T, w *world, name, value string) {
	t.Helper()
	if w.tunables[name] != value {
		t.Errorf("%s is %q, want %q", name, w.tunables[name], value)
	}
}

// get is the set as List has it.
func get(t *testing.T, m *Manager, id string) Set {
	t.Helper()
	sets, err := m.List(t.Context())
	must(t, err)
	for _, set := range sets {
		if set.ID == id {
			return set
		}
	}
	t.Fatalf("no set %s among %v", id, sets)
	return Set{}
}

func TestApplyConfirmRevert(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	before := w.values()

	id := begin(t, m, Setting{rmem, "4096\t131072   67108864"}, Setting{idle, "0"})
	wantValue(t, w, rmem, bigger)
	wantValue(t, w, idle, "0")
	if diff := cmp.Diff([]string{id}, w.watched); diff != "" {
		t.Errorf("watchdogs (-want +got):\n%s", diff)
	}
	must(t, m.Confirm(t.Context(), id, false))
	w.now = w.now.Add(time.Hour)
	set := get(t, m, id)
	want := []Value{
		{Tunable: rmem, Old: before[rmem], New: bigger, State: Live, AtBoot: &Source{}, Now: bigger},
		{Tunable: idle, Old: "1", New: "0", State: Live, AtBoot: &Source{}, Now: "0"},
	}
	if diff := cmp.Diff(want, set.Values); diff != "" || set.State != Confirmed {
		t.Errorf("state %s (-want +got):\n%s", set.State, diff)
	}
	reverted, err := m.Revert(t.Context(), id)
	must(t, err)
	if diff := cmp.Diff(before, w.values()); diff != "" || reverted.State != Reverted {
		t.Errorf("state %s (-before +after):\n%s", reverted.State, diff)
	}
	again, err := m.Revert(t.Context(), id)
	must(t, err)
	if diff := cmp.Diff(reverted, again); diff != "" {
		t.Errorf("a second revert differs (-first +second):\n%s", diff)
	}
}

func TestApplyTwiceTouchesNothing(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	m.knobs = readOnly{w}
	must(t, m.Apply(t.Context(), id, []Setting{{rmem, bigger}}))
	m.knobs = w
	_, err := m.Revert(t.Context(), id)
	must(t, err)
	wantValue(t, w, rmem, "4096 131072 6291456")
}

// readOnly is a world whose tunables cannot be set.
type readOnly struct{ *world }

func (readOnly) Set(name, _ string) error { return errors.New(name + " is to be left alone") }

func TestPutBack(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	must(t, m.PutBack(t.Context(), id, idle))
	wantValue(t, w, idle, "1")
	wantValue(t, w, rmem, bigger)
	wantErr(t, m.PutBack(t.Context(), id, wmem), ErrRefused, "has not touched")

	must(t, m.Apply(t.Context(), id, []Setting{{idle, "0"}, {rmem, biggest}})) // tried again
	must(t, m.Apply(t.Context(), id, []Setting{{rmem, bigger}}))               // and half a step back
	must(t, m.Confirm(t.Context(), id, false))
	_, err := m.Revert(t.Context(), id)
	must(t, err)
	wantValue(t, w, rmem, "4096 131072 6291456")

	all := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	w.tunables[idle] = "1" // back already
	m.knobs = stuck{w, idle}
	must(t, m.PutBack(t.Context(), all))
	m.knobs = w
	wantValue(t, w, idle, "1")
	must(t, m.Confirm(t.Context(), all, true))
	if set := get(t, m, all); set.State != Reverted || w.dropIn(t) != "" {
		t.Errorf("nothing was kept, but state is %s and the drop-in:\n%s", set.State, w.dropIn(t))
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name    string
		setting Setting
		says    string
	}{
		{"lowers the maximum", Setting{rmem, "4096 131072 4194304"}, "would be lower"},
		{"lowers the minimum", Setting{rmem, "1024 131072 67108864"}, "would be lower"},
		{"out of order", Setting{rmem, "4096 131072 1024"}, "out of order"},
		{"not a triplet", Setting{rmem, "67108864"}, "three numbers"},
		{"never ours", Setting{"net.ipv4.tcp_mem", "1 2 4"}, "never changed"},
		{"not in the catalogue", Setting{"net.ipv4.ip_forward", "1"}, "not in the catalogue"},
		{"not a name", Setting{"../../../etc/passwd", "1"}, "not in the catalogue"},
		{"two lines", Setting{congestion, "bbr\nnet.ipv4.ip_forward = 1"}, "not a name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t.TempDir())
			m := w.manager(t)
			before := w.values()
			id := begin(t, m)
			wantErr(t, m.Apply(t.Context(), id, []Setting{{idle, "0"}, tc.setting}), ErrRefused, tc.says)
			if diff := cmp.Diff(before, w.values()); diff != "" {
				t.Errorf("something was touched (-before +after):\n%s", diff)
			}
			if set := get(t, m, id); len(set.Values) > 0 || !set.Open() {
				t.Errorf("the set is %s and has %v", set.State, set.Values)
			}
		})
	}
}

func TestHeldByAnotherSet(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	first := begin(t, m, Setting{rmem, bigger})
	w.now = w.now.Add(time.Second)
	second := begin(t, m, Setting{idle, "0"})
	wantErr(t, m.Apply(t.Context(), second, []Setting{{rmem, biggest}}), ErrRefused, "held by change set "+first)

	must(t, m.Confirm(t.Context(), first, false))
	must(t, m.Apply(t.Context(), second, []Setting{{rmem, biggest}}))
	must(t, m.Confirm(t.Context(), second, false))

	t.Run("newest first", func(t *testing.T) {
		_, err := m.Revert(t.Context(), second)
		must(t, err)
		wantValue(t, w, rmem, bigger)
		set, err := m.Revert(t.Context(), first)
		must(t, err)
		wantValue(t, w, rmem, "4096 131072 6291456")
		if set.State != Reverted {
			t.Errorf("state is %s", set.State)
		}
	})
	t.Run("oldest first", func(t *testing.T) {
		old := begin(t, m, Setting{rmem, bigger}, Setting{wmem, "4096 16384 67108864"})
		must(t, m.Confirm(t.Context(), old, false))
		over := begin(t, m, Setting{rmem, biggest})
		must(t, m.Confirm(t.Context(), over, false))
		set, err := m.Revert(t.Context(), old)
		must(t, err)
		wantValue(t, w, rmem, biggest)
		wantValue(t, w, wmem, "4096 16384 4194304")
		if set.State != Reverted || set.Note != "on request" || set.Values[0].State != Reverted || set.Values[1].State != Reverted {
			t.Errorf("state %s, note %q, values %+v", set.State, set.Note, set.Values)
		}
		_, err = m.Revert(t.Context(), over)
		must(t, err)
		wantValue(t, w, rmem, "4096 131072 6291456") // not what the older one had made of it
	})
}

// Sets need not be confirmed in the order in which they were begun. What counts
// is who set a tunable last.
func TestConfirmedInAnotherOrder(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	before := w.values()
	outer := begin(t, m, Setting{idle, "0"})
	inner := begin(t, m, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), inner, true))
	w.now = w.now.Add(time.Second)
	must(t, m.Apply(t.Context(), outer, []Setting{{rmem, biggest}}))
	must(t, m.Confirm(t.Context(), outer, true))
	if text := w.dropIn(t); !strings.Contains(text, rmem+" = "+biggest) || strings.Contains(text, bigger) {
		t.Errorf("the host has %s, the drop-in:\n%s", biggest, text)
	}
	sets, err := m.List(t.Context())
	must(t, err)
	for _, set := range sets { // newest first
		_, err := m.Revert(t.Context(), set.ID)
		must(t, err)
	}
	if diff := cmp.Diff(before, w.values()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestSomeoneElse(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"}, Setting{congestion, "bbr"})
	w.tunables[rmem] = "1 2 3"
	wantErr(t, m.Apply(t.Context(), id, []Setting{{rmem, biggest}}), ErrLost, `"1 2 3" now`)
	wantErr(t, m.PutBack(t.Context(), id, rmem, idle), ErrLost, "left alone")
	wantValue(t, w, rmem, "1 2 3")
	wantValue(t, w, idle, "1")
	must(t, m.Confirm(t.Context(), id, true))
	if text := w.dropIn(t); !strings.Contains(text, congestion+" = bbr") || strings.Contains(text, rmem) {
		t.Errorf("drop-in:\n%s", text)
	}
	set, err := m.Revert(t.Context(), id)
	must(t, err)
	wantValue(t, w, rmem, "1 2 3")
	wantValue(t, w, congestion, "cubic")
	if set.State != Lost || !strings.Contains(set.Note, rmem) {
		t.Errorf("state %s, note %q", set.State, set.Note)
	}
}

// What was lost to someone else stays theirs, also when it is as the set had it again.
func TestLostStaysLost(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	for _, theirs := range []string{"1 2 3", bigger} {
		w.tunables[rmem] = theirs
		wantErr(t, m.PutBack(t.Context(), id, rmem), ErrLost, rmem)
		wantErr(t, m.Apply(t.Context(), id, []Setting{{rmem, biggest}}), ErrLost, theirs)
		wantValue(t, w, rmem, theirs)
	}
	if set := get(t, m, id); set.State != Live || set.value(rmem).State != Lost || set.value(idle).State != Live {
		t.Errorf("state %s, values %+v", set.State, set.Values)
	}
	set, err := m.Revert(t.Context(), id)
	must(t, err)
	wantValue(t, w, rmem, bigger)
	wantValue(t, w, idle, "1")
	if set.State != Lost {
		t.Errorf("state %s", set.State)
	}
}

// Of an Apply that fails nothing stays: what it had touched is put back, in the
// opposite order, and the set is as it was.
func TestApplyFailsWhole(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	before, values := get(t, m, id), w.values()
	m.knobs = stuck{w, congestion}
	if err := m.Apply(t.Context(), id, []Setting{{rmem, biggest}, {idle, "0"}, {congestion, "bbr"}}); err == nil || err.Error() != errFault.Error() {
		t.Errorf("error is %v, want %v and nothing else", err, errFault)
	}
	if diff := cmp.Diff(values, w.values()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	m.knobs = w
	if diff := cmp.Diff(before, get(t, m, id)); diff != "" {
		t.Errorf("the set (-before +after):\n%s", diff)
	}
}

// Where that fails too, the deadline brings it back.
func TestApplyFailsAndCannotPutBack(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	initial := w.values()
	id := begin(t, m, Setting{rmem, bigger})
	m.knobs = &failing{w, 1} // it sets rmem, then nothing any more
	wantErr(t, m.Apply(t.Context(), id, []Setting{{rmem, biggest}, {idle, "0"}}), errFault, "put back "+rmem)
	wantValue(t, w, rmem, biggest)
	m.knobs = w
	w.now = w.now.Add(minute)
	must(t, m.Expire(t.Context()))
	if diff := cmp.Diff(initial, w.values()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// failing is a world whose tunables can be set so many times more.
type failing struct {
	*world
	left int
}

func (f *failing) Set(name, value string) error {
	if f.left--; f.left < 0 {
		return errFault
	}
	return f.world.Set(name, value)
}

// A journal that cannot be written after the values were set: they are put back at
// once if it can be written again, and else at the deadline.
func TestApplyCannotBeWrittenDown(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fails []int // writes of this call
		left  string
	}{
		{"for a moment", []int{2}, bigger},
		{"for good", []int{2, 3, 4, 5}, biggest},
		{"from the first on", []int{1, 2, 3}, bigger},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t.TempDir())
			m := w.manager(t)
			initial := w.values()
			id := begin(t, m, Setting{rmem, bigger})
			written, n := m.write, 0
			m.write = func(path string, data []byte) error {
				if n++; slices.Contains(tc.fails, n) {
					return syscall.ENOSPC
				}
				return written(path, data)
			}
			wantErr(t, m.Apply(t.Context(), id, []Setting{{rmem, biggest}}), syscall.ENOSPC, "write journal")
			wantValue(t, w, rmem, tc.left)
			m.write = written
			w.now = w.now.Add(minute)
			must(t, m.Expire(t.Context()))
			if diff := cmp.Diff(initial, w.values()); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	before := w.values()
	id := begin(t, m, Setting{rmem, bigger})
	for range 3 { // each call gives a minute more
		w.now = w.now.Add(minute - time.Second)
		must(t, m.Renew(t.Context(), id))
	}
	w.now = w.now.Add(minute)
	wantErr(t, m.Confirm(t.Context(), id, false), ErrClosed, "nobody confirmed within 1m0s")
	if diff := cmp.Diff(before, w.values()); diff != "" {
		t.Errorf("late, but (-before +after):\n%s", diff)
	}

	late := begin(t, m, Setting{rmem, bigger})
	w.now = w.now.Add(time.Hour)
	if set := get(t, w.manager(t), late); set.State != Reverted { // another process, later
		t.Errorf("state is %s", set.State)
	}
	wantValue(t, w, rmem, before[rmem])
}

// On a full disk a request touches nothing, but the deadline holds all the same.
func TestDeadlineOnAFullDisk(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	before := w.values()
	id := begin(t, m, Setting{rmem, bigger})
	m.write = func(string, []byte) error { return syscall.ENOSPC }
	_, err := m.Revert(t.Context(), id)
	wantErr(t, err, syscall.ENOSPC, "write journal")
	wantValue(t, w, rmem, bigger)
	w.now = w.now.Add(minute)
	wantErr(t, m.Expire(t.Context()), syscall.ENOSPC, "its values are restored")
	if diff := cmp.Diff(before, w.values()); diff != "" {
		t.Errorf("late, but (-before +after):\n%s", diff)
	}
	if set := get(t, w.manager(t), id); set.State != Reverted { // there is room again
		t.Errorf("state is %s", set.State)
	}
}

func TestReboot(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	kept := begin(t, m, Setting{idle, "0"})
	must(t, m.Confirm(t.Context(), kept, false))
	persisted := begin(t, m, Setting{congestion, "bbr"})
	must(t, m.Confirm(t.Context(), persisted, true))
	open := begin(t, m, Setting{rmem, bigger})

	w.boot, w.namespace = "boot-2", "net:cookie:1"
	w.tunables[rmem] = biggest // whatever this boot made it
	w.tunables[idle] = "1"
	must(t, m.Expire(t.Context()))
	wantValue(t, w, rmem, biggest)
	for id, want := range map[string]State{kept: Reverted, open: Reverted, persisted: Confirmed} {
		if set := get(t, m, id); set.State != want {
			t.Errorf("%s is %s (%s), want %s", id, set.State, set.Note, want)
		}
	}
	_, err := m.Revert(t.Context(), persisted)
	must(t, err)
	wantValue(t, w, congestion, "cubic")
	if text := w.dropIn(t); text != "" {
		t.Errorf("drop-in is still there:\n%s", text)
	}
}

func TestOtherNamespace(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	w.namespace = "net:cookie:7"
	w.now = w.now.Add(time.Hour)
	must(t, m.Expire(t.Context()))
	wantValue(t, w, rmem, bigger) // is that of another namespace, for all that is known here
	_, err := m.Revert(t.Context(), id)
	wantErr(t, err, ErrRefused, "another network namespace")
	if set := get(t, m, id); !set.Elsewhere || set.Values[0].Now != "" {
		t.Errorf("another namespace's set is %+v", set)
	}
	must(t, m.Apply(t.Context(), begin(t, m), []Setting{{rmem, biggest}})) // nobody holds it here
	w.namespace = "net:cookie:1"
	w.tunables[rmem] = bigger
	must(t, m.Expire(t.Context()))
	wantValue(t, w, rmem, "4096 131072 6291456")
}

func TestWatchdogThatDoesNotStart(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	m.StartWatchdog = func(string, string) error { return errors.New("no processes left") }
	_, err := m.Begin(t.Context(), "test", minute)
	wantErr(t, err, err, "no processes left")
	sets, err := m.List(t.Context())
	must(t, err)
	if len(sets) != 1 || sets[0].Open() {
		t.Errorf("sets: %v", sets)
	}
}

func TestBeginRefuses(t *testing.T) {
	m := newWorld(t.TempDir()).manager(t)
	for _, within := range []time.Duration{0, -time.Second, 30 * 24 * time.Hour} {
		_, err := m.Begin(t.Context(), "test", within)
		wantErr(t, err, ErrRefused, "confirmed within")
	}
	_, err := m.Begin(t.Context(), strings.Repeat("x", maxReason+1), minute)
	wantErr(t, err, ErrRefused, "too long")
	_, err = m.Begin(t.Context(), strings.Repeat("x", maxReason), maxWithin) // all that is allowed
	must(t, err)
}

func TestLockNamesItsHolder(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	unlock, err := lock(t.Context(), w.dir, 0)
	must(t, err)
	wantErr(t, m.Renew(t.Context(), id), ErrRefused, "process "+pid())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, m.Renew(ended, id), context.Canceled, "")
	unlock()
	must(t, m.Renew(ended, id)) // free: no need to wait
	_, err = m.Revert(ended, id)
	must(t, err)
	wantValue(t, w, rmem, "4096 131072 6291456")
}

// A holder that has not written its name is another process.
func TestLockOfANamelessHolder(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m)
	unlock, err := lock(t.Context(), w.dir, 0)
	must(t, err)
	defer unlock()
	must(t, os.Truncate(lockPath(w.dir), 0))
	wantErr(t, m.Renew(t.Context(), id), ErrRefused, "another process is changing tunables")
}

// Whoever may hold the lock can keep every set from being reverted.
func TestLockIsForTheOwnerOnly(t *testing.T) {
	w := newWorld(t.TempDir())
	write(t, lockPath(w.dir), "") // as older versions left it
	begin(t, w.manager(t), Setting{rmem, bigger})
	info, err := os.Stat(lockPath(w.dir))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
}

// What a process left behind that died at writing is removed by the next command;
// what else lies there stays, and is no change set.
func TestLeftovers(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m)
	journal := journalPath(w.dir, id)
	left := []string{beside(journal), beside(filepath.Join(w.root, sysctlFile)), beside(filepath.Join(w.root, udevFile))}
	others := []string{filepath.Join(w.dir, "notes.json"), strings.TrimSuffix(journal, ".json"), journal + ".bak"}
	for _, path := range slices.Concat(left, others) {
		write(t, path, "{")
	}
	must(t, m.Renew(t.Context(), id))
	for _, path := range left {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", path, err)
		}
	}
	for _, path := range others {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	sets, err := m.List(t.Context())
	must(t, err)
	if len(sets) != 1 || sets[0].ID != id || sets[0].Trouble != "" {
		t.Errorf("sets: %+v", sets)
	}
}

func TestUnknownSet(t *testing.T) {
	m := newWorld(t.TempDir()).manager(t)
	sets, err := m.List(t.Context())
	must(t, err)
	if len(sets) != 0 {
		t.Errorf("sets: %v", sets)
	}
	for _, id := range []string{"20261120-120000-abcdef", "../../etc/passwd", ""} {
		_, err := m.Revert(t.Context(), id)
		wantErr(t, err, ErrUnknown, "")
	}
}
