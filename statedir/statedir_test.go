package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestKeep: a file is replaced whole, for its owner only; the first of two stays; and nothing else is left in the folder.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"one", "two"} {
		if err := Keep(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := KeepFirst(path, []byte("three")); !errors.Is(err, os.ErrExist) {
		t.Errorf("over one that is there: %v", err)
	}
	if err := KeepFirst(filepath.Join(dir, "first"), []byte("three")); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "two" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := Keep(filepath.Join(dir, "none", "file"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}
