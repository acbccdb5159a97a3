package change

import (
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
