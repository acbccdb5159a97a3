package change

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/sysctld"
)

// A value is persisted only if a boot will have it, all files considered.
func TestPersistIsChecked(t *testing.T) {
	const systemd = "run/systemd/system/"
	for _, tc := range []struct {
		name    string
		files   map[string]string // a name that ends in / is a directory; a text that begins with -> is a link
		refused string            // "" it is not
		note    string
	}{
		{"nothing else", nil, "", ""},
		{"an earlier file", map[string]string{"usr/lib/sysctl.d/50-x.conf": "net.ipv4.tcp_rmem = 1 2 3\n"}, "", ""},
		{"a later file with the same value", map[string]string{"etc/sysctl.d/99-zzz.conf": "net.ipv4.tcp_rmem=4096\t131072\t67108864\n"}, "", ""},
		{"a later file", map[string]string{"run/sysctl.d/99-zzz.conf": "\n# x\n-net/ipv4/tcp_rmem = 1 2 3\n"}, `/run/sysctl.d/99-zzz.conf:3 sets net.ipv4.tcp_rmem to "1 2 3" at boot`, ""},
		{"a later file in the last directory", map[string]string{"usr/lib/sysctl.d/zz.conf": "net.ipv4.tcp_rmem = 1 2 3\n"}, "/usr/lib/sysctl.d/zz.conf:1 sets", ""},
		{"a later file, leading slash", map[string]string{"etc/sysctl.d/99-zzz.conf": "/net//ipv4/tcp_rmem = 1 2 3\n"}, "99-zzz.conf:1 sets", ""},
		{"a later file, hidden", map[string]string{"etc/sysctl.d/.99-zzz.conf": "net.ipv4.tcp_rmem = 1 2 3\n"}, "", ""},
		{"a later file of another kind", map[string]string{"etc/sysctl.d/99-zzz.conf.bak": "net.ipv4.tcp_rmem = 1 2 3\n"}, "", ""},
		{"a later comment", map[string]string{"etc/sysctl.d/99-zzz.conf": "# net.ipv4.tcp_rmem = 1 2 3\n; net.ipv4.tcp_rmem = 1\n"}, "", ""},
		{"a later pattern", map[string]string{"etc/sysctl.d/99-zzz.conf": "net.ipv4.* = 1\n"}, "", ""}, // a name written out comes before it
		{"a later negation", map[string]string{"etc/sysctl.d/99-zzz.conf": "-net.ipv4.tcp_rmem\n"}, "99-zzz.conf:1 says that net.ipv4.tcp_rmem must not be set", ""},
		{"a later file, masked by an empty one", map[string]string{"usr/lib/sysctl.d/99-zzz.conf": "net.ipv4.tcp_rmem = 1 2 3\n", "etc/sysctl.d/99-zzz.conf": ""}, "", ""},
		{"a later file, masked by a link", map[string]string{"usr/lib/sysctl.d/99-zzz.conf": "net.ipv4.tcp_rmem = 1 2 3\n", "run/sysctl.d/99-zzz.conf": "->/dev/null"}, "", ""},
		{"a mask that comes too late", map[string]string{"etc/sysctl.d/99-zzz.conf": "net.ipv4.tcp_rmem = 1 2 3\n", "run/sysctl.d/99-zzz.conf": "->/dev/null"}, "/etc/sysctl.d/99-zzz.conf:1 sets", ""},
		{"sysctl.conf under systemd", map[string]string{systemd: "", "etc/sysctl.conf": "net.ipv4.tcp_rmem = 1 2 3\n"}, "", "/etc/sysctl.conf:1 sets net.ipv4.tcp_rmem"},
		{"sysctl.conf without systemd", map[string]string{"etc/sysctl.conf": "net.ipv4.tcp_rmem = 1 2 3\n"}, "/etc/sysctl.conf:1 sets net.ipv4.tcp_rmem", ""},
		{"sysctl.conf by an early link", map[string]string{systemd: "", "etc/sysctl.conf": "net.ipv4.tcp_rmem = 1 2 3\n", "etc/sysctl.d/99-sysctl.conf": "->../sysctl.conf"}, "", "sysctl --system"},
		{"sysctl.conf by a late link", map[string]string{systemd: "", "etc/sysctl.conf": "net.ipv4.tcp_rmem = 1 2 3\n", "etc/sysctl.d/zz-sysctl.conf": "->../sysctl.conf"}, "/etc/sysctl.d/zz-sysctl.conf:1 sets", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t.TempDir())
			for name, text := range tc.files {
				path := filepath.Join(w.root, name)
				to, link := strings.CutPrefix(text, "->")
				switch {
				case strings.HasSuffix(name, "/"):
					must(t, os.MkdirAll(path, 0o755))
				case link:
					must(t, os.MkdirAll(filepath.Dir(path), 0o755))
					must(t, os.Symlink(to, path))
				default:
					write(t, path, text)
				}
			}
			m := w.manager(t)
			id := begin(t, m, Setting{rmem, bigger})
			err := m.Confirm(t.Context(), id, true)
			set := get(t, m, id)
			if tc.refused == "" {
				must(t, err)
				if set.State != Confirmed || (tc.note == "") != (set.Note == "") || !strings.Contains(set.Note, tc.note) {
					t.Errorf("state %s, note %q, want one that says %q", set.State, set.Note, tc.note)
				}
				if set.Values[0].Drift != "" {
					t.Errorf("drift %q", set.Values[0].Drift)
				}
				return
			}
			wantErr(t, err, ErrRefused, tc.refused)
			if set.State != Live || set.Persist || w.dropIn(t) != "" || !set.Deadline.Equal(w.now.Add(minute)) {
				t.Errorf("refused, but state %s, persist %v, deadline %v, drop-in:\n%s", set.State, set.Persist, set.Deadline, w.dropIn(t))
			}
			must(t, m.Confirm(t.Context(), id, false)) // as the error proposes
		})
	}
}

