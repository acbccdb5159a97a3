package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletionKnows: hosts that were measured to before come in question, runs, and change sets of this host.
func TestCompletionKnows(t *testing.T) {
	t.Parallel()
	at := farProcess(t)
	place := filepath.Join(t.TempDir(), "record.db")
	if _, stderr, code := keeping(t, place, "test", "-n", "100K", at, "--tag", "x"); code != exitDone {
		t.Fatal(stderr)
	}
	run := kept(t, place).Runs[0].ID
	for line, want := range map[string]string{
		"tune ":                at,
		"test -t 5 127.":       at,
		"diagnose --quick 127": at,
		"report ":              "last\tthe run that began last",
		"history export ":      run[len(run)-8:] + "\t",
	} {
		out, stderr, code := keeping(t, place, append([]string{"__complete", "--"}, strings.Split(line, " ")...)...)
		if code != exitDone || stderr != "" || !strings.Contains("\n"+out, "\n"+want) {
			t.Errorf("%q: exit code %d: %q%s, want %q", line, code, out, stderr, want)
		}
	}
}
