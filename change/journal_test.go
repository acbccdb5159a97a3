package change

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func journalled() *Set {
	return &Set{
		ID: "20261120-120000-a1b2c3", State: Applying, Reason: "tune",
		Created:  time.Date(2026, 11, 20, 12, 0, 0, 5, time.UTC),
		Deadline: time.Date(2026, 11, 20, 12, 1, 0, 5, time.UTC), Within: time.Minute,
		BootID: "boot", Namespace: "net:cookie:1",
		Values: []Value{
			{Tunable: "net.ipv4.tcp_rmem", Old: "1 2 3", New: "1 2 4", State: Applying, Prior: "1 2 3"},
			{Tunable: "net.ipv4.tcp_wmem", Old: "1 2 3", New: "1 2 4", State: Live},
			{Tunable: "link.mtu@eth0", Old: "1500", New: "9000", State: Live, Device: &Device{Index: 2, MAC: "02:00:00:00:00:01"}},
			{Tunable: "link.mtu@tun0", Old: "1500", New: "9000", State: Live, Device: &Device{Index: 3}}, // it has no hardware address
		},
	}
}

func TestJournalKeepsASet(t *testing.T) {
	text, err := encode(journalled())
	must(t, err)
	set, err := decode(text)
	must(t, err)
	if diff := cmp.Diff(journalled(), set); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	path := filepath.Join(t.TempDir(), "journal")
	must(t, writeDurably(path, []byte("old")))
	must(t, writeDurably(path, text))
}

func TestJournalRefuses(t *testing.T) {
	const within = `"confirm_within_ns": 60000000000`
	good, err := encode(journalled())
	must(t, err)
	for _, tc := range []struct{ name, from, to, says string }{
		{"an unknown state", `"state": "applying"`, `"state": "maybe"`, "unknown"},
		{"a path for an id", `"20261120-120000-a1b2c3"`, `"../x"`, "not the id"},
		{"an unknown key", `"reason"`, `"raeson"`, "unknown field"},
		{"another version", schema, "fullbore/change/2", "schema"},
		{"an empty value", `"old": "1 2 3"`, `"old": ""`, "missing"},
		{"something after", "\n}\n", "\n}\n{}", "follows"},
		{"an odd deadline", within, `"confirm_within_ns": -1`, "without a call"},
		{"a week and more", within, fmt.Sprintf(`"confirm_within_ns": %d`, maxWithin+1), "without a call"},
		{"a tunable without a name", `"tunable": "net.ipv4.tcp_rmem"`, `"tunable": ""`, "has no name"},
		{"a tunable that is there twice", `"tunable": "net.ipv4.tcp_wmem"`, `"tunable": "net.ipv4.tcp_rmem"`, "there twice"},
		{"no new value", `"new": "1 2 4"`, `"new": ""`, "missing"},
		{"what only List has", `"prior": "1 2 3"`, `"now": "1 2 3"`, "one too many"},
		{"what only List says", `"prior": "1 2 3"`, `"drift": "1 2 3"`, "one too many"},
		{"a value of no known state", `"state": "live"`, `"state": "planned"`, "unknown"},
		{"what udev would carry out", "02:00:00:00:00:01", `\", RUN+=\"x`, "not a hardware address"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(string(good), tc.from, tc.to, 1)
			if text == string(good) {
				t.Fatalf("nothing replaced in:\n%s", good)
			}
			if _, err := decode([]byte(text)); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error is %v, want one that says %q", err, tc.says)
			}
		})
	}
}

// All that a set may be is read: also one that is due at once, or in a week.
func TestJournalTakesTheLimits(t *testing.T) {
	for _, within := range []time.Duration{0, maxWithin} {
		set := journalled()
		set.Within = within
		text, err := encode(set)
		must(t, err)
		if _, err := decode(text); err != nil {
			t.Errorf("within %v: %v", within, err)
		}
	}
	text, err := encode(journalled())
	must(t, err)
	path := filepath.Join(t.TempDir(), journalled().ID+".json")
	must(t, os.WriteFile(path, append(text, bytes.Repeat([]byte(" "), maxJournal-len(text))...), 0o644))
	if _, err := readSet(filepath.Dir(path), journalled().ID); err != nil {
		t.Error("the longest journal: ", err)
	}
}

