package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hostFile is a number in one file, of the whole machine.
type hostFile struct {
	path  string
	check func(now, wanted string) error // may be nil
}

// get reports nothing within another network namespace: the file system that
// shows the NFS server is that of the namespace it was mounted in.
func (w hostFile) get(s *session, _ string) (string, error) {
	if !s.root.first() {
		return "", errors.New("it is the machine's, and this is a network namespace within it")
	}
	text, err := s.root.line(w.path)
	if err != nil {
		return "", err
	}
	return parseCount(text)
}

func (w hostFile) set(s *session, instance, value string) error {
	if _, err := parseCount(value); err != nil {
		return err
	}
	now, err := w.get(s, instance)
	if err != nil {
		return err
	}
	if w.check != nil {
		if err := w.check(now, value); err != nil {
			return err
		}
	}
	if err := writeLine(filepath.Join(string(s.root), w.path), value); err != nil {
		return refused(err)
	}
	return nil
}

func (w hostFile) settable(s *session, _ string) error {
	return openable(filepath.Join(string(s.root), w.path))
}

// nfsdRuns refuses to start or stop the NFS server, which is what the kernel
// does when its number of threads leaves 0 or comes to it.
func nfsdRuns(now, wanted string) error {
	if now == "0" || wanted == "0" {
		return errors.New("that would start or stop the NFS server")
	}
	return nil
}

// commandLine is a parameter that the kernel was booted with.
type commandLine string

func (w commandLine) get(s *session, _ string) (string, error) {
	text, err := s.root.line("proc/cmdline")
	if err != nil {
		return "", err
	}
	value := ""
	for word := range strings.FieldsSeq(text) {
		if v, ok := strings.CutPrefix(word, string(w)+"="); ok {
			value = v
		}
	}
	if value == "" {
		return "", fmt.Errorf("%s= is %w on the kernel's command line", w, errInstance)
	}
	return value, nil
}

func (commandLine) set(*session, string, string) error { return errCommandLine }

func (commandLine) settable(*session, string) error { return errCommandLine }

var errCommandLine = errors.New("it is on the kernel's command line, which the boot loader gives")

// writeLine writes a file of the kernel's.
func writeLine(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value + "\n")
	return errors.Join(err, file.Close())
}

// openable reports, as an error, why this process may not write a file. Opening
// is the whole test, and touches nothing: access(2) does not see read-only mounts
// on kernels before 5.8, where it is emulated.
func openable(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return withoutPath(err)
	}
	return file.Close()
}
