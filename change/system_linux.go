package change

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/printable"
)

// lock takes the directory's lock, which every process that changes or reverts
// something holds meanwhile. It waits a little for another holder, then names
// it in its error.
func lock(ctx context.Context, dir string, patience time.Duration) (unlock func(), err error) {
	path := lockPath(dir)
	// Whoever can open it can hold it, and block every revert with it: only root may.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, unix.EROFS) { // a set that is late is reverted all the same
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock change sets: %w", err)
	}
	if info, err := file.Stat(); err == nil && info.Mode().Perm() != 0o600 {
		_ = file.Chmod(0o600) // older versions let everyone read it
	}
	enough := time.After(patience)
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-enough:
			err = fmt.Errorf("%w: %s is changing tunables at the moment; try again when it is done", ErrRefused, holder(file))
		}
		file.Close()
		return nil, err
	}
	// Who holds it is for people only; the lock itself is the kernel's.
	if file.Truncate(0) == nil {
		fmt.Fprintf(file, "process %d (%s)\n", os.Getpid(), filepath.Base(os.Args[0]))
	}
	return func() { file.Close() }, nil
}

// holder is what the lock's holder wrote into it.
func holder(file *os.File) string {
	text, _ := io.ReadAll(io.NewSectionReader(file, 0, 100))
	name := printable.Line(strings.TrimSpace(string(text)))
	if name == "" {
		return "another process"
	}
	return name
}

// syncDir makes a change of a directory's entries durable.
func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// StartWatchdog starts a process that reverts the change set at its deadline,
// and immediately when this process ends without confirming, which it learns from a
// pipe that only this process holds. The watchdog is in a session of its own, so that neither
// a closed terminal nor Ctrl-C reaches it, and in the network namespace of the
// calling thread.
func StartWatchdog(dir, id string) error { return startWatchdog(dir, id, true) }

// StartDetachedWatchdog starts a watchdog that only looks at the deadline: the
// change set is meant to outlive this process, to be confirmed by another. Where
// there is systemd, it has a timer for the case that the watchdog dies.
func StartDetachedWatchdog(dir, id string) error {
	if err := startWatchdog(dir, id, false); err != nil {
		return err
	}
	startTimer(dir, id)
	return nil
}

func startWatchdog(dir, id string, owned bool) error {
	// The running program itself, even when its file was replaced meanwhile.
	command := exec.Command("/proc/self/exe", "watchdog", "--dir", dir, id)
	command.Args[0] = "fullbore"
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	said, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start watchdog: %w", err)
	}
	if owned {
		command.Args = append(command.Args, "--owned")
		if _, err = command.StdinPipe(); err != nil { // open as long as this process lives
			return fmt.Errorf("start watchdog: %w", err)
		}
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start watchdog: %w", err)
	}
	answer := make(chan error, 1)
	go func() {
		text := make([]byte, len(watching))
		_, err := io.ReadFull(said, text)
		if err == nil && string(text) != watching {
			err = fmt.Errorf("it answers %q", text)
		}
		answer <- err
		// Waiting keeps the pipe's end open, and leaves no zombie.
		_ = command.Wait()
	}()
	select {
	case err = <-answer:
	case <-time.After(lockWait):
		err = errors.New("it does not answer")
	}
	if err != nil {
		_ = command.Process.Kill()
		return fmt.Errorf("start watchdog: %w", err)
	}
	return nil
}

// replaceFile writes beside the file and syncs before it renames. There is one
// name to write to, since nothing else writes at the same time: what a crash
// leaves of it is overwritten the next time.
func replaceFile(path string, data []byte) error {
	draft := beside(path)
	file, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		_ = os.Remove(draft) // what has no room is not to take some
	}
	return err
}
