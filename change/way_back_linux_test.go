package change

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// unreadable are the ways in which a journal may come to be one that cannot be read.
var unreadable = map[string]struct {
	spoil func(path string) error
	says  string
}{
	"empty":            {replacedBy(""), "it is empty"},
	"cut off":          {replacedBy(`{"schema":`), "unexpected EOF"},
	"garbage":          {replacedBy("\x00\xff\x1b[2J"), "invalid character"},
	"of another kind":  {replacedBy("[]"), "cannot unmarshal"},
	"of the future":    {replacedBy(`{"schema":"fullbore/change/9"}`), "schema"},
	"too long":         {replacedBy(strings.Repeat(" ", maxJournal+1)), "longer than"},
	"a directory":      {func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) }, "not a file"},
	"a named pipe":     {func(path string) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o644)) }, "not a file"},
	"a loop of links":  {func(path string) error { return errors.Join(os.Remove(path), os.Symlink(path, path)) }, "symbolic links"},
	"not to be opened": {func(path string) error { return os.Chmod(path, 0) }, "run this as root"},
	"another's": {func(path string) error {
		text, err := encode(journalled())
		return errors.Join(err, os.WriteFile(path, text, 0o644))
	}, journalled().ID},
}

func replacedBy(text string) func(string) error {
	return func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }
}

// One journal that cannot be read is in the way of nothing but its own set, and
// of what is new.
func TestUnreadableJournalBlocksOnlyItself(t *testing.T) {
	for name, c := range unreadable {
		t.Run(name, func(t *testing.T) {
			likeAnyone(t)
			w := newWorld(t.TempDir())
			m := w.manager(t)
			initial := w.values()
			bad := begin(t, m, Setting{wmem, "4096 16384 67108864"})
			must(t, m.Confirm(t.Context(), bad, true))
			kept := begin(t, m, Setting{congestion, "bbr"})
			must(t, m.Confirm(t.Context(), kept, true))
			open := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
			path := journalPath(w.dir, bad)
			must(t, c.spoil(path))
			before, _ := readJournal(path)

			sets, err := m.List(t.Context())
			if err != nil || len(sets) != 3 || sets[0].ID != open || sets[1].ID != kept || sets[2].ID != bad {
				t.Fatalf("list: %v, %+v", err, sets)
			}
			if s := sets[2]; s.State != Unreadable || s.Kept() || !strings.Contains(s.Trouble, c.says) || !strings.Contains(s.Trouble, path) ||
				s.Created.IsZero() || strings.ContainsAny(s.Trouble, "\n\x1b") {
				t.Errorf("the one that cannot be read: %+v", s)
			}
			if sets[0].State != Live || sets[1].State != Confirmed || sets[0].Trouble+sets[1].Trouble != "" {
				t.Errorf("the others: %+v", sets[:2])
			}

			// Nothing new.
			if _, err := m.Begin(t.Context(), "test", minute); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("begin: %v", err)
			}
			for what, err := range map[string]error{
				"apply": m.Apply(t.Context(), open, []Setting{{rmem, biggest}}), "persist": m.Confirm(t.Context(), open, true),
			} {
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v", what, err)
				}
			}
			// The way back, and to keep what is there.
			must(t, m.Renew(t.Context(), open))
			must(t, m.PutBack(t.Context(), open, idle))
			wantValue(t, w, idle, "1")
			must(t, m.Confirm(t.Context(), open, false))
			for _, id := range []string{open, kept} {
				set, err := m.Revert(t.Context(), id)
				if err != nil || set.State != Reverted {
					t.Fatalf("revert: %v, %+v", err, set)
				}
			}
			if _, err := m.Revert(t.Context(), bad); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("revert of what cannot be read: %v", err)
			}
			if _, err := m.Find(t.Context(), bad); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("find what cannot be read: %v", err)
			}
			for name, value := range initial {
				if name == wmem {
					value = "4096 16384 67108864"
				}
				wantValue(t, w, name, value)
			}
			if text := w.dropIn(t); !strings.Contains(text, wmem) || strings.Contains(text, congestion) {
				t.Errorf("the drop-in is to keep the line of the unreadable set, and only that:\n%s", text)
			}
			if after, _ := readJournal(path); string(after) != string(before) {
				t.Errorf("the journal was touched: %.40q", after)
			}
		})
	}
}

