package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// placeIn makes a place for a lab that ends with the test.
func placeIn(t *testing.T, root, scenario string) *place {
	t.Helper()
	p, err := newPlaceIn(root, scenario, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.remove)
	return p
}

// Root's labs are in /run, users' in their run-time directory or, as there may be
// none, in a directory of their own in /tmp.
func TestRoots(t *testing.T) {
	for _, test := range []struct {
		uid  int
		dir  string
		want []string
	}{
		{0, "/run/user/0", []string{"/run/fullbore-lab"}},
		{7, "/run/user/7", []string{"/run/user/7/fullbore-lab", "/tmp/fullbore-lab-7"}},
		{7, "", []string{"/tmp/fullbore-lab-7"}},
		{7, "not/absolute", []string{"/tmp/fullbore-lab-7"}},
	} {
		if got := rootsOf(test.uid, test.dir); !slices.Equal(got, test.want) {
			t.Errorf("user %d, %q: %q, want %q", test.uid, test.dir, got, test.want)
		}
	}
}

// The labs of one process are apart, listed from the oldest on, with what they are
// of, for as long as they live; what a dead one left goes when the next begins.
func TestPlaces(t *testing.T) {
	root := filepath.Join(t.TempDir(), "labs")
	first := placeIn(t, root, "one")
	started := time.Now().Add(-time.Hour)
	second := placeIn(t, root, "two")
	if err := second.describe(description{PID: 5, Scenario: "two", Started: started, Groups: []string{"/no/such/group"}}); err != nil {
		t.Fatal(err)
	}
	pid := fmt.Sprint(os.Getpid())
	if filepath.Base(first.dir) != pid || filepath.Base(second.dir) != pid+".2" {
		t.Errorf("places %s and %s, want %s and %s.2", first.dir, second.dir, pid, pid)
	}
	labs := runningLabs([]string{filepath.Join(root, "no-such-directory"), root})
	if len(labs) != 2 || labs[0].id != pid+".2" || labs[0].Scenario != "two" || labs[1].id != pid || labs[1].Scenario != "one" || labs[1].PID != os.Getpid() {
		t.Errorf("running: %+v, want two and then one", labs)
	}

	group := filepath.Join(t.TempDir(), "group")
	if err := os.Mkdir(group, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := second.describe(description{Groups: []string{group}}); err != nil {
		t.Fatal(err)
	}
	_ = second.lock.Close() // as when its process ends
	if labs := runningLabs([]string{root}); len(labs) != 1 || labs[0].id != pid {
		t.Errorf("running: %+v, want the first only", labs)
	}
	nameless := filepath.Join(root, "12.34") // it died before it described itself
	if err := os.Mkdir(nameless, 0o700); err != nil {
		t.Fatal(err)
	}
	third := placeIn(t, root, "three")
	if third.dir != second.dir {
		t.Errorf("the third is in %s, want the second's place", third.dir)
	}
	for _, dir := range []string{group, nameless} {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s remains: %v", dir, err)
		}
	}
	third.remove()
	if _, err := os.Stat(third.dir); !os.IsNotExist(err) || alive(first.dir) == false {
		t.Errorf("after its end %s: %v; the first lives: %v", third.dir, err, alive(first.dir))
	}
}

// A lab without a description, which has only just begun, is not listed.
func TestUndescribed(t *testing.T) {
	root := filepath.Join(t.TempDir(), "labs")
	p := placeIn(t, root, "one")
	if err := os.Remove(filepath.Join(p.dir, "lab.json")); err != nil {
		t.Fatal(err)
	}
	if labs := runningLabs([]string{root}); len(labs) != 0 {
		t.Errorf("running: %+v", labs)
	}
}

// There may be 99 labs of one process, and no more.
func TestMostPlaces(t *testing.T) {
	root := filepath.Join(t.TempDir(), "labs")
	for n := range 99 {
		if p := placeIn(t, root, "one"); n > 0 && filepath.Base(p.dir) != fmt.Sprintf("%d.%d", os.Getpid(), n+1) {
			t.Fatalf("place %d is %s", n+1, p.dir)
		}
	}
	if p, err := newPlaceIn(root, "one", []string{"a", "b"}); !os.IsExist(err) {
		t.Errorf("%+v, %v", p, err)
	}
}

