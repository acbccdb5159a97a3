package host

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// recording is a tree of system files, and the facts that are in it.
type recording struct {
	About string            `yaml:"about"`
	Files map[string]string `yaml:"files"` // names that end in @ are symbolic links
	Want  string            `yaml:"want"`  // JSON
}

// unpack lays files out as a tree.
func unpack(t *testing.T, files map[string]string) root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if link, ok := strings.CutSuffix(path, "@"); ok {
			err = os.Symlink(text, link)
		} else {
			err = os.WriteFile(path, []byte(strings.TrimRight(text, "\n")+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root(dir)
}

func TestFactsFromRecordedTrees(t *testing.T) {
	names, err := filepath.Glob("testdata/facts/*.yaml")
	if err != nil || len(names) < 2 {
		t.Fatalf("recorded trees: %v, %v", names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var recorded recording
			if err := yaml.UnmarshalWithOptions(text, &recorded, yaml.Strict()); err != nil {
				t.Fatal(err)
			}
			var want Facts
			if err := json.Unmarshal([]byte(recorded.Want), &want); err != nil {
				t.Fatal(err)
			}
			got := Facts{Tunables: map[string]string{}, Interfaces: []Interface{
				{Name: "eth0", MTU: 9000, Up: true}, {Name: "wan0", MTU: 1500, Up: true}, {Name: "tun0", MTU: 1500, Up: true},
			}}
			if err := unpack(t, recorded.Files).collect(&got, []int{2, 3, 4}); err != nil {
				t.Fatal(err)
			}
			if runtime.GOARCH != "amd64" { // /proc/cpuinfo looks different everywhere
				got.CPUs, got.CPUModel = want.CPUs, want.CPUModel
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFactsNeedAKernel(t *testing.T) {
	if err := root(t.TempDir()).collect(&Facts{}, nil); err == nil || !strings.Contains(err.Error(), "kernel version") {
		t.Errorf("error is %v", err)
	}
}

func TestWhyNot(t *testing.T) {
	for _, tc := range []struct {
		err  error
		says string
	}{
		{nil, ""},
		{unix.EROFS, "mounted read-only"},
		{unix.EACCES, "sudo"},
		{unix.EPERM, "sudo"},
		{unix.ENOENT, "mount /proc"},
		{unix.EIO, "input/output"},
	} {
		if got := whyNot(tc.err); !strings.Contains(got, tc.says) || (got == "") != (tc.says == "") {
			t.Errorf("%v: %q, want %q", tc.err, got, tc.says)
		}
	}
}

func TestNamesAreNotPaths(t *testing.T) {
	tree := unpack(t, map[string]string{"proc/sys/net/ipv4/tcp_sack": "1", "proc/secret": "secret"})
	for _, name := range []string{
		"", "net", "net.", ".net.ipv4", "net..ipv4", "net/ipv4/tcp_sack", "../secret", "net.ipv4.../../secret",
		"net.ipv4.tcp_sack\n", "net.ipv4.tcp sack", "net.ipv4.tcp_sack\x00", "Net.ipv4.tcp_sack", "net." + strings.Repeat("a", 200),
	} {
		if value, err := tree.get(name); !errors.Is(err, ErrName) {
			t.Errorf("get %q: %q, %v", name, value, err)
		}
		if err := tree.set(name, "0"); !errors.Is(err, ErrName) {
			t.Errorf("set %q: %v", name, err)
		}
	}
	if value, err := tree.get("net.ipv4.tcp_sack"); value != "1" || err != nil {
		t.Errorf("get: %q, %v", value, err)
	}
	if _, err := tree.get("net.ipv4.tcp_no_such"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "net.ipv4.tcp_no_such") {
		t.Errorf("error is %v", err)
	}
	if err := tree.set("net.ipv4.tcp_sack", strings.Repeat("1", 300)); err == nil {
		t.Error("a value of 300 bytes passes")
	}
}

func TestCollect(t *testing.T) {
	f, err := Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f.OS != "linux" || f.Version == "" || f.CPUs < 1 || f.Memory < 16<<20 || f.Name == "" {
		t.Errorf("facts: %+v", f)
	}
	if f.CanChange == (f.WhyNot != "") {
		t.Errorf("can change: %v, why not: %q", f.CanChange, f.WhyNot)
	}
	lo := func(i Interface) bool { return i.Name == "lo" && i.Speed == 0 && i.Driver == "" }
	found := false
	for _, i := range f.Interfaces {
		found = found || lo(i)
	}
	if !found {
		t.Errorf("no loopback among %+v", f.Interfaces)
	}
	if value, err := Get("net.ipv4.tcp_rmem"); err != nil || f.Tunables["net.ipv4.tcp_rmem"] != value || strings.Contains(value, "\t") {
		t.Errorf("tcp_rmem: %q, facts have %q (%v)", value, f.Tunables["net.ipv4.tcp_rmem"], err)
	}
}

// The kernel in a network namespace of its own: what Set says of it.
func TestIntegrationSet(t *testing.T) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its namespace
		outside, _ := Namespace()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		defer close(done)
		inside, err := Namespace()
		if err != nil || inside == outside {
			t.Errorf("namespace %q inside, %q outside (%v)", inside, outside, err)
		}
		if here, err := BootsHere(); here || err != nil {
			t.Errorf("boots here: %v, %v", here, err)
		}
		f, err := Collect(t.Context())
		if err != nil || !f.CanChange || !strings.Contains(strings.Join(f.ReadOnly, " "), "net.ipv4.tcp_available_congestion_control") {
			t.Errorf("facts: %+v, %v", f, err)
		}
		for _, tc := range []struct{ name, value, says string }{
			{"net.ipv4.tcp_rmem", "4096 131072  67108864", ""},
			{"net.ipv4.tcp_slow_start_after_idle", "0", ""},
			{"net.ipv4.tcp_rmem", "0 1 2", "refuses"},
			{"net.ipv4.tcp_rmem", "4096", "the kernel made it"},
			{"net.ipv4.tcp_congestion_control", "nothing", "refuses"},
			{"net.ipv4.tcp_available_congestion_control", "bbr", ""},
		} {
			err := Set(tc.name, tc.value)
			if tc.name == "net.ipv4.tcp_available_congestion_control" {
				if err == nil {
					t.Errorf("%s is set", tc.name)
				}
				continue
			}
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("set %s %q: %v, want %q", tc.name, tc.value, err, tc.says)
			}
		}
		if value, err := Get("net.ipv4.tcp_slow_start_after_idle"); value != "0" {
			t.Errorf("slow start after idle is %q (%v)", value, err)
		}
	}()
	if err := <-done; errors.Is(err, unix.EPERM) {
		t.Skip("network namespaces need privileges: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// A router stands in two networks; a host with containers only forwards to them.
func TestForwards(t *testing.T) {
	public, private := []string{"203.0.113.2/24"}, []string{"10.0.0.1/24", "fe80::1/64"}
	nic := func(driver string, up bool, addresses []string) Interface {
		return Interface{Driver: driver, Up: up, Addresses: addresses}
	}
	for _, test := range []struct {
		name       string
		ipForward  string
		interfaces []Interface
		want       bool
	}{
		{"router", "1", []Interface{nic("igb", true, public), nic("igb", true, private)}, true},
		{"host in two networks", "0", []Interface{nic("igb", true, public), nic("igb", true, private)}, false},
		{"host with containers", "1", []Interface{nic("igb", true, public), nic("", true, private)}, false},
		{"second network is down", "1", []Interface{nic("igb", true, public), nic("igb", false, private)}, false},
		{"second network has link-local addresses only", "1", []Interface{nic("igb", true, public), nic("igb", true, []string{"fe80::1/64"})}, false},
	} {
		r := unpack(t, map[string]string{"proc/sys/net/ipv4/ip_forward": test.ipForward})
		if got := r.forwards(test.interfaces); got != test.want {
			t.Errorf("%s: forwards is %v, want %v", test.name, got, test.want)
		}
	}
}