// A deadline passes beside a journal that cannot be read.
func TestDeadlineBesideAnUnreadableJournal(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	initial := w.values()
	id := begin(t, m, Setting{rmem, bigger})
	must(t, unreadable["garbage"].spoil(filepath.Join(w.dir, "20200101-000000-aaaaaa.json")))
	w.now = w.now.Add(time.Hour)
	must(t, m.Expire(t.Context()))
	wantValue(t, w, rmem, initial[rmem])
	if set, err := m.Find(t.Context(), id); err != nil || set.State != Reverted {
		t.Errorf("%v, %+v", err, set)
	}
}

// A set that is due and cannot be reverted is in nobody else's way.
func TestOverdueSetThatCannotBeReverted(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	initial := w.values()
	due := begin(t, m, Setting{wmem, "4096 16384 67108864"})
	also := begin(t, m, Setting{congestion, "bbr"})
	w.now = w.now.Add(2 * minute)
	m.knobs = stuck{w, wmem}
	sets, err := m.List(t.Context())
	if err != nil || len(sets) != 2 {
		t.Fatalf("list: %v, %+v", err, sets)
	}
	if s := sets[1]; s.ID != also || s.State != Reverted || s.Trouble != "" {
		t.Errorf("the one that was due as well: %+v", s)
	}
	if s := sets[0]; s.ID != due || !s.Open() || !strings.Contains(s.Trouble, errFault.Error()) || !strings.Contains(s.Trouble, due) {
		t.Errorf("the one that cannot be reverted: %+v", s)
	}
	wantErr(t, m.Expire(t.Context()), errFault, due)

	mine := begin(t, m, Setting{rmem, bigger})
	set, err := m.Revert(t.Context(), mine)
	if err != nil || set.State != Reverted {
		t.Errorf("revert: %v, %+v", err, set)
	}
	wantValue(t, w, rmem, initial[rmem])

	m.knobs = w // and once it can be, it is
	if s := get(t, m, due); s.State != Reverted || s.Trouble != "" {
		t.Errorf("afterwards: %+v", s)
	}
	wantValue(t, w, wmem, initial[wmem])
}

// stuck is a world with a tunable that cannot be set.
type stuck struct {
	*world
	name string
}

func (s stuck) Set(name, value string) error {
	if name == s.name {
		return errFault
	}
	return s.world.Set(name, value)
}

// What cannot be looked at in another way than by name can be reverted by name.
func TestRevertWithoutAList(t *testing.T) {
	likeAnyone(t)
	w := newWorld(t.TempDir())
	m := w.manager(t)
	initial := w.values()
	id := begin(t, m, Setting{rmem, bigger})
	must(t, os.Chmod(w.dir, 0o300))
	t.Cleanup(func() { _ = os.Chmod(w.dir, 0o700) })
	if sets, err := m.List(t.Context()); !errors.Is(err, os.ErrPermission) {
		t.Errorf("list: %v, %+v", err, sets)
	}
	set, err := m.Revert(t.Context(), id)
	if err != nil || set.State != Reverted {
		t.Errorf("revert: %v, %+v", err, set)
	}
	wantValue(t, w, rmem, initial[rmem])
}

// Where nothing can be made, the error says so.
func TestMakeDirForbidden(t *testing.T) {
	likeAnyone(t)
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if err := makeDir(filepath.Join(dir, "b", "c")); !errors.Is(err, os.ErrPermission) {
		t.Errorf("where nothing can be made: %v", err)
	}
}

