package change

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lines are the settings of a drop-in, without comments.
func lines(text string) []string {
	var settings []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			settings = append(settings, line)
		}
	}
	return settings
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestPersistMergesAndWithdraws(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	first := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	must(t, m.Confirm(t.Context(), first, true))
	one := w.dropIn(t)
	if diff := cmp.Diff([]string{rmem + " = " + bigger, idle + " = 0"}, lines(one)); diff != "" {
		t.Errorf("first set (-want +got):\n%s", diff)
	}
	if !strings.Contains(one, first) {
		t.Errorf("drop-in does not name its set:\n%s", one)
	}
	second := begin(t, m, Setting{rmem, biggest})
	must(t, m.Confirm(t.Context(), second, false))
	if diff := cmp.Diff(one, w.dropIn(t)); diff != "" {
		t.Errorf("a set that is not persisted changes the drop-in (-want +got):\n%s", diff)
	}
	third := begin(t, m, Setting{wmem, "4096 16384 67108864"})
	must(t, m.Confirm(t.Context(), third, false))
	must(t, m.Confirm(t.Context(), second, true)) // later, after all
	if diff := cmp.Diff([]string{idle + " = 0", rmem + " = " + biggest}, lines(w.dropIn(t))); diff != "" {
		t.Errorf("both sets (-want +got):\n%s", diff)
	}
	_, err := m.Revert(t.Context(), second)
	must(t, err)
	if diff := cmp.Diff(one, w.dropIn(t)); diff != "" {
		t.Errorf("after revert (-want +got):\n%s", diff)
	}
	_, err = m.Revert(t.Context(), first)
	must(t, err)
	if _, err := os.Stat(filepath.Join(w.root, sysctlFile)); !os.IsNotExist(err) {
		t.Errorf("an empty drop-in was left (%v)", err)
	}
}

func TestPersistFailsWhole(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, w *world)
		says    string
	}{
		{"a file where the directory should be", func(t *testing.T, w *world) {
			write(t, filepath.Join(w.root, "etc/sysctl.d"), "")
		}, "not a directory"},
		{"a drop-in of another", func(t *testing.T, w *world) {
			write(t, filepath.Join(w.root, sysctlFile), "net.ipv4.tcp_sack = 1\n")
		}, "not made from the change sets"},
		{"another namespace", func(_ *testing.T, w *world) { w.namespace = "net:cookie:7" }, "another"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t.TempDir())
			tc.prepare(t, w)
			m := w.manager(t)
			id := begin(t, m, Setting{rmem, bigger})
			before, _ := os.ReadFile(filepath.Join(w.root, sysctlFile))
			err := m.Confirm(t.Context(), id, true)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("error is %v, want one that says %q", err, tc.says)
			}
			after, _ := os.ReadFile(filepath.Join(w.root, sysctlFile))
			if set := get(t, m, id); set.State != Live || set.Persist || string(before) != string(after) {
				t.Errorf("not as before: %s, persist %v, drop-in:\n%s", set.State, set.Persist, after)
			}
			must(t, m.Confirm(t.Context(), id, false)) // still possible
			wantValue(t, w, rmem, bigger)
		})
	}
}

// What the file says besides its settings: whose they are, how to undo them, and
// what is someone else's.
func TestDropInForPeople(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger}, Setting{idle, "0"})
	must(t, m.Confirm(t.Context(), id, true))
	want := "# Written by fullbore from the change sets in " + w.dir + ".\n" +
		"# To undo a change: fullbore revert ID. Lines of your own belong into a file of your own.\n" +
		"\n# " + id + ", begun 2026-11-20 12:00:01 UTC: test\n" + rmem + " = " + bigger + "\n" + idle + " = 0\n"
	if diff := cmp.Diff(want, w.dropIn(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const mine = "  vm.swappiness = 1"
	write(t, filepath.Join(w.root, sysctlFile), want+"\n"+mine+"\n")
	must(t, m.Confirm(t.Context(), id, true))
	want += "\n# Of no change set: someone wrote this here, and it stays.\n" + strings.TrimSpace(mine) + "\n"
	if diff := cmp.Diff(want, w.dropIn(t)); diff != "" {
		t.Errorf("with a line of someone's own (-want +got):\n%s", diff)
	}
}

// A line that a set wanted once is someone's own when it comes back after the set
// was reverted.
func TestLinesOfRevertedSetsAreForeign(t *testing.T) {
	w := newWorld(t.TempDir())
	m := w.manager(t)
	gone := begin(t, m, Setting{wmem, "4096 16384 67108864"})
	_, err := m.Revert(t.Context(), gone)
	must(t, err)
	id := begin(t, m, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), id, true))
	line := wmem + " = 4096 16384 67108864"
	write(t, filepath.Join(w.root, sysctlFile), w.dropIn(t)+line+"\n")
	_, err = m.Revert(t.Context(), id)
	must(t, err)
	if diff := cmp.Diff([]string{line}, lines(w.dropIn(t))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A file that is not made from these change sets is nobody's to take back, and one
// that was removed is not made again by a revert.
func TestRevertLeavesFilesAlone(t *testing.T) {
	for name, since := range map[string]func(path string) error{
		"of others": func(path string) error { return os.WriteFile(path, []byte("net.ipv4.tcp_sack = 1\n"), 0o644) },
		"removed":   os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t.TempDir())
			m := w.manager(t)
			kept := begin(t, m, Setting{rmem, bigger})
			must(t, m.Confirm(t.Context(), kept, true))
			id := begin(t, m, Setting{idle, "0"})
			must(t, since(filepath.Join(w.root, sysctlFile)))
			before := w.dropIn(t)
			set, err := m.Revert(t.Context(), id)
			must(t, err)
			if set.State != Reverted || w.dropIn(t) != before {
				t.Errorf("set is %s, the file says:\n%s", set.State, w.dropIn(t))
			}
		})
	}
}

