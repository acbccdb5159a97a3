package change

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// world is a host that is not there: tunables in a map, a clock that is moved
// by hand, and faults at chosen points. Every touch of a tunable or a file is
// one point.
type world struct {
	dir, root string
	tunables  map[string]string
	now       time.Time
	boot      string
	namespace string
	watched   []string // sets whose watchdog was started
	devices   map[string]Device
	unwatched bool // every watchdog has died, and none can be started

	point  int
	faults map[int]fault
}

type fault int

const (
	failBefore  fault = iota + 1 // an error, and nothing happened
	failAfter                    // an error, although it happened
	crashBefore                  // the process is gone
	crashAfter
)

// crash is what the process dies of.
type crash struct{ point int }

var errFault = errors.New("fault")

func newWorld(dir string) *world {
	return &world{
		dir: filepath.Join(dir, "changes"), root: dir,
		tunables: map[string]string{
			rmem: "4096 131072 6291456", wmem: "4096 16384 4194304", idle: "1", congestion: "cubic",
			"net.ipv4.tcp_mem": "1 2 3",
		},
		now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), boot: "boot-1", namespace: "net:cookie:1",
		faults: map[int]fault{},
	}
}

const (
	rmem       = "net.ipv4.tcp_rmem"
	wmem       = "net.ipv4.tcp_wmem"
	idle       = "net.ipv4.tcp_slow_start_after_idle"
	congestion = "net.ipv4.tcp_congestion_control"
)

// at runs do, and what the world has in store for this point.
func (w *world) at(do func() error) error {
	w.point++
	switch w.faults[w.point] {
	case failBefore:
		return errFault
	case failAfter:
		_ = do()
		return errFault
	case crashBefore:
		panic(crash{w.point})
	case crashAfter:
		_ = do()
		panic(crash{w.point})
	}
	return do()
}

func (w *world) Get(name string) (value string, err error) {
	err = w.at(func() error {
		var ok bool
		if value, ok = w.tunables[name]; !ok {
			return fmt.Errorf("read tunable %s: %w", name, os.ErrNotExist)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return value, nil
}

func (w *world) Set(name, value string) error {
	return w.at(func() error { w.tunables[name] = value; return nil })
}

// manager is a process that starts in this world.
func (w *world) manager(t testing.TB) *Manager {
	m, err := NewManager(w.dir, w)
	if err != nil {
		t.Fatal(err)
	}
	m.StartWatchdog = func(dir, id string) error {
		if w.unwatched {
			return errFault
		}
		w.watched = append(w.watched, id)
		if dir != w.dir {
			return fmt.Errorf("watchdog in %s, not %s", dir, w.dir)
		}
		return nil
	}
	m.Rewatch = m.StartWatchdog
	m.watched = func(string, string) bool { return !w.unwatched }
	m.device = func(name string) (Device, error) {
		d, ok := w.devices[name]
		if !ok {
			return d, os.ErrNotExist
		}
		return d, nil
	}
	m.now = func() time.Time { return w.now }
	m.bootID = func() (string, error) { return w.boot, nil }
	m.namespace = func() (string, error) { return w.namespace, nil }
	m.bootsHere = func() (bool, error) { return w.namespace == "net:cookie:1", nil }
	m.root = w.root
	m.patience = 100 * time.Millisecond
	m.write = func(path string, data []byte) error {
		return w.at(func() error { // whole or not at all, without waiting for a disk
			if err := os.WriteFile(path+".tmp", data, 0o644); err != nil {
				return err
			}
			return os.Rename(path+".tmp", path)
		})
	}
	return m
}

// values are the tunables as they are.
func (w *world) values() map[string]string { return maps.Clone(w.tunables) }

// dropIn is the text of the drop-in, "" if there is none.
func (w *world) dropIn(t testing.TB) string {
	text, err := os.ReadFile(filepath.Join(w.root, sysctlFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}
