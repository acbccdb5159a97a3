// Package statedir says where a user's fullbore keeps what outlives a process, and keeps files there whole.
package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// For is the place of a file or folder: under FULLBORE_STATE; for root under
// /var/lib/fullbore; for others under XDG_STATE_HOME, which is ~/.local/state
// unless set (XDG Base Directory Specification).
func For(name string) (string, error) {
	if dir := os.Getenv("FULLBORE_STATE"); dir != "" {
		return filepath.Join(dir, name), nil
	}
	if os.Geteuid() == 0 {
		return filepath.Join("/var/lib/fullbore", name), nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "fullbore", name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a directory for %s: %w", name, err)
	}
	return filepath.Join(home, ".local", "state", "fullbore", name), nil
}

// unfinished is how the name of a file begins that is not whole yet.
const unfinished = ".unfinished-"

// Unfinished says whether a file of that name is what a process that was killed left of Keep or KeepFirst.
func Unfinished(name string) bool { return strings.HasPrefix(name, unfinished) }

// Keep makes a file, or replaces it, for its owner only: who reads it has the old text or the new one, whole. When it
// returns, that is on the disk.
func Keep(path string, text []byte) error { return keep(path, text, os.Rename) }

// KeepFirst makes a file only if there is none, else its error is [os.ErrExist]: a link fails where a rename
// would replace what another process has made meanwhile.
func KeepFirst(path string, text []byte) error { return keep(path, text, os.Link) }

func keep(path string, text []byte, place func(from, to string) error) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, unfinished+"*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // a renamed one is gone
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := place(file.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}
