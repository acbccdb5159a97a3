package change

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/host"
)

func pid() string { return strconv.Itoa(os.Getpid()) }

// TestMain lets the test program be the watchdog that Begin starts, and a
// process that owns a change set and then dies.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "watchdog" { // watchdog --dir DIR ID [--owned]
		if says := os.Getenv("CHANGE_TEST_WATCHDOG_SAYS"); says != "" {
			fmt.Print(says)
			exit(nil)
		}
		manager, err := NewManager(os.Args[3], Kernel{})
		if err == nil && len(os.Args) > 5 {
			err = manager.Watch(context.Background(), os.Args[4], os.Stdin, os.Stdout)
		} else if err == nil {
			err = manager.Watch(context.Background(), os.Args[4], nil, os.Stdout)
		}
		exit(err)
	}
	if op := os.Getenv("CHANGE_TEST_OP"); op != "" {
		exit(operate(op, os.Getenv("CHANGE_TEST_DIR"), os.Getenv("CHANGE_TEST_ROUND")))
	}
	if log := os.Getenv("CHANGE_TEST_SYSTEMD"); log != "" {
		exit(becomeSystemd(log, os.Getenv("CHANGE_TEST_NAME")))
	}
	if dir := os.Getenv("CHANGE_TEST_OWNER"); dir != "" {
		exit(own(dir, os.Getenv("CHANGE_TEST_DETACHED") != ""))
	}
	// One of those that go at once waits for systemd's timer.
	_ = flag.Set("test.parallel", "3")
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// own makes a change, says its id, and waits to be killed; or, detached, is done.
func own(dir string, detached bool) error {
	manager, err := NewManager(dir, Kernel{})
	if err != nil {
		return err
	}
	within := time.Hour
	if detached {
		manager.StartWatchdog, within = StartDetachedWatchdog, 2*time.Second
	}
	id, err := manager.Begin(context.Background(), "integration", within)
	if err != nil {
		return err
	}
	if err := manager.Apply(context.Background(), id, []Setting{{rmem, biggest}, {idle, "0"}}); err != nil {
		return err
	}
	fmt.Println(id)
	if !detached {
		select {}
	}
	return nil
}

// inNamespace runs do in a network namespace of its own, or skips.
func inNamespace(t *testing.T, do func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its namespace
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		defer close(done)
		do()
	}()
	if err := <-done; errors.Is(err, unix.EPERM) {
		t.Skip("network namespaces need privileges: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

func kernelValue(t *testing.T, name string) string {
	value, err := host.Get(name)
	if err != nil {
		t.Error(err)
	}
	return value
}

func TestIntegrationRealTunables(t *testing.T) {
	inNamespace(t, func() {
		m, err := NewManager(t.TempDir(), Kernel{})
		if err != nil {
			t.Error(err)
			return
		}
		ctx := t.Context()
		before, idleBefore := kernelValue(t, rmem), kernelValue(t, idle)
		id, err := m.Begin(ctx, "integration", time.Minute)
		if err != nil {
			t.Error(err)
			return
		}
		for _, value := range []string{bigger, biggest, bigger} {
			if err := m.Apply(ctx, id, []Setting{{rmem, value}}); err != nil {
				t.Error(err)
			}
			if got := kernelValue(t, rmem); got != value {
				t.Errorf("%s is %q, want %q", rmem, got, value)
			}
		}
		// A name that the kernel does not know: what went before is put back.
		err = m.Apply(ctx, id, []Setting{{idle, "0"}, {congestion, "no-such-algorithm"}})
		if err == nil || !strings.Contains(err.Error(), "the kernel refuses") {
			t.Errorf("error is %v", err)
		}
		if got := kernelValue(t, idle); got != idleBefore {
			t.Errorf("%s is %q, want %q", idle, got, idleBefore)
		}
		set, err := m.Revert(ctx, id)
		if err != nil || set.State != Reverted {
			t.Errorf("revert: %v, %v", set, err)
		}
		if got := kernelValue(t, rmem); got != before {
			t.Errorf("%s is %q, want %q", rmem, got, before)
		}
		noProcess(t, m.dir)
	})
}

// A killed owner's watchdog reverts at once; one that is detached does at the
// deadline.
func TestIntegrationWatchdog(t *testing.T) {
	for _, tc := range []struct {
		name     string
		detached bool
		note     string
	}{
		{"owner is killed", false, "its process ended without confirming"},
		{"nobody confirms", true, "nobody confirmed within 2s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inNamespace(t, func() {
				dir := t.TempDir()
				before := kernelValue(t, rmem)
				id, kill := startOwner(t, dir, tc.detached)
				if got := kernelValue(t, rmem); got != biggest {
					t.Errorf("%s is %q, want %q", rmem, got, biggest)
				}
				kill()
				for range 300 {
					if kernelValue(t, rmem) == before {
						break
					}
					time.Sleep(100 * time.Millisecond)
				}
				noProcess(t, dir)
				set, err := readSet(dir, id)
				if err != nil || set.State != Reverted || set.Note != tc.note {
					t.Errorf("set %+v, error %v; want it reverted: %s", set, err, tc.note)
				}
				if got := kernelValue(t, rmem); got != before {
					t.Errorf("%s is %q, want %q", rmem, got, before)
				}
			})
		})
	}
}