// likeAnyone takes from this test the right to open files that are not to be
// opened, which root has.
func likeAnyone(t *testing.T) {
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var all, fewer [2]unix.CapUserData
	must(t, unix.Capget(&header, &all[0]))
	fewer = all
	fewer[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	must(t, unix.Capset(&header, &fewer[0]))
	t.Cleanup(func() {
		must(t, unix.Capset(&header, &all[0]))
		runtime.UnlockOSThread()
	})
}

// While another process holds the lock nothing can be reverted: of a set that is
// due, and only of that, the list says so.
func TestListWhileAnotherIsAtIt(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	due := begin(t, m, Setting{wmem, "4096 16384 67108864"})
	w.now = w.now.Add(30 * time.Second)
	live := begin(t, m, Setting{rmem, bigger})
	w.now = w.now.Add(40 * time.Second)
	unlock, err := lock(t.Context(), w.dir, 0)
	must(t, err)
	defer unlock()
	sets, err := m.List(t.Context())
	if err != nil || len(sets) != 2 || sets[0].ID != live || sets[1].ID != due {
		t.Fatalf("list: %v, %+v", err, sets)
	}
	if sets[0].Trouble != "" || !strings.Contains(sets[1].Trouble, "process "+pid()) {
		t.Errorf("live: %q, due: %q", sets[0].Trouble, sets[1].Trouble)
	}
}

// Who may only look finds nothing wrong with what would be for root to do.
func TestListForAnyone(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	due := begin(t, m, Setting{wmem, "4096 16384 67108864"})
	w.now = w.now.Add(30 * time.Second)
	live := begin(t, m, Setting{rmem, bigger})
	w.now = w.now.Add(40 * time.Second)
	w.unwatched = true
	likeAnyone(t)
	must(t, os.Chmod(lockPath(w.dir), 0))
	sets, err := m.List(t.Context())
	if err != nil || len(sets) != 2 || sets[0].ID != live || sets[1].ID != due {
		t.Fatalf("list: %v, %+v", err, sets)
	}
	if sets[0].Trouble != "" || sets[1].Trouble != "" {
		t.Errorf("live: %q, due: %q", sets[0].Trouble, sets[1].Trouble)
	}
}

// A command that finds nothing due takes no lock, and waits for nobody.
func TestNothingIsDue(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	w.namespace = "net:cookie:7"
	elsewhere := begin(t, m, Setting{rmem, bigger})
	w.namespace = "net:cookie:1"
	w.now = w.now.Add(minute) // it is late, but not here
	live := begin(t, m, Setting{rmem, biggest})
	unlock, err := lock(t.Context(), w.dir, 0)
	must(t, err)
	defer unlock()
	must(t, m.Expire(t.Context()))
	for _, id := range []string{live, elsewhere} {
		if set := get(t, m, id); set.State != Live || set.Trouble != "" {
			t.Errorf("%+v", set)
		}
	}
}

// Where the system does not say which boot or namespace this is, nothing is reverted
// and nothing changed, but what there is can be listed.
func TestSystemThatDoesNotSayWhereThisIs(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	m.namespace = func() (string, error) { return "", errFault }
	must(t, m.Expire(t.Context())) // of no sets
	_, err := m.Begin(t.Context(), "test", minute)
	wantErr(t, err, errFault, "")
	m = w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	w.now = w.now.Add(time.Hour)
	m.namespace = func() (string, error) { return "", errFault }
	wantErr(t, m.Expire(t.Context()), errFault, "")
	m = w.manager(t)
	m.bootID = func() (string, error) { return "", errFault }
	must(t, m.Expire(t.Context()))
	wantErr(t, m.Renew(t.Context(), id), errFault, "")
	if set := get(t, m, id); set.State != Live || set.Trouble != "" {
		t.Errorf("%+v", set)
	}
	wantValue(t, w, rmem, bigger)
}

// A revert that was asked for and did not come to its end is taken up again, and
// still says why it was.
func TestRevertTakenUpAgain(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	m.knobs = stuck{w, idle}
	_, err := m.Revert(t.Context(), id)
	wantErr(t, err, errFault, id)
	wantValue(t, w, rmem, "4096 131072 6291456") // the other one is back
	m.knobs = w
	must(t, m.Expire(t.Context()))
	if set := get(t, m, id); set.State != Reverted || set.Note != "on request" {
		t.Errorf("set is %s (%s)", set.State, set.Note)
	}
	wantValue(t, w, idle, "1")
}

// What the host had already is not the set's, whoever changes it since.
func TestRevertOfWhatWasThereAlready(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{idle, "1"}, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), id, false))
	w.tunables[idle] = "7"
	set, err := m.Revert(t.Context(), id)
	must(t, err)
	if set.State != Reverted || set.Note != "on request" || set.Values[0].State != Reverted {
		t.Errorf("%+v", set)
	}
	wantValue(t, w, idle, "7")
	wantValue(t, w, rmem, "4096 131072 6291456")
}

