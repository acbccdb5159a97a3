package change

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/internal/sandbox"
)

const systemd = "/usr/lib/systemd/systemd"

// TestTimerOfSystemd runs under a systemd of its own. The watchdog of a set is
// killed, and no command of fullbore comes: systemd's timer reverts it.
func TestTimerOfSystemd(t *testing.T) {
	if os.Getenv("CHANGE_TEST_SERVICE") == "" {
		t.Parallel() // it mostly waits
		underSystemd(t)
		return
	}
	dir := filepath.Join(t.TempDir(), "changes")
	m, err := NewManager(dir, Kernel{})
	must(t, err)
	m.StartWatchdog = StartDetachedWatchdog
	before := kernelValue(t, rmem)
	id, err := m.Begin(t.Context(), "timer", 5*time.Second)
	must(t, err)
	must(t, m.Apply(t.Context(), id, []Setting{{rmem, biggest}}))
	if got := kernelValue(t, rmem); got != biggest {
		t.Errorf("%s is %q, want %q", rmem, got, biggest)
	}
	killWatchdog(t, dir)
	if !unwatched(dir, id) {
		t.Fatal("the watchdog is still there")
	}
	for range 600 {
		if kernelValue(t, rmem) == before {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	noProcess(t, dir)
	set, err := readSet(dir, id)
	if err != nil || set.State != Reverted || kernelValue(t, rmem) != before {
		t.Errorf("set %+v, error %v; %s is %q", set, err, rmem, kernelValue(t, rmem))
	}
}

// unwatched waits until nobody watches the set any more: a process that was
// killed lets its locks go a little after it has lost its name.
func unwatched(dir, id string) bool {
	for range 500 {
		if !watched(dir, id) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// killWatchdog kills the watchdog of the directory's set, and waits for its end.
func killWatchdog(t *testing.T, dir string) {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		text, _ := os.ReadFile(path)
		if !strings.Contains(string(text), "--dir\x00"+dir+"\x00") {
			continue
		}
		var pid int
		_, err := fmt.Sscanf(path, "/proc/%d/cmdline", &pid)
		must(t, errors.Join(err, unix.Kill(pid, unix.SIGKILL)))
	}
	noProcess(t, dir)
}

// underSystemd runs the test once more, as a service of a systemd that is
// process 1 of namespaces of its own.
func underSystemd(t *testing.T) {
	if _, err := os.Stat(systemd); err != nil {
		t.Skip("this machine has no systemd: ", err)
	}
	log := filepath.Join(t.TempDir(), "log")
	must(t, os.WriteFile(log, nil, 0o644))
	group := ownGroup(t)
	defer group.Close()
	first := exec.Command("/proc/self/exe")
	first.Env = append(os.Environ(), "CHANGE_TEST_SYSTEMD="+log, "CHANGE_TEST_NAME="+t.Name())
	first.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		Pdeathsig:  syscall.SIGKILL, Setsid: true,
		UseCgroupFD: true, CgroupFD: int(group.Fd()),
	}
	var console bytes.Buffer
	first.Stdout, first.Stderr = &console, &console
	first.WaitDelay = time.Second
	// Pdeathsig comes when the thread ends that started the process, as those of other tests do.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := first.Start()
	if errors.Is(err, unix.EPERM) {
		t.Skip("namespaces need privileges: ", err)
	}
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	var said string
	for range 900 {
		text, _ := os.ReadFile(log)
		said = string(text)
		if strings.Contains(said, "--- ") || len(ended) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	_ = first.Process.Kill() // and with it all of its namespace
	err = <-ended
	if !strings.Contains(said, "--- PASS: "+t.Name()) {
		t.Errorf("under systemd (%v):\n%s\n%s", err, said, &console)
	}
}

// ownGroup makes a control group for a systemd, which makes more of them below
// it; they all go with the test.
func ownGroup(t *testing.T) *os.File {
	// A mount that is nowhere: where this machine has its own does not matter.
	fs, err := unix.Fsopen("cgroup2", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.EPERM) {
		t.Skip("control groups need privileges: ", err)
	}
	must(t, err)
	defer unix.Close(fs)
	must(t, unix.FsconfigCreate(fs))
	all, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(all) })
	path := fmt.Sprintf("/proc/self/fd/%d/fullbore-test-%d", all, os.Getpid())
	must(t, os.Mkdir(path, 0o755))
	t.Cleanup(func() {
		for range 100 { // until the last of its processes is gone
			var below []string
			_ = filepath.WalkDir(path, func(path string, entry os.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					below = append(below, path)
				}
				return nil
			})
			for _, dir := range slices.Backward(below) {
				err = os.Remove(dir)
			}
			if err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Error("left behind: ", err)
	})
	group, err := os.Open(path)
	must(t, err)
	return group
}

// becomeSystemd is what process 1 does at first. The service's output is in log.
func becomeSystemd(log, test string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := sandbox.Enter(); err != nil {
		return err
	}
	if err := unix.Mount(log, log, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, log, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	_ = unix.Unmount("/sys/fs/cgroup", unix.MNT_DETACH) // the machine's, which may be of the old kind
	if err := unix.Mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mount control groups: %w", err)
	}
	if err := os.MkdirAll("/run/systemd/system", 0o755); err != nil {
		return err
	}
	var environment strings.Builder // of the tests is that of the service, too
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CHANGE_TEST_") {
			fmt.Fprintf(&environment, "Environment=%s\n", strings.ReplaceAll(strconv.Quote(v), "%", "%%"))
		}
	}
	unit := fmt.Sprintf(`[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
%sEnvironment=CHANGE_TEST_SERVICE=systemd TMPDIR=/run
ExecStart=%s -test.run ^%s$$ -test.v
StandardOutput=append:%s
StandardError=inherit
`, &environment, self, test, log)
	if err := os.WriteFile("/run/systemd/system/fullbore-test.service", []byte(unit), 0o644); err != nil {
		return err
	}
	return unix.Exec(systemd, []string{systemd, "--system", "--unit=fullbore-test.service", "--log-target=console"},
		[]string{"container=fullbore", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"})
}