// Two labs that begin at once do so one after the other: neither takes the other's
// place for that of a dead one.
func TestPlacesInTurn(t *testing.T) {
	root := filepath.Join(t.TempDir(), "labs")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	guard, err := lockRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	made := make(chan error, 1)
	go func() {
		p, err := newPlaceIn(root, "one", []string{"a", "b"})
		if err == nil {
			p.remove()
		}
		made <- err
	}()
	select {
	case err := <-made:
		t.Errorf("it did not wait: %v", err)
		return
	case <-time.After(20 * time.Millisecond):
	}
	_ = guard.Close()
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// A directory that others may use is not used: they could put their own hosts there.
func TestPlaceOfOthers(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(root string) error
		want string
	}{
		{"others may read it", func(root string) error { return os.Mkdir(root, 0o740) }, "is not a directory of this user alone: remove it"},
		{"others may enter it", func(root string) error { return os.Mkdir(root, 0o701) }, "is not a directory of this user alone: remove it"},
		{"it is a file", func(root string) error { return os.WriteFile(root, nil, 0o600) }, "is not a directory of this user alone: remove it"},
		{"it is a link", func(root string) error { return os.Symlink(filepath.Dir(root), root) }, "is not a directory of this user alone: remove it"},
		{"it is another's", func(root string) error { return makeOthers(t, root) }, "is not a directory of this user alone: remove it"},
		{"what it is in does not exist", func(root string) error { return os.Remove(filepath.Dir(root)) }, "no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "in", "labs")
			if err := os.Mkdir(filepath.Dir(root), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := test.make(root); err != nil {
				t.Fatal(err)
			}
			if p, err := newPlaceIn(root, "one", []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, %v, want %q", p, err, test.want)
			}
		})
	}
}

// makeOthers gives a directory to nobody, where root runs the test.
func makeOthers(t *testing.T, root string) error {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		return err
	}
	return os.Chown(root, 65534, 65534)
}

// The path of a host's socket has 107 bytes at most, with the largest number that a
// process can have.
func TestLongestPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	longest := strings.Repeat("r", maxSocketPath-len("/4194304.99/a"))
	placeIn(t, longest, "one")
	if _, err := newPlaceIn(longest+"r", "one", []string{"a", "b"}); err == nil || !strings.HasSuffix(err.Error(), "is too long for the path of a socket") {
		t.Errorf("one byte more: %v", err)
	}
}

// A command finds the lab by its number, by its directory, or as the only one; where
// that is not one lab, the error says what to do.
func TestAttach(t *testing.T) {
	root := filepath.Join(t.TempDir(), "labs")
	p := placeIn(t, root, "one")
	id := filepath.Base(p.dir)
	for _, id := range []string{"", id} {
		h, err := attachWithin([]string{root}, id, "b")
		if err != nil || h.Name() != "b" || h.socket != filepath.Join(p.dir, "b") || h.Address() != addressB {
			t.Errorf("lab %q: %+v, %v", id, h, err)
		}
	}
	if h, err := Attach(p.dir, "a"); err != nil || h.Name() != "a" || h.socket != filepath.Join(p.dir, "a") {
		t.Errorf("by its directory: %+v, %v", h, err)
	}
	second := placeIn(t, root, "two")
	if h, err := attachWithin([]string{root}, id+".2", "a"); err != nil || h.socket != filepath.Join(second.dir, "a") {
		t.Errorf("the second: %+v, %v", h, err)
	}
	for _, test := range []struct{ id, host, want string }{
		{"", "a", fmt.Sprintf("several labs are running: choose one with --lab: %s (one), %s.2 (two)", id, id)},
		{"77", "a", "no lab 77 is running"},
		{id, "c", `unknown host "c": the lab has a, b`},
	} {
		if h, err := attachWithin([]string{root}, test.id, test.host); err == nil || err.Error() != test.want {
			t.Errorf("host %s of lab %q: %+v, %v, want %q", test.host, test.id, h, err, test.want)
		}
	}
	if h, err := attachWithin(nil, "", "a"); err == nil || !strings.HasPrefix(err.Error(), "no lab is running: start one") {
		t.Errorf("without labs: %+v, %v", h, err)
	}
}
