package collector

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The command for Windows is PowerShell by the grammar of the packages that
// .ci/install fetches: a mistake in it would be seen by nobody before that host.
func TestScriptIsPowerShell(t *testing.T) {
	python := filepath.Join("..", "..", "bin", "python", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skipf("needs the PowerShell grammar: .ci/install fetches it: %v", err)
	}
	text, err := Script("windows", "")
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(text, "|", "| |", 1)
	for _, one := range []struct {
		text  string
		right bool
	}{{text, true}, {broken, false}} {
		path := filepath.Join(t.TempDir(), "facts.ps1")
		if err := os.WriteFile(path, []byte(one.text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, filepath.Join("..", "..", "plan", "format", "testdata", "powershell.py"), path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if right := strings.HasPrefix(string(out), "(program"); right != one.right {
			t.Errorf("is PowerShell: %v, want %v: %s", right, one.right, out)
		}
	}
}