// A file is replaced whole, or the error says why not, and nothing is left beside it.
func TestWriteDurably(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "directory")
	must(t, os.MkdirAll(filepath.Join(blocked, "x"), 0o755))
	for path, want := range map[string]error{
		filepath.Join(dir, "file"):          nil,
		blocked:                             fs.ErrExist,
		filepath.Join(dir, "none", "file"):  fs.ErrNotExist,
		filepath.Join(dir, "drafted", "it"): fs.ErrExist,
	} {
		if path == filepath.Join(dir, "drafted", "it") {
			must(t, os.MkdirAll(beside(path), 0o755))
			want = syscall.EISDIR
		}
		if err := writeDurably(path, []byte("text")); !errors.Is(err, want) {
			t.Errorf("%s: error is %v, want %v", path, err, want)
		}
		if text, err := os.ReadFile(path); (err == nil && string(text) == "text") != (want == nil) {
			t.Errorf("%s: %q (%v)", path, text, err)
		}
	}
	if _, err := os.Lstat(beside(blocked)); !os.IsNotExist(err) {
		t.Errorf("what was written beside it is left (%v)", err)
	}
	if err := syncDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// Directories are made with those above them; where a file stands, the error says so.
func TestMakeDir(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		must(t, makeDir(filepath.Join(dir, "a", "b", "c")))
	}
	if info, err := os.Stat(filepath.Join(dir, "a", "b", "c")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for _, path := range []string{"file", "file/below"} {
		if err := makeDir(filepath.Join(dir, path)); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: error is %v", path, err)
		}
	}
}

// What can be read can be written, and reads the same.
func FuzzDecode(f *testing.F) {
	good, err := encode(journalled())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"schema":"fullbore/change/1","id":"20261120-120000-a1b2c3","state":"live"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := decode(text)
		if err != nil {
			return
		}
		once, err := encode(set)
		if err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		again, err := decode(once)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, once)
		}
		twice, err := encode(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("differs (%v):\n%s\n%s", err, once, twice)
		}
	})
}

// Who only looks at the journals changes nothing: a set that is overdue stays for those
// who put back, a damaged one is told, and where there are none no folder is made.
func TestJournalsAreOnlyRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "changes")
	m, err := NewManager(dir, nil)
	must(t, err)
	if sets, err := m.Journals(); len(sets) != 0 || err != nil {
		t.Errorf("before there are any: %v, %v", sets, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking made the folder: %v", err)
	}
	must(t, os.MkdirAll(dir, 0o755))
	overdue := journalled()
	overdue.State = Live
	text, err := encode(overdue)
	must(t, err)
	must(t, os.WriteFile(journalPath(dir, overdue.ID), text, 0o600))
	must(t, os.WriteFile(journalPath(dir, "20261121-120000-a1b2c3"), []byte("{"), 0o600))
	sets, err := m.Journals()
	must(t, err)
	if len(sets) != 2 || sets[1].State != Unreadable && sets[0].State != Unreadable {
		t.Fatalf("%+v", sets)
	}
	for _, set := range sets {
		if set.State == Unreadable && (set.Trouble == "" || set.Created.Day() != 21) {
			t.Errorf("the damaged one is %+v", set)
		}
		if diff := cmp.Diff(overdue, &set); set.State != Unreadable && diff != "" {
			t.Errorf("(-kept +listed):\n%s", diff)
		}
	}
	if left, err := os.ReadFile(journalPath(dir, overdue.ID)); err != nil || !bytes.Equal(left, text) {
		t.Errorf("the journal is another one: %v", err)
	}
}
