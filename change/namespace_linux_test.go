package change

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// reap takes leave of processes that were left to process 1.
func reap() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// empty empties a directory.
func empty(t testing.TB, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
