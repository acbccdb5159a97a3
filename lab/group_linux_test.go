package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIntegrationShares: what the kernel gives is what the scenario says, from
// the least share up.
func TestIntegrationShares(t *testing.T) {
	for cpus, want := range map[float64]string{0.02: "1000 50000", 0.05: "1000 20000", 0.1: "1000 10000", 0.5: "5000 10000", 2: "20000 10000"} {
		group, err := newGroup("share-test", cpus)
		if err != nil {
			t.Skip(err) // as in TestIntegrationStaleGroup: without root there may be none
		}
		got := groupFile(t, group, "cpu.max")
		if got == "" {
			got = groupFile(t, group, "cpu.cfs_quota_us") + " " + groupFile(t, group, "cpu.cfs_period_us")
		}
		if got != want {
			t.Errorf("%v CPUs: quota and period %q, want %q", cpus, got, want)
		}
		removeGroup(group)
	}
}

// groupFile is "" where this version of control groups has no such file.
func groupFile(t *testing.T, group, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(group, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestIntegrationStaleGroup: the control group of a dead lab of the same number
// is replaced.
func TestIntegrationStaleGroup(t *testing.T) {
	group, err := newGroup("stale-test", 0.5)
	if err != nil {
		t.Skip(err)
	}
	defer removeGroup(group)
	if again, err := newGroup("stale-test", 0.5); again != group {
		t.Errorf("got %q, %v, want %q again", again, err, group)
	}
}
