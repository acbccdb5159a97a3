package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs the test once more as process 1 of namespaces of its own, and reports
// whether this is that process. There /etc, /run, /var and the directories of
// sysctl.d(5) are empty and private, t.TempDir is in memory, and of this
// machine's files none can be written.
func Run(t *testing.T) bool {
	t.Helper()
	if Entering() {
		if err := errors.Join(Enter(), os.Setenv("TMPDIR", "/run"), os.Setenv("GOTMPDIR", "/run"), os.Unsetenv(entering)); err != nil { // also of those that it starts
			t.Fatal(err)
		}
		return true
	}
	again := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "5m", fmt.Sprintf("-test.short=%v", testing.Short()))
	again.Env = append(os.Environ(), entering+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	var out bytes.Buffer
	again.Stdout, again.Stderr = &out, &out
	again.WaitDelay = time.Second
	// Pdeathsig comes when the thread ends that started the process, as those of tests do that
	// run beside this one and lock theirs.
	runtime.LockOSThread()
	err := again.Run()
	runtime.UnlockOSThread()
	if errors.Is(err, unix.EPERM) {
		t.Skip("namespaces need privileges: ", err)
	}
	switch {
	case err != nil:
		t.Errorf("in its sandbox: %v\n%s", err, &out)
	case !bytes.Contains(out.Bytes(), []byte("--- PASS: "+t.Name())):
		t.Errorf("in its sandbox it did not run:\n%s", &out)
	default:
		t.Logf("in its sandbox:\n%s", &out)
	}
	return false
}

// Enter makes the files that this process sees its own. It must be process 1 of
// new mount and PID namespaces.
func Enter() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return &os.PathError{Op: "make private", Path: "/", Err: err}
	}
	sealed := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &sealed); err != nil {
		return &os.PathError{Op: "seal", Path: "/", Err: err}
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return &os.PathError{Op: "mount", Path: "/proc", Err: err}
	}
	for _, dir := range []string{"/etc", "/run", "/var", "/usr/local/lib", "/usr/lib/sysctl.d"} {
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

// KillOthers ends all other processes of the sandbox, and waits for that: it is
// process 1, so they are its own in the end. Anywhere else it does nothing.
func KillOthers() {
	if os.Getpid() != 1 {
		return
	}
	_ = unix.Kill(-1, unix.SIGKILL) // all but process 1
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); errors.Is(err, unix.ECHILD) {
			return
		}
	}
}
