package mounted

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// mountApart makes a mount that is attached nowhere (fsopen(2), fsmount(2)), to read from only.
func mountApart(settings []setting) (*os.File, error) {
	fd, err := unix.Fsopen("nfs4", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen", err)
	}
	defer func() { _ = unix.Close(fd) }()
	for _, s := range settings {
		if s.value == "" {
			err = unix.FsconfigSetFlag(fd, s.name)
		} else {
			err = unix.FsconfigSetString(fd, s.name, s.value)
		}
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", s.name, explained(fd, err))
		}
	}
	if err := unix.FsconfigCreate(fd); err != nil {
		return nil, explained(fd, err)
	}
	tree, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsmount", err)
	}
	return os.NewFile(uintptr(tree), "trial mount"), nil
}

// explained adds what the kernel says of an error: one message a read, after its class (fsopen(2)).
func explained(fd int, err error) error {
	const mostMessages = 8
	for range mostMessages {
		buffer := make([]byte, 1024)
		n, failed := unix.Read(fd, buffer)
		if failed != nil || n <= 0 {
			break
		}
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(strings.TrimPrefix(string(buffer[:n]), "e ")))
	}
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w (only root may mount)", err)
	}
	return err
}

// openIn opens a file of a mount.
func openIn(tree *os.File, below string, direct bool) (*os.File, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC
	if direct {
		flags |= unix.O_DIRECT
	}
	fd, err := unix.Openat(int(tree.Fd()), below, flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: below, Err: err}
	}
	return os.NewFile(uintptr(fd), below), nil
}

// readAhead sets how far the trial reads ahead of programs that open files from now on.
func (t *Trial) readAhead(size unit.Size) error {
	file, err := readAheadOf(func(s *unix.Stat_t) error { return unix.Fstat(int(t.tree.Fd()), s) })
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("/sys", file), []byte(strconv.FormatInt(int64((size+unit.KiB-1)/unit.KiB), 10)), 0)
}

// readAheadOf names the file below /sys that has the read-ahead of a mount, in KiB: that of its device (its bdi).
func readAheadOf(stat func(*unix.Stat_t) error) (string, error) {
	var s unix.Stat_t
	if err := stat(&s); err != nil {
		return "", err
	}
	return fmt.Sprintf("class/bdi/%d:%d/read_ahead_kb", unix.Major(s.Dev), unix.Minor(s.Dev)), nil
}
