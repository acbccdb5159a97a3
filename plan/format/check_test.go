package format

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/plan"
)

// all gives every file of every example, written into a directory of the test,
// whose names have the suffix.
func all(t *testing.T, suffix string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, c := range examples() {
		for _, f := range All() {
			if !f.For(c.host) {
				continue
			}
			for _, file := range written(t, f, c) {
				if !strings.HasSuffix(file.Name, suffix) {
					continue
				}
				path := filepath.Join(dir, c.name+"-"+f.Name+"-"+filepath.Base(file.Name))
				if err := os.WriteFile(path, []byte(file.Text), 0o644); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, path)
			}
		}
	}
	if len(paths) == 0 {
		t.Fatalf("no file ends in %s", suffix)
	}
	return paths
}

// TestShellcheck: every script is clean, as POSIX shell.
func TestShellcheck(t *testing.T) {
	t.Parallel()
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	scripts := slices.DeleteFunc(all(t, ".sh"), func(path string) bool { // one system of a kind: each takes a while
		return strings.Contains(path, "macos-15") || strings.Contains(path, "solaris-") || strings.Contains(path, "nothing") && !strings.Contains(path, "-script-")
	})
	for len(scripts) > 0 {
		n := min(len(scripts), 8)
		if out, err := exec.Command(shellcheck, append([]string{"-s", "sh", "-f", "gcc"}, scripts[:n]...)...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%.2000s", err, out)
		}
		scripts = scripts[n:]
	}
}

// TestPowerShellParses: by the grammar of the packages that .ci/install fetches.
func TestPowerShellParses(t *testing.T) {
	benign, hostile := shapes(t, "Ethernet 2"), shapes(t, `ab'; Remove-Item C; '$(Remove-Item C) #`)
	for i := range benign {
		if benign[i] != hostile[i] {
			t.Errorf("a hostile name changes what the script does:\n%s\n%s", benign[i], hostile[i])
		}
	}
}

// shapes are the syntax trees of the scripts for a host whose adapter has a name.
func shapes(t *testing.T, adapter string) []string {
	t.Helper()
	python := filepath.Join("..", "..", "bin", "python", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skipf("needs the PowerShell grammar: .ci/install fetches it: %v", err)
	}
	dir := t.TempDir()
	args := []string{filepath.Join("testdata", "powershell.py")}
	e := made("windows", "windows", "10.0.20348",
		plan.Change{Tunable: "ReceiveBuffers@" + adapter, From: "512", To: "2048"},
		plan.Change{Tunable: "autotuninglevel", From: "restricted", To: "normal"})
	for i, c := range append(examples(), e) {
		if !powerShell.For(c.host) {
			continue
		}
		for _, file := range written(t, powerShell, c) {
			path := filepath.Join(dir, string(rune('a'+i))+file.Name)
			if err := os.WriteFile(path, []byte(file.Text), 0o644); err != nil {
				t.Fatal(err)
			}
			args = append(args, path)
		}
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(python, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(args)-1 || len(lines) < 4 {
		t.Fatalf("%d of %d scripts were looked at", len(lines), len(args)-1)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "(program") {
			t.Fatal(line)
		}
	}
	return lines
}

// TestPowerShellStrings: what is not ASCII is a number, and the five single
// quotes cannot end a string.
func TestPowerShellStrings(t *testing.T) {
	for text, want := range map[string]string{
		"Ethernet 2": "'Ethernet 2'", "it's": "'it''s'", "": "''", "$x `n": "'$x `n'",
		"a’b": "('a' + [char]0x2019 + 'b')", "é": "('' + [char]0x00E9 + '')", "😀": "('' + [char]0xD83D + '' + [char]0xDE00 + '')",
	} {
		if got := psString(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