// What is known of the boot before the set stands in its journal.
func TestJournalNamesWhatABootSetBefore(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	write(t, filepath.Join(w.root, "usr/lib/sysctl.d/50-x.conf"), "# x\nnet.ipv4.tcp_[rw]mem = 1 2 3\nnet.ipv4.tcp_wmem = 1 2 4\n")
	id := begin(t, m, Setting{rmem, bigger}, Setting{wmem, "4096 16384 67108864"}, Setting{idle, "0"})
	var got []Source
	for _, v := range get(t, m, id).Values {
		got = append(got, *v.AtBoot)
	}
	want := []Source{{"/usr/lib/sysctl.d/50-x.conf", 2, "1 2 3"}, {"/usr/lib/sysctl.d/50-x.conf", 3, "1 2 4"}, {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	must(t, m.Confirm(t.Context(), id, true))
	second := begin(t, m, Setting{rmem, biggest})
	if at := get(t, m, second).Values[0].AtBoot; at.File != "/"+sysctlFile || at.Line == 0 || at.Value != bigger {
		t.Errorf("after the first set, a boot sets %+v", at)
	}
}

func TestDrift(t *testing.T) {
	later := func(text string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { write(t, filepath.Join(w.root, "etc/sysctl.d/99-zzz.conf"), text) }
	}
	edit := func(from, to string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			text := strings.Replace(w.dropIn(t), from, to, 1)
			must(t, os.WriteFile(filepath.Join(w.root, sysctlFile), []byte(text), 0o644))
		}
	}
	for _, tc := range []struct {
		name  string
		since func(*testing.T, *world)
		drift string
	}{
		{"nothing", func(*testing.T, *world) {}, ""},
		{"set by someone else", func(_ *testing.T, w *world) { w.tunables[rmem] = "1 2 3" }, "someone else set it: now 1 2 3"},
		{"gone", func(_ *testing.T, w *world) { delete(w.tunables, rmem) }, "what it was of is gone, or another by that name"},
		{"removed", func(t *testing.T, w *world) { must(t, os.Remove(filepath.Join(w.root, sysctlFile))) }, "/" + sysctlFile + " was removed"},
		{"edited", edit("67108864", "1"), "/" + sysctlFile + ` was edited: "` + rmem + " = " + bigger + `" is not in it`},
		{"taken over", edit("# Written", "# Not written"), "/" + sysctlFile + " is not fullbore's any more"},
		{"a later file", later(rmem + " = 1 2 3"), `/etc/sysctl.d/99-zzz.conf:1 sets it to "1 2 3" at the next boot`},
		{"a later negation", later("-" + rmem), "/etc/sysctl.d/99-zzz.conf:1 keeps it from being set at the next boot"},
		{"a boot, and it came back", func(_ *testing.T, w *world) { w.boot, w.namespace = "boot-2", "net:cookie:1" }, ""},
		{"a boot, and it did not", func(_ *testing.T, w *world) { w.boot, w.tunables[rmem] = "boot-2", "1 2 3" }, "did not come back with the boot: now 1 2 3"},
		{"two things", func(t *testing.T, w *world) {
			w.tunables[rmem] = "1 2 3"
			later(rmem+" = 1 2 3")(t, w)
		}, `someone else set it: now 1 2 3; /etc/sysctl.d/99-zzz.conf:1 sets it to "1 2 3" at the next boot`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t.TempDir())
			m := w.manager(t)
			id := begin(t, m, Setting{rmem, bigger})
			must(t, m.Confirm(t.Context(), id, true))
			tc.since(t, w)
			set := get(t, m, id)
			if got := set.Values[0].Drift; got != tc.drift || set.Booted != (w.boot != "boot-1") {
				t.Errorf("drift %q, want %q; booted %v", got, tc.drift, set.Booted)
			}
		})
	}
	for name, tc := range map[string]struct {
		value  string
		later  func(t *testing.T, w *world, m *Manager) (id string)
		drifts bool
	}{
		"a later set": {biggest, func(t *testing.T, _ *world, m *Manager) string { return begin(t, m, Setting{rmem, biggest}) }, true},
		"a later set that was cut short and cannot be reverted": {biggest, func(t *testing.T, w *world, m *Manager) string {
			id := begin(t, m, Setting{rmem, biggest})
			set, err := m.Find(t.Context(), id)
			must(t, err)
			set.State, set.Values[0].State = Applying, Applying
			must(t, (&ledger{Manager: m}).save(set))
			m.knobs = stuck{w, rmem}
			return id
		}, true},
		"a later set that was reverted": {bigger, func(t *testing.T, _ *world, m *Manager) string {
			id := begin(t, m, Setting{rmem, biggest})
			_, err := m.Revert(t.Context(), id)
			must(t, err)
			return id
		}, false},
		"a later set that found the value there": {bigger, func(t *testing.T, _ *world, m *Manager) string { return begin(t, m, Setting{rmem, bigger}) }, false},
		"a later set of another namespace": {bigger, func(t *testing.T, w *world, m *Manager) string {
			w.namespace, w.tunables[rmem] = "net:cookie:7", "4096 131072 6291456"
			id := begin(t, m, Setting{rmem, biggest})
			w.namespace, w.tunables[rmem] = "net:cookie:1", bigger
			return id
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t.TempDir())
			m := w.manager(t)
			id := begin(t, m, Setting{rmem, bigger})
			must(t, m.Confirm(t.Context(), id, false))
			over := tc.later(t, w, m)
			want := ""
			if tc.drifts {
				want = "set again by " + over
			}
			if v := get(t, m, id).Values[0]; v.Drift != want || v.Now != tc.value {
				t.Errorf("drift %q, want %q; now %q", v.Drift, want, v.Now)
			}
		})
	}
}

