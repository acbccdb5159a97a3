package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// root is where the system's files are found: "/", or a recorded tree in tests.
type root string

// Get reads a tunable's present value, blanks normalised; one of an interface, a
// mount or a route by "link.mtu@eth0". Tunables of the network are those of the
// calling thread's network namespace.
func Get(name string) (string, error) {
	s := root("/").openSession()
	defer s.close()
	return s.get(name)
}

// Set writes a tunable and reads it back. An error says what the kernel made of
// the value; the tunable may have changed all the same.
func Set(name, value string) error {
	s := root("/").openSession()
	defer s.close()
	return s.set(name, value)
}

func (r root) get(name string) (string, error) {
	path, err := r.tunablePath(name)
	if err != nil {
		return "", err
	}
	text, err := readBounded(path)
	if err != nil {
		return "", fmt.Errorf("read tunable %s: %w", name, withoutPath(err))
	}
	return tunable.Normalise(text), nil
}

func (r root) set(name, value string) error {
	path, err := r.tunablePath(name)
	if err != nil {
		return err
	}
	value = tunable.Normalise(value)
	if value == "" || len(value) > maxValue {
		return fmt.Errorf("set %s: a value has 1 to %d bytes, this one %d", name, maxValue, len(value))
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("set %s: %w", name, withoutPath(err))
	}
	_, err = file.WriteString(value + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("set %s: the kernel refuses %q: %w", name, value, withoutPath(err))
	}
	now, err := r.get(name)
	if err != nil {
		return err
	}
	if now != value {
		return fmt.Errorf("set %s: wrote %q, the kernel made it %q", name, value, now)
	}
	return nil
}

// tunablePath is the tunable's file under /proc/sys.
func (r root) tunablePath(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return filepath.Join(string(r), "proc/sys", strings.ReplaceAll(name, ".", "/")), nil
}

// writable reports, as an error, why this process may not write the tunable.
func (r root) writable(name string) error {
	path, err := r.tunablePath(name)
	if err != nil {
		return err
	}
	return openable(path)
}

// maxValue bounds what is written, in bytes. The longest values are lists of
// algorithms.
const maxValue = 256

// withoutPath takes the path out of a file error: the tunable's name says the same.
func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
