package format

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// carriers is where .ci/install unpacks the programs that plans are written for.
var carriers = filepath.Join("..", "..", "bin", "debian")

// needCarrier skips a test where a program is neither installed nor unpacked.
func needCarrier(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	for _, dir := range []string{"usr/bin", "usr/sbin"} {
		if _, err := os.Stat(filepath.Join(carriers, dir, program)); err == nil {
			return
		}
	}
	t.Skipf("needs %s, which is neither installed nor in %s, where .ci/install unpacks it", program, carriers)
}

// inSandbox runs a shell command as root of a machine of its own, with files in
// /plan and programs that this machine may not have, and gives what it printed.
// See testdata/sandbox.sh.
func inSandbox(t *testing.T, files []File, command string, programs ...string) string {
	t.Helper()
	for _, program := range programs {
		needCarrier(t, program)
	}
	if os.Getuid() != 0 {
		t.Skip("needs root, to make a copy of the machine")
	}
	if out, err := exec.Command("unshare", "--mount", "--net", "--pid", "--fork", "true").CombinedOutput(); err != nil {
		t.Skipf("namespaces are not permitted here: %v: %s", err, out)
	}
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f.Text), os.FileMode(f.Mode)); err != nil {
			t.Fatal(err)
		}
	}
	added := ""
	if len(programs) > 0 { // copying them takes a while
		var err error
		if added, err = filepath.Abs(carriers); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
		"sh", filepath.Join("testdata", "sandbox.sh"), added, dir, "sh", "-c", "cd /plan\n"+command)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	return out.String()
}
