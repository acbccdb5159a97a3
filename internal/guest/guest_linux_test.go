package guest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestGuest: the test runs as root on another kernel, with the modules and programs that it asked for.
func TestGuest(t *testing.T) {
	if !Run(t, Machine{Modules: []string{"sch_netem", "nfsd"}, Programs: []string{"ip", "mount.nfs"}}) {
		return
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil || !strings.Contains(string(release), "cloud") {
		t.Errorf("its kernel is %q (%v)", release, err)
	}
	modules, err := os.ReadFile("/proc/modules")
	if err != nil || !strings.Contains(string(modules), "sch_netem ") || !strings.Contains(string(modules), "nfsd ") {
		t.Errorf("its modules are (%v):\n%s", err, modules)
	}
	for _, command := range [][]string{{"ip", "-V"}, {"mount.nfs", "-V"}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
		}
	}
	if os.Getuid() != 0 {
		t.Error("it is not root")
	}
}
