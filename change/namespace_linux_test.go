package change

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inOwnWorld runs the test once more as process 1 of namespaces of its own, and
// reports whether this is that process. There /etc, /run and the directories of
// sysctl.d(5) are empty and private, and t.TempDir is in memory: what a test does
// to them, this machine does not see.
func inOwnWorld(t *testing.T) bool {
	t.Helper()
	if os.Getenv("CHANGE_TEST_WORLD") != "" {
		must(t, enterWorld())
		must(t, errors.Join(os.Setenv("TMPDIR", "/run"), os.Unsetenv("CHANGE_TEST_WORLD"))) // also of those that it starts
		return true
	}
	again := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "5m", "-rapid.nofailfile", "-rapid.checks=200")
	again.Env = append(os.Environ(), "CHANGE_TEST_WORLD=1")
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	var out bytes.Buffer
	again.Stdout, again.Stderr = &out, &out
	again.WaitDelay = time.Second
	err := again.Run()
	if errors.Is(err, unix.EPERM) {
		t.Skip("namespaces need privileges: ", err)
	}
	switch {
	case err != nil:
		t.Errorf("in its own world: %v\n%s", err, &out)
	case !bytes.Contains(out.Bytes(), []byte("--- PASS: "+t.Name())):
		t.Errorf("in its own world it did not run:\n%s", &out)
	default:
		t.Logf("in its own world:\n%s", &out)
	}
	return false
}

// enterWorld makes the namespaces' files their own.
func enterWorld() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return &os.PathError{Op: "mount", Path: "/proc", Err: err}
	}
	for _, dir := range []string{"/etc", "/run", "/usr/local/lib", "/usr/lib/sysctl.d"} {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			continue // then there are no settings either
		}
		if err := unix.Mount("none", dir, "tmpfs", 0, "mode=755"); err != nil {
			return &os.PathError{Op: "mount", Path: dir, Err: err}
		}
	}
	for _, dir := range []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// reap takes leave of processes that were left to process 1.
func reap() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// empty empties a directory.
func empty(t testing.TB, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
