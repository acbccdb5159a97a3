package change

import (
	"os"
	"path/filepath"
)

// StateDir is where fullbore keeps what outlives a process: FULLBORE_STATE, or
// /var/lib/fullbore.
func StateDir() string {
	if dir := os.Getenv("FULLBORE_STATE"); dir != "" {
		return dir
	}
	return "/var/lib/fullbore"
}

// DefaultDir is where journals are kept.
func DefaultDir() string { return filepath.Join(StateDir(), "changes") }