// Lines that someone wrote into our file are theirs: they stay, count, and are
// reckoned with.
func TestHandWrittenLinesStay(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	path := filepath.Join(w.root, sysctlFile)
	first := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	must(t, m.Confirm(t.Context(), first, true))
	text := strings.Replace(w.dropIn(t), bigger, "1 2 3", 1) + "net.ipv4.udp_mem = 1 2 3\n" + idle + "=0\n"
	must(t, os.WriteFile(path, []byte(text), 0o644))

	second := begin(t, m, Setting{rmem, biggest})
	wantErr(t, m.Confirm(t.Context(), second, true), ErrRefused, sysctlFile+":5 sets net.ipv4.tcp_rmem to \"1 2 3\"")
	_, err := m.Revert(t.Context(), second)
	must(t, err)
	_, err = m.Revert(t.Context(), first)
	must(t, err)
	if diff := cmp.Diff([]string{rmem + " = 1 2 3", "net.ipv4.udp_mem = 1 2 3"}, lines(w.dropIn(t))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An old journal, which lacks what later ones have, reads and reverts.
func TestOldJournal(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	w.tunables[rmem] = bigger
	write(t, filepath.Join(w.dir, "20261119-120000-a1b2c3.json"), `{"schema": "fullbore/change/1", "id": "20261119-120000-a1b2c3",
		"state": "confirmed", "reason": "tune", "created": "2026-11-19T12:00:00Z", "kept_at": "2026-11-19T12:00:30Z", "confirm_within_ns": 60000000000,
		"boot_id": "boot-1", "namespace": "net:cookie:1", "persist": true,
		"values": [{"tunable": "net.ipv4.tcp_rmem", "old": "4096 131072 6291456", "new": "`+bigger+`", "state": "live"}]}`)
	write(t, filepath.Join(w.root, sysctlFile), "# Written by fullbore from the change sets in "+w.dir+".\n"+
		"# Changes by hand are lost. To undo one: fullbore revert ID\n\n# 20261119-120000-a1b2c3, begun 2026-11-19 12:00:00 UTC: tune\n"+rmem+" = "+bigger+"\n")
	if v := get(t, m, "20261119-120000-a1b2c3").Values[0]; v.Drift != "" || v.AtBoot != nil {
		t.Errorf("value %+v", v)
	}
	_, err := m.Revert(t.Context(), "20261119-120000-a1b2c3")
	must(t, err)
	wantValue(t, w, rmem, "4096 131072 6291456")
	if text := w.dropIn(t); text != "" {
		t.Errorf("drop-in is left:\n%s", text)
	}
}

// A confirm --persist that died between the file and the journal leaves nothing
// behind, whatever the set does next.
func TestPersistCutShort(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	writes := 0
	written := m.write
	m.write = func(path string, data []byte) error {
		if writes++; writes > 2 { // the journal, the drop-in, and dead
			return errors.New("dead")
		}
		return written(path, data)
	}
	// It does not even put the drop-in back.
	must(t, os.MkdirAll(filepath.Join(w.root, "etc/sysctl.d"), 0o755))
	if err := m.Confirm(t.Context(), id, true); err == nil {
		t.Fatal("it was confirmed all the same")
	}
	m = w.manager(t)
	must(t, m.Apply(t.Context(), id, []Setting{{rmem, biggest}}))
	if text := w.dropIn(t); text != "" {
		t.Errorf("the drop-in of a set that is not confirmed:\n%s", text)
	}
	_, err := m.Revert(t.Context(), id)
	must(t, err)
	if text := w.dropIn(t); text != "" {
		t.Errorf("drop-in is left:\n%s", text)
	}
}

// The same of a set that was confirmed before, and the next that happens is a
// boot, which reads the file.
func TestPersistLaterCutShortByABoot(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), id, false))
	m.write = func(path string, data []byte) error {
		if err := w.manager(t).write(path, data); err != nil || path == filepath.Join(w.root, sysctlFile) {
			panic(crash{})
		}
		return nil
	}
	func() {
		defer func() { _ = recover() }()
		err := m.Confirm(t.Context(), id, true)
		t.Error("it is still there: ", err)
	}()
	if text := w.dropIn(t); !strings.Contains(text, bigger) {
		t.Fatalf("it died too early; the drop-in says:\n%s", text)
	}
	w.boot = "boot-2" // which gives rmem the value in the drop-in
	m = w.manager(t)
	if set := get(t, m, id); set.State != Reverted || w.dropIn(t) != "" {
		t.Errorf("set is %s (%s), drop-in:\n%s", set.State, set.Note, w.dropIn(t))
	}
	wantValue(t, w, rmem, "4096 131072 6291456")
}

