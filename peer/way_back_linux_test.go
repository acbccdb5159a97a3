package peer

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/change"
)

// settings are tunables that are not of this machine.
type settings struct {
	mu     sync.Mutex
	values map[string]string
	stuck  string // this one cannot be set
}

func (s *settings) Get(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[name], nil
}

func (s *settings) Set(name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == s.stuck {
		return errors.New("it is stuck")
	}
	s.values[name] = value
	return nil
}

func (s *settings) stick(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = name
}

func (s *settings) now() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values)
}

const (
	rmem = "net.core.rmem_max"
	wmem = "net.core.wmem_max"
	idle = "net.ipv4.tcp_slow_start_after_idle"
)

// journalling is a far end that keeps real journals, of tunables that are not of
// this machine.
func journalling(t *testing.T) (far *farEnd, manager *change.Manager, host *settings, dir string) {
	t.Helper()
	host = &settings{values: map[string]string{rmem: "212992", wmem: "212992", idle: "1"}}
	dir = filepath.Join(t.TempDir(), "changes")
	manager, err := change.NewManager(dir, host)
	if err != nil {
		t.Fatal(err)
	}
	manager.StartWatchdog = func(_, _ string) error { return nil } // this process is watched by the test
	manager.Rewatch = manager.StartWatchdog
	return startFarEnd(t, Config{Changes: manager}, "127.0.0.1:0"), manager, host, dir
}

// begun is a change set that is open and has set something.
func begun(t *testing.T, h change.Host, within time.Duration, name, value string) (id string) {
	t.Helper()
	id, err := h.Begin(t.Context(), "test", within)
	if err == nil {
		err = h.Apply(t.Context(), id, []change.Setting{{Tunable: name, Value: value}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// What a client began it can revert, whatever is wrong with other sets of that
// host; and so can the far end when it stops.
func TestOthersAreNotInTheWayBack(t *testing.T) {
	spoils := map[string]func(path string) error{
		"empty":        func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"garbage":      func(path string) error { return os.WriteFile(path, []byte("\x00}{"), 0o644) },
		"a directory":  func(path string) error { return os.Mkdir(path, 0o755) },
		"a named pipe": func(path string) error { return unix.Mkfifo(path, 0o644) },
		"a dead link":  func(path string) error { return os.Symlink(path, path) },
	}
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			far, manager, host, dir := journalling(t)
			initial := host.now()
			first, second := far.dial(t, far.TokenString()).Changes(), far.dial(t, far.TokenString()).Changes()
			mine := begun(t, first, time.Minute, rmem, "4194304")
			others := begun(t, second, time.Minute, wmem, "4194304")
			onThatHost := begun(t, manager, time.Minute, idle, "0")
			bad := "20200101-000000-aaaaaa"
			if err := spoil(filepath.Join(dir, bad+".json")); err != nil {
				t.Fatal(err)
			}

			sets, err := first.List(t.Context())
			if err != nil || len(sets) != 4 || sets[3].ID != bad || sets[3].State != change.Unreadable || !strings.Contains(sets[3].Trouble, dir) {
				t.Errorf("list: %v, %+v", err, sets)
			}
			if _, err := first.Revert(t.Context(), bad); err == nil || !strings.Contains(err.Error(), bad) {
				t.Errorf("revert of what cannot be read: %v", err)
			}
			if err := errors.Join(first.Renew(t.Context(), mine), first.PutBack(t.Context(), mine, rmem)); err != nil {
				t.Error(err)
			}
			set, err := first.Revert(t.Context(), mine)
			if err != nil || set.State != change.Reverted || host.now()[rmem] != initial[rmem] {
				t.Errorf("revert: %v, %+v, %v", err, set, host.now())
			}
			// The other client is gone; the set of that host's own is not the far end's.
			if err := far.stop(); err != nil {
				t.Error(err)
			}
			want := maps.Clone(initial)
			want[idle] = "0"
			if diff := cmp.Diff(want, host.now()); diff != "" {
				t.Errorf("after the far end has stopped:\n%s", diff)
			}
			for id, state := range map[string]change.State{mine: change.Reverted, others: change.Reverted, onThatHost: change.Live} {
				if set, err := manager.Find(t.Context(), id); err != nil || set.State != state {
					t.Errorf("%s: %v, %+v, want %s", id, err, set, state)
				}
			}
		})
	}
}

// A set of that host is overdue and cannot be reverted; a client's own can.
func TestOverdueSetIsNotInTheWayBack(t *testing.T) {
	far, manager, host, _ := journalling(t)
	client := far.dial(t, far.TokenString()).Changes()
	due := begun(t, manager, time.Nanosecond+time.Second, wmem, "4194304")
	host.stick(wmem)
	mine := begun(t, client, time.Minute, rmem, "4194304")
	eventually(t, "it is overdue", func() bool {
		set, err := manager.Find(t.Context(), due)
		return err == nil && time.Now().After(set.Deadline)
	})
	sets, err := client.List(t.Context())
	if err != nil || len(sets) != 2 {
		t.Fatalf("list: %v, %+v", err, sets)
	}
	for _, set := range sets {
		if (set.ID == due) != strings.Contains(set.Trouble, "it is stuck") {
			t.Errorf("%s: %q", set.ID, set.Trouble)
		}
	}
	if set, err := client.Revert(t.Context(), mine); err != nil || set.State != change.Reverted || host.now()[rmem] != "212992" {
		t.Errorf("revert: %v, %+v, %v", err, set, host.now())
	}
}

// Of several sets that a far end is to put back when it stops, one cannot be: the
// others are, and the error names it.
func TestStoppingRevertsAllThatCanBe(t *testing.T) {
	for name, spoil := range map[string]func(host *settings, journal string) error{
		"it is stuck":            func(host *settings, _ string) error { host.stick(wmem); return nil },
		"its journal is garbage": func(_ *settings, journal string) error { return os.WriteFile(journal, []byte("}"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			far, _, host, dir := journalling(t)
			client := far.dial(t, far.TokenString()).Changes()
			ids := map[string]string{}
			for name, value := range map[string]string{rmem: "4194304", wmem: "4194304", idle: "0"} {
				ids[name] = begun(t, client, time.Minute, name, value)
			}
			if err := spoil(host, filepath.Join(dir, ids[wmem]+".json")); err != nil {
				t.Fatal(err)
			}
			if err := far.stop(); err == nil || !strings.Contains(err.Error(), ids[wmem]) {
				t.Errorf("stop: %v", err)
			}
			want := map[string]string{rmem: "212992", wmem: "4194304", idle: "1"}
			if diff := cmp.Diff(want, host.now()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What someone on that host has confirmed stays when the far end stops.
func TestConfirmedOnThatHostStays(t *testing.T) {
	far, manager, host, _ := journalling(t)
	id := begun(t, far.dial(t, far.TokenString()).Changes(), time.Minute, rmem, "4194304")
	if err := manager.Confirm(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if err := far.stop(); err != nil || host.now()[rmem] != "4194304" {
		t.Errorf("%v, %v", err, host.now())
	}
}
