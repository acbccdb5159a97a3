package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManual: every verb has a manual page that mandoc finds nothing wrong with, and that says what its help says.
func TestManual(t *testing.T) {
	t.Parallel()
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("this machine has no mandoc")
	}
	dir := filepath.Join(t.TempDir(), "man1")
	out, stderr, code := fullbore(t, "manual", dir)
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || code != exitDone || len(pages) < 40 || !strings.Contains(out, "manual pages in "+dir) {
		t.Fatalf("%d pages, exit code %d, %v: %s%s", len(pages), code, err, out, stderr)
	}
	if out, err := exec.CommandContext(t.Context(), mandoc, append([]string{"-T", "lint", "-W", "warning"}, pages...)...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	text, err := exec.CommandContext(t.Context(), mandoc, "-T", "ascii", "-O", "width=200", filepath.Join(dir, "fullbore-tune.1")).Output()
	if err != nil || !strings.Contains(string(text), "Test traffic to spend at most, in time.") {
		t.Errorf("%v: %s", err, text)
	}
	if _, stderr, code := fullbore(t, "manual", "/proc/none"); code != exitFailed || !strings.Contains(stderr, "write manual pages") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