// What cannot be removed is an error, and the journal still has it to do.
func TestDropInThatCannotBeRemoved(t *testing.T) {
	likeAnyone(t)
	w := newWorld(t.TempDir())
	m := w.manager(t)
	id := begin(t, m, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), id, true))
	dir := filepath.Dir(filepath.Join(w.root, sysctlFile))
	must(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if _, err := m.Revert(t.Context(), id); !errors.Is(err, os.ErrPermission) {
		t.Errorf("revert: %v", err)
	}
	if set, err := m.Find(t.Context(), id); err != nil || set.State != Applying {
		t.Errorf("%v, %+v", err, set)
	}
	must(t, os.Chmod(dir, 0o700))
	must(t, m.Expire(t.Context()))
	if set, err := m.Find(t.Context(), id); err != nil || set.State != Reverted || w.dropIn(t) != "" {
		t.Errorf("%v, %+v", err, set)
	}
	must(t, (&ledger{Manager: m}).replace(sysctlFile, nil)) // nothing to remove
}

// A confirm --persist that fails puts back the files that it wrote, and touches no
// other.
func TestPersistFailsAndPutsFilesBack(t *testing.T) {
	w := wired(t)
	w.tunables["link.txqueuelen@eth0"] = "1000"
	for _, path := range []string{"sys/class/net/eth0/device/driver/x", "usr/lib/udev/x"} {
		write(t, filepath.Join(w.root, path), "")
	}
	m := w.manager(t)
	files := func() (text [2]string) {
		for i, path := range []string{sysctlFile, udevFile} {
			b, _ := os.ReadFile(filepath.Join(w.root, path))
			text[i] = string(b)
		}
		return text
	}
	written := m.write
	const journal = ".json"
	for _, tc := range []struct {
		settings []Setting
		writes   []string
	}{
		{[]Setting{{mtu, "9000"}}, []string{udevFile, journal}},
		{[]Setting{{rmem, bigger}}, []string{sysctlFile, journal}},
		{[]Setting{{idle, "0"}, {"link.txqueuelen@eth0", "5000"}}, []string{sysctlFile, udevFile, journal}},
	} {
		id := begin(t, m, tc.settings...)
		before := files()
		for _, fails := range tc.writes {
			tries := 0
			m.write = func(path string, data []byte) error {
				if strings.HasSuffix(path, fails) {
					if tries++; fails != journal || tries == 2 { // the journal that says that it is confirmed
						return errFault
					}
				}
				return written(path, data)
			}
			err := m.Confirm(t.Context(), id, true)
			m.write = written
			if err == nil || strings.Count(err.Error(), errFault.Error()) != 1 {
				t.Errorf("%v, %s cannot be written: %v", tc.settings, fails, err)
			}
			if diff := cmp.Diff(before, files()); diff != "" {
				t.Errorf("%v, %s cannot be written (-before +after):\n%s", tc.settings, fails, diff)
			}
			if set := get(t, m, id); set.State != Live || set.Persist {
				t.Errorf("%v, %s cannot be written: %s, persist %v", tc.settings, fails, set.State, set.Persist)
			}
		}
		must(t, m.Confirm(t.Context(), id, true))
	}
}