// What is live is gone with a boot, also where our files hold lines of other sets:
// a value that the boot, or someone since, made the same is not the set's.
func TestABootEndsWhatIsNotPersisted(t *testing.T) {
	const route = "route.congctl@198.18.0.0/15"
	w := newWorld(t.TempDir())
	w.tunables[route] = "cubic"
	m := w.manager(t)
	kept := begin(t, m, Setting{idle, "0"})
	must(t, m.Confirm(t.Context(), kept, true))
	id := begin(t, m, Setting{rmem, bigger}, Setting{route, "bbr"})
	must(t, m.Confirm(t.Context(), id, false))
	w.boot = "boot-2"
	must(t, m.Expire(t.Context()))
	if set := get(t, m, id); set.State != Reverted || set.Note != "the host was booted since" || set.Values[0].State != Reverted {
		t.Errorf("set is %s (%s), %+v", set.State, set.Note, set.Values)
	}
	wantValue(t, w, rmem, bigger)
	wantValue(t, w, route, "bbr")
}

// A set can be persisted later if the host still has what it wants; what it had put
// back by then does not matter.
func TestPersistLater(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	must(t, m.PutBack(t.Context(), id, idle))
	must(t, m.Confirm(t.Context(), id, false))
	kept := get(t, m, id).KeptAt
	w.now = w.now.Add(time.Hour)
	w.tunables[idle], w.tunables[rmem] = "7", biggest
	wantErr(t, m.Confirm(t.Context(), id, true), ErrRefused, rmem+` is "`+biggest+`" now, not "`+bigger+`"`)
	delete(w.tunables, rmem)
	wantErr(t, m.Confirm(t.Context(), id, true), errGone, rmem)
	w.tunables[rmem] = bigger
	must(t, m.Confirm(t.Context(), id, true))
	if diff := cmp.Diff([]string{rmem + " = " + bigger}, lines(w.dropIn(t))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if set := get(t, m, id); set.State != Confirmed || !set.Persist || !set.KeptAt.Equal(kept) {
		t.Errorf("state %s, persist %v, kept at %v, want still %v", set.State, set.Persist, set.KeptAt, kept)
	}
}

// What is no longer there when the set is confirmed is not kept, and neither is a
// set of which nothing is left.
func TestConfirmWithoutWhatIsGone(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	delete(w.tunables, idle)
	must(t, m.Confirm(t.Context(), id, false))
	if set := get(t, m, id); set.State != Confirmed || !set.Deadline.IsZero() || set.KeptAt.IsZero() || set.value(idle).State != Lost || set.Note != idle+" was changed by someone else since, and is not kept" {
		t.Errorf("%+v", set)
	}
	all := begin(t, m, Setting{wmem, "4096 16384 67108864"})
	w.tunables[wmem] = "1 2 3"
	must(t, m.Confirm(t.Context(), all, true))
	if set := get(t, m, all); set.State != Lost || !set.Deadline.IsZero() || set.Note != wmem+" was changed by someone else since, and is not kept; there was nothing to keep" {
		t.Errorf("%+v", set)
	}
	none := begin(t, m)
	must(t, m.Confirm(t.Context(), none, false))
	if set := get(t, m, none); set.State != Reverted || !set.Deadline.IsZero() || set.Note != "there was nothing to keep" {
		t.Errorf("%+v", set)
	}
	broken := begin(t, m, Setting{congestion, "bbr"})
	w.faults[w.point+1] = failBefore // of reading it
	wantErr(t, m.Confirm(t.Context(), broken, false), errFault, "")
	if set := get(t, m, broken); set.State != Live {
		t.Errorf("%+v", set)
	}
}

// Only what the host has, and the next boot would not, can be mended by confirming
// again.
func TestMendable(t *testing.T) {
	drifted := Value{Tunable: rmem, New: bigger, Now: bigger, State: Live, Drift: "removed"}
	whole := Value{Tunable: idle, New: "0", Now: "0", State: Live}
	changed := Value{Tunable: idle, New: "0", Now: "7", State: Live, Drift: "someone else set it"}
	reverted := Value{Tunable: idle, New: "0", Now: "7", State: Reverted, Drift: "not looked at"}
	for name, tc := range map[string]struct {
		set  Set
		want bool
	}{
		"drifted":                    {Set{Persist: true, Values: []Value{drifted}}, true},
		"and another is whole":       {Set{Persist: true, Values: []Value{drifted, whole}}, true},
		"whole":                      {Set{Persist: true, Values: []Value{whole}}, false},
		"another is changed":         {Set{Persist: true, Values: []Value{drifted, changed}}, false},
		"another was put back":       {Set{Persist: true, Values: []Value{drifted, reverted}}, true},
		"only what was put back did": {Set{Persist: true, Values: []Value{reverted}}, false},
		"not persisted":              {Set{Values: []Value{drifted}}, false},
		"of another namespace":       {Set{Persist: true, Elsewhere: true, Values: []Value{drifted}}, false},
	} {
		if got := tc.set.Mendable(); got != tc.want {
			t.Errorf("%s: mendable %v", name, got)
		}
	}
}

// While the drop-in of a confirm --persist that was cut short cannot be taken
// back, the journal does not forget it.
func TestPersistCutShortAndNotTakenBack(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	m.write = func(path string, data []byte) error {
		if err := w.manager(t).write(path, data); err != nil || path == filepath.Join(w.root, sysctlFile) {
			panic(crash{})
		}
		return nil
	}
	func() {
		defer func() { _ = recover() }()
		err := m.Confirm(t.Context(), id, true)
		t.Error("it is still there: ", err)
	}()
	text := w.dropIn(t)
	path := filepath.Join(w.root, sysctlFile)
	must(t, os.Remove(path)) // what cannot be read, nor removed as a file
	must(t, os.MkdirAll(filepath.Join(path, "x"), 0o755))
	m = w.manager(t)
	if err := m.Renew(t.Context(), id); err == nil {
		t.Error("the drop-in cannot be read, and nobody said so")
	}
	must(t, os.RemoveAll(path))
	write(t, path, text)
	must(t, m.Renew(t.Context(), id))
	if set := get(t, m, id); set.State != Live || set.Persist || w.dropIn(t) != "" {
		t.Errorf("set is %s, persist %v, drop-in:\n%s", set.State, set.Persist, w.dropIn(t))
	}
}

// What does not fit is refused whole: nothing of it is lost.
func TestHandWrittenLinesTooMany(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	first := begin(t, m, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), first, true))
	path := filepath.Join(w.root, sysctlFile)
	text := w.dropIn(t) + strings.Repeat("# mine\n", sysctld.MaxText/7)
	write(t, path, text)
	second := begin(t, m, Setting{idle, "0"})
	confirm := m.Confirm(t.Context(), second, true)
	_, revert := m.Revert(t.Context(), first)
	for _, err := range []error{confirm, revert} {
		if err == nil || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("error is %v", err)
		}
	}
	if w.dropIn(t) != text {
		t.Error("the file was touched")
	}
	write(t, path, text[:sysctld.MaxText]) // all that is read
	must(t, m.Confirm(t.Context(), second, true))
}

// What someone else has changed is noted once, however often it is tried.
func TestNoteOnce(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	w.tunables[idle] = "7"
	write(t, filepath.Join(w.root, "etc/sysctl.d/99-zzz.conf"), rmem+" = 1 2 3\n")
	for range 2 {
		wantErr(t, m.Confirm(t.Context(), id, true), ErrRefused, "99-zzz.conf:1")
	}
	if note := get(t, m, id).Note; strings.Count(note, idle) != 1 {
		t.Errorf("note: %s", note)
	}
}

// Confirming again restores a drop-in that was edited or removed.
func TestPersistMends(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), id, true))
	want := w.dropIn(t)
	path := filepath.Join(w.root, sysctlFile)
	for _, spoil := range []func() error{
		func() error { return os.Remove(path) },
		func() error { return os.WriteFile(path, []byte(strings.ReplaceAll(want, "net.", "#net.")), 0o644) },
	} {
		must(t, spoil())
		if set := get(t, m, id); set.Values[0].Drift == "" {
			t.Error("it was not noticed")
		}
		must(t, m.Confirm(t.Context(), id, true))
		if diff := cmp.Diff(want, w.dropIn(t)); diff != "" {
			t.Errorf("drop-in (-want +got):\n%s", diff)
		}
	}
}