// A set below another one hands its old value on. Where that cannot be written down
// it is not reverted, and what was cut short between the two journals is taken up.
func TestRevertBelowAnotherSet(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	initial := w.values()
	below := begin(t, m, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), below, false))
	above := begin(t, m, Setting{rmem, biggest}, Setting{idle, "0"})
	written := m.write
	m.write = func(path string, data []byte) error {
		if path == journalPath(w.dir, above) {
			return errFault
		}
		return written(path, data)
	}
	_, err := m.Revert(t.Context(), below)
	wantErr(t, err, errFault, below)
	writes := 0
	m.write = func(path string, data []byte) error {
		if writes++; writes == 3 { // its own journal, the other's, and dead
			panic(crash{})
		}
		return written(path, data)
	}
	func() {
		defer func() { _ = recover() }()
		_, err := m.Revert(t.Context(), below)
		t.Error("it is still there: ", err)
	}()
	m.write = written
	must(t, m.Expire(t.Context()))
	if set := get(t, m, below); set.State != Reverted || set.Values[0].State != Reverted || set.Note != "on request" {
		t.Errorf("%+v", set)
	}
	wantValue(t, w, rmem, biggest)
	if set := get(t, m, above); set.State != Live || set.Values[0].Old != initial[rmem] {
		t.Errorf("%+v", set)
	}
	_, err = m.Revert(t.Context(), above)
	must(t, err)
	wantValue(t, w, rmem, initial[rmem])
	wantValue(t, w, idle, "1")
}

// A set that was cut short above another one has what it touched as well.
func TestRevertBelowASetThatWasCutShort(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	initial := w.values()
	below := begin(t, m, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), below, false))
	above := begin(t, m)
	func() {
		defer func() { _ = recover() }()
		m.knobs = dying{w}
		err := m.Apply(t.Context(), above, []Setting{{rmem, biggest}})
		t.Error("it is still there: ", err)
	}()
	m.knobs = w
	set, err := m.Revert(t.Context(), below)
	must(t, err)
	if set.State != Reverted {
		t.Errorf("%+v", set)
	}
	wantValue(t, w, rmem, biggest)
	must(t, m.Expire(t.Context()))
	wantValue(t, w, rmem, initial[rmem])
}

// dying is a world whose process dies when it has set a tunable.
type dying struct{ *world }

func (d dying) Set(name, value string) error {
	d.tunables[name] = value
	panic(crash{})
}

// Where a set's tunables are: in the namespace that it was made in, and after a boot,
// of what was persisted, only where the boot's settings have their effect.
func TestWhereASetIs(t *testing.T) {
	for _, tc := range []struct {
		name      string
		booted    bool
		persist   bool
		namespace string
		bootsHere error
		here      bool
	}{
		{"the same namespace", false, false, "net:cookie:1", nil, true},
		{"another", false, false, "net:cookie:7", nil, false},
		{"another, persisted", false, true, "net:cookie:7", nil, false},
		{"after a boot", true, false, "net:cookie:7", nil, true}, // there is nothing left of it
		{"after a boot, persisted", true, true, "net:cookie:1", nil, true},
		{"after a boot, persisted, another", true, true, "net:cookie:7", nil, false},
		{"after a boot, persisted, unknown", true, true, "net:cookie:1", errFault, false},
	} {
		w := newWorld(t.TempDir())
		m := w.manager(t)
		id := begin(t, m, Setting{rmem, bigger})
		must(t, m.Confirm(t.Context(), id, tc.persist))
		if tc.booted {
			w.boot = "boot-2"
		}
		w.namespace = tc.namespace
		if tc.bootsHere != nil {
			m.bootsHere = func() (bool, error) { return true, tc.bootsHere }
		}
		if set := get(t, m, id); set.Elsewhere == tc.here {
			t.Errorf("%s: elsewhere %v", tc.name, set.Elsewhere)
		}
		want := Confirmed
		if tc.booted && !tc.persist {
			want = Reverted
		}
		if set := get(t, m, id); set.State != want || set.Trouble != "" {
			t.Errorf("%s: %s, %s", tc.name, set.State, set.Trouble)
		}
	}
}

// A broken journal beside none that can be read is listed all the same.
func TestListOfUnreadableJournalsOnly(t *testing.T) {
	w := newWorld(t.TempDir())
	write(t, journalPath(w.dir, "20200101-000000-aaaaaa"), "")
	write(t, journalPath(w.dir, "20200102-000000-aaaaaa"), "")
	sets, err := w.manager(t).List(t.Context())
	if err != nil || len(sets) != 2 || sets[0].ID != "20200102-000000-aaaaaa" || sets[0].State != Unreadable || sets[1].State != Unreadable {
		t.Errorf("%v, %+v", err, sets)
	}
}

// What outlives a process lies where the environment says, else where the system
// keeps such things.
func TestStateDir(t *testing.T) {
	for state, want := range map[string]string{"": "/var/lib/fullbore/changes", "/srv/state": "/srv/state/changes"} {
		t.Setenv("FULLBORE_STATE", state)
		if got := DefaultDir(); got != want {
			t.Errorf("with %q: %s, want %s", state, got, want)
		}
	}
}