// A watchdog that was started watches its set until that is no longer open. One that
// does not say that it watches is none.
func TestStartWatchdog(t *testing.T) {
	dir := t.TempDir()
	m, err := NewManager(dir, Kernel{})
	must(t, err)
	for name, start := range map[string]func(dir, id string) error{"owned": StartWatchdog, "detached": StartDetachedWatchdog} {
		inNamespace(t, func() {
			m.StartWatchdog = start
			id, err := m.Begin(t.Context(), "test", time.Hour)
			if err != nil || !watched(dir, id) {
				t.Errorf("%s: %v, watched %v", name, err, watched(dir, id))
			}
			if set, err := m.Revert(t.Context(), id); err != nil || set.State != Reverted || !unwatched(dir, id) {
				t.Errorf("%s: %+v, %v; watched %v", name, set, err, watched(dir, id))
			}
			noProcess(t, dir)
			if err := start(dir, "20261120-120000-abcdef"); err == nil || !strings.Contains(err.Error(), "start watchdog: EOF") {
				t.Errorf("%s, of no set: %v", name, err)
			}
			t.Setenv("CHANGE_TEST_WATCHDOG_SAYS", "watchful\n")
			if err := start(dir, id); err == nil || !strings.Contains(err.Error(), `it answers "watchful\n"`) {
				t.Errorf("%s, which says something else: %v", name, err)
			}
			os.Unsetenv("CHANGE_TEST_WATCHDOG_SAYS")
		})
	}
}

// A file system that has become read-only does not keep a set beyond its
// deadline.
func TestIntegrationDeadlineOnAReadOnlyDisk(t *testing.T) {
	disk := t.TempDir()
	inNamespace(t, func() {
		err := errors.Join(unix.Unshare(unix.CLONE_NEWNS),
			unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""),
			unix.Mount("none", disk, "tmpfs", 0, ""))
		if err != nil {
			t.Error(err)
			return
		}
		w := newWorld(disk)
		m := w.manager(t)
		m.write = writeDurably
		begin(t, m, Setting{rmem, bigger})
		if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Error(err)
			return
		}
		w.now = w.now.Add(minute)
		wantErr(t, m.Expire(t.Context()), unix.EROFS, "its values are restored")
		wantValue(t, w, rmem, "4096 131072 6291456")
	})
}

// startOwner starts a process in this thread's namespace that makes a change.
func startOwner(t *testing.T, dir string, detached bool) (id string, kill func()) {
	owner := exec.Command("/proc/self/exe")
	owner.Env = append(os.Environ(), "CHANGE_TEST_OWNER="+dir)
	if detached {
		owner.Env = append(owner.Env, "CHANGE_TEST_DETACHED=1")
	}
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	if err == nil {
		err = owner.Start()
	}
	if err != nil {
		t.Error(err)
		return "", func() {}
	}
	if _, err := fmt.Fscanln(out, &id); err != nil {
		t.Error("owner made no change: ", err)
	}
	return id, func() {
		_ = owner.Process.Signal(syscall.SIGKILL)
		_ = owner.Wait()
	}
}

// noProcess waits for the last watchdog of the directory to be gone.
func noProcess(t *testing.T, dir string) {
	for range 300 {
		commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		found := false
		for _, path := range commands {
			text, _ := os.ReadFile(path)
			found = found || strings.Contains(string(text), "--dir\x00"+dir+"\x00")
		}
		if !found {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("a watchdog for %s is still there", dir)
}
