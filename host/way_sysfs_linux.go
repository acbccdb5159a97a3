package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// deviceTree is a sysfs that shows the network interfaces of the thread's
// namespace.
type deviceTree struct {
	dir    string
	mount  int   // its file descriptor; -1: it is another's
	unsure error // why it must not be written, if it may be another namespace's
}

func (t *deviceTree) close() {
	if t != nil && t.mount >= 0 {
		_ = unix.Close(t.mount)
	}
}

// sysfs finds it. What is mounted at /sys shows the namespace of whoever mounted
// it, whose eth0 is another one: so this mounts its own, in no place, where it
// may (fsopen(2), since 5.2). Where it may not, /sys has to do: for reading,
// where interfaces are compared, and for writing, if this is the namespace of the
// first process, whose /sys it is.
func (s *session) sysfs() *deviceTree {
	if s.tree != nil {
		return s.tree
	}
	s.tree = &deviceTree{dir: filepath.Join(string(s.root), "sys"), mount: -1}
	if s.root != "/" {
		return s.tree
	}
	if fd, err := mountSysfs(); err == nil {
		s.tree.dir, s.tree.mount = fmt.Sprintf("/proc/self/fd/%d", fd), fd
		return s.tree
	}
	if here, err := BootsHere(); !here || err != nil {
		s.tree.unsure = errors.New("/sys is that of another network namespace")
	}
	return s.tree
}

func mountSysfs() (fd int, err error) {
	context, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return -1, err
	}
	return unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

// queueFiles is a value of every receive queue of an interface.
type queueFiles struct {
	file  string
	parse func(string) (string, error) // gives what is read or wanted in its one form
}

// maxQueues bounds how many receive queues of an interface are looked at. Cards
// have up to 256.
const maxQueues = 1024

func (w queueFiles) files(s *session, name string) (alike, error) {
	tree := s.sysfs()
	dir := filepath.Join(tree.dir, "class/net", name)
	if tree.mount < 0 && s.kernel != nil {
		d, err := s.device(name)
		if err != nil {
			return alike{}, err
		}
		if index, _ := readBounded(filepath.Join(dir, "ifindex")); strings.TrimSpace(index) != fmt.Sprint(d.index) {
			return alike{}, errors.New("/sys shows another network namespace")
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "queues"))
	if err != nil {
		return alike{}, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "rx-") && len(files) < maxQueues {
			files = append(files, filepath.Join(dir, "queues", e.Name(), w.file))
		}
	}
	return alike{files, w.parse}, nil
}

func (w queueFiles) get(s *session, name string) (string, error) {
	files, err := w.files(s, name)
	if err != nil {
		return "", err
	}
	return files.get()
}

func (w queueFiles) set(s *session, name, value string) error {
	if s.sysfs().unsure != nil {
		return s.sysfs().unsure
	}
	files, err := w.files(s, name)
	if err != nil {
		return err
	}
	return files.set(value)
}

func (w queueFiles) settable(s *session, name string) error {
	if s.sysfs().unsure != nil {
		return s.sysfs().unsure
	}
	files, err := w.files(s, name)
	if err != nil {
		return err
	}
	return errors.Join(files.writable(), s.mayConfigure())
}

// governor is how the clocks of all CPUs are chosen.
type governor struct{}

// policies are the files of the CPUs' groups that share a clock.
func (governor) policies(s *session) (alike, error) {
	files, err := filepath.Glob(filepath.Join(string(s.root), "sys/devices/system/cpu/cpufreq/policy*/scaling_governor"))
	return alike{files, func(text string) (string, error) { return text, nil }}, err
}

func (g governor) get(s *session, _ string) (string, error) {
	files, err := g.policies(s)
	if err != nil {
		return "", err
	}
	return files.get()
}

func (g governor) set(s *session, _, value string) error {
	files, err := g.policies(s)
	if err != nil {
		return err
	}
	return files.set(value)
}

func (g governor) settable(s *session, _ string) error {
	files, err := g.policies(s)
	if err != nil {
		return err
	}
	return files.writable()
}

// alike is one value that several files hold. Where they differ there is no such
// value: it could be set, but not put back.
type alike struct {
	files []string
	parse func(string) (string, error)
}

func (a alike) get() (string, error) {
	if len(a.files) == 0 {
		return "", unix.ENOENT
	}
	first := ""
	for i, file := range a.files {
		text, err := readBounded(file)
		if err != nil {
			return "", err
		}
		value, err := a.parse(strings.TrimSpace(text))
		if err != nil {
			return "", err
		}
		if i == 0 {
			first = value
		}
		if value != first {
			return "", fmt.Errorf("they differ: %s of %s, %s of %s", first, owner(a.files[0]), value, owner(file))
		}
	}
	return first, nil
}

// owner is what a file belongs to: "rx-0", "policy0".
func owner(file string) string { return filepath.Base(filepath.Dir(file)) }

func (a alike) set(value string) error {
	if parsed, err := a.parse(value); err != nil {
		return err
	} else if parsed != value {
		return fmt.Errorf("write it as %q", parsed)
	}
	was, err := a.get()
	if err != nil {
		return err
	}
	for i, file := range a.files {
		if err := writeLine(file, value); err != nil {
			err = refused(err)
			for _, changed := range slices.Backward(a.files[:i]) {
				err = errors.Join(err, writeLine(changed, was))
			}
			return err
		}
	}
	return nil
}

func (a alike) writable() error {
	for _, file := range a.files {
		if err := openable(file); err != nil {
			return err
		}
	}
	return nil
}
