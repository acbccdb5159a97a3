package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What /proc says of the control groups of a host with version 2 alone, with version
// 1, and with both: the hierarchies with processor time, version 2 first.
func TestGroupMounts(t *testing.T) {
	for _, test := range []struct {
		name, groups, mounts string
		want                 []groupMount
	}{
		{
			"version 2", "0::/user.slice/user-1000.slice/session-2.scope\n",
			"proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n",
			[]groupMount{{"/sys/fs/cgroup", "/user.slice/user-1000.slice/session-2.scope", true}},
		},
		{
			"version 1", "4:memory:/m\n3:cpu,cpuacct:/docker/12:34\n1:name=systemd:/s\n",
			"cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n",
			[]groupMount{{"/sys/fs/cgroup/cpu,cpuacct", "/docker/12:34", false}},
		},
		{
			"both", "1:cpu:/one\n0::/two\nnot a group\n",
			"short line\ncgroup /c cgroup cpu 0 0\ncgroup2 /u cgroup2 rw\ncgroup /cpuset cgroup rw,cpuset 0 0\n",
			[]groupMount{{"/u", "/two", true}, {"/c", "/one", false}},
		},
		{"none", "", "proc /proc proc cpu 0 0\n", nil},
	} {
		got := parseGroupMounts(test.mounts, parseGroups(test.groups))
		if d := cmp.Diff(test.want, got, cmp.AllowUnexported(groupMount{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
	}
}

// A new group lies as near to this process's own as it can; in version 2 beside it,
// as a group with processes in it cannot have limited children.
func TestGroupParents(t *testing.T) {
	for _, test := range []struct {
		m    groupMount
		want []string
	}{
		{groupMount{"/cg", "/a/b", true}, []string{"/cg/a", "/cg"}},
		{groupMount{"/cg", "/a", true}, []string{"/cg"}},
		{groupMount{"/cg", "/", true}, []string{"/cg"}},
		{groupMount{"/cg", "/a/b", false}, []string{"/cg/a/b", "/cg/a", "/cg"}},
		{groupMount{"/cg", "", false}, []string{"/cg"}},
		{groupMount{"/cg", "/../../other", false}, []string{"/cg/other", "/cg"}}, // above this process's view
	} {
		if got := test.m.parents(); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %q, want %q", test.m, got, test.want)
		}
	}
}

// Where groups can be made, one is, with the quota and the period that give so many
// CPUs; where they cannot, the error says what to do. Plain directories stand for
// the two versions' hierarchies.
func TestNewGroup(t *testing.T) {
	two := t.TempDir()
	for name, content := range map[string]string{"cgroup.subtree_control": "memory cpu\n", "own/cgroup.subtree_control": "cpuset memory\n"} {
		file := filepath.Join(two, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := t.TempDir()
	gone := groupMount{filepath.Join(one, "gone"), "/own", false}
	for _, test := range []struct {
		name   string
		mounts []groupMount
		cpus   float64
		dir    string
		want   map[string]string
	}{
		{"version 2", []groupMount{{two, "/own/deep", true}}, 0.5, two, map[string]string{"cpu.max": "5000 10000"}},
		{"the least share", []groupMount{{two, "/own/deep", true}}, 0.02, two, map[string]string{"cpu.max": "1000 50000"}},
		{"less than that", []groupMount{{two, "/own/deep", true}}, 0.03, two, map[string]string{"cpu.max": "1000 33333"}},
		{"several CPUs", []groupMount{{two, "/own/deep", true}}, 3, two, map[string]string{"cpu.max": "30000 10000"}},
		{"version 1", []groupMount{{one, "/", false}}, 0.5, one, map[string]string{"cpu.cfs_quota_us": "5000", "cpu.cfs_period_us": "10000"}},
		{"the next hierarchy", []groupMount{gone, {one, "/none/such", false}}, 2, one, map[string]string{"cpu.cfs_quota_us": "20000", "cpu.cfs_period_us": "10000"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, err := newGroupIn(test.mounts, "x", test.cpus)
			if err != nil || dir != filepath.Join(test.dir, "fullbore-lab-x") {
				t.Fatalf("%s, %v, want it in %s", dir, err, test.dir)
			}
			for name, want := range test.want {
				if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
					t.Fatal(err)
				}
				if got := groupFile(t, dir, name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			if err := joinGroup(dir, 77); err != nil {
				t.Error(err)
			}
			if err := os.Chmod(filepath.Join(dir, "cgroup.procs"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := groupFile(t, dir, "cgroup.procs"); got != "77" {
				t.Errorf("in it is %q", got)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		})
	}
	if dir, err := newGroupIn([]groupMount{gone}, "x", 1); err == nil || !strings.Contains(err.Error(), "run it as root") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%s, %v", dir, err)
	}
	if err := joinGroup(gone.dir, 77); err == nil || !strings.HasPrefix(err.Error(), "limit cpus: ") {
		t.Errorf("joined what is not there: %v", err)
	}
}

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
	busy := exec.Command("sleep", "0.2")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	if err := joinGroup(group, busy.Process.Pid); err != nil {
		t.Error(err)
	}
	removeGroup(group) // which waits for the last process in it
	if _, err := os.Stat(group); !os.IsNotExist(err) {
		t.Errorf("%s remains: %v", group, err)
	}
	if err := busy.Wait(); err != nil {
		t.Error(err)
	}
}
