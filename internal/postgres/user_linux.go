package postgres

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// unprivileged makes commands run as nobody where the test is root's, as
// PostgreSQL refuses root, and gives nobody the folders.
func unprivileged(t testing.TB, folders ...string) func(*exec.Cmd) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func(*exec.Cmd) {}
	}
	const nobody = 65534
	for _, folder := range folders {
		if err := os.Chown(folder, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}
