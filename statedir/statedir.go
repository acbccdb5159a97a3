// Package statedir says where a user's fullbore keeps what outlives a process.
package statedir

import (
	"fmt"
	"os"
	"path/filepath"
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
