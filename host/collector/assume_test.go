package collector

import (
	"slices"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/tunable"
)

func TestAssume(t *testing.T) {
	for _, tc := range []struct {
		name, os, version string
	}{
		{"linux", "linux", "6.18"},
		{"linux2.4", "linux", "2.4"},
		{"Linux 6.1.0-18-amd64", "linux", "6.1.0"},
		{"rhel7", "linux", "3.10"},
		{"solaris", "solaris", "11.4"},
		{"Solaris 10", "solaris", "10"},
		{"illumos", "illumos", "5.11"},
		{"OmniOS", "illumos", "5.11"},
		{"macos10.4", "macos", "10.4"},
		{"freebsd14.1", "freebsd", "14.1"},
		{"windows2003", "windows", "5.2"},
		{"windows10.0.20348", "windows", "10.0.20348"},
	} {
		f, err := Assume(tc.name, 8<<30)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if f.OS != tc.os || f.Version != tc.version || f.Memory != 8<<30 || !f.CanChange || f.Name == "" {
			t.Errorf("%s is %+v", tc.name, f)
		}
	}
}

// What is assumed is what the catalogue says, of tunables that the version has.
func TestAssumedTunablesAreTheVersionsOwn(t *testing.T) {
	for _, id := range tunable.Systems() {
		s, err := tunable.Of(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range versions(s) {
			f, err := Assume(id+version, 0)
			if err != nil {
				t.Errorf("%s %s: %v", id, version, err)
				continue
			}
			for name, value := range f.Tunables {
				known, ok := tunable.Lookup(id, name)
				if !ok || !known.Applies(f.Version) {
					t.Errorf("%s %s has %s", id, version, name)
					continue
				}
				if err := known.Check(value); err != nil {
					t.Errorf("%s %s: %v", id, version, err)
				}
			}
		}
	}
}

// versions are all that a catalogue tells of: those of its releases, and those from
// which something changed.
func versions(s *tunable.System) []string {
	var all []string
	for _, r := range s.Releases {
		all = append(all, r.Version)
	}
	for _, t := range s.Tunables {
		all = append(all, t.Since, t.Until)
		for _, d := range t.Defaults {
			all = append(all, d.From)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(v string) bool { return v == "" })
}

func TestAssumeNothingUnknown(t *testing.T) {
	if _, err := Assume("plan9", 0); err == nil || !strings.Contains(err.Error(), `system "plan9" is not known: there are`) {
		t.Errorf("assumed a system that is not known: %v", err)
	}
	if _, err := Assume("linux", -1); err == nil {
		t.Error("assumed a host with less than no memory")
	}
}

func TestAssumedDefaults(t *testing.T) {
	for _, tc := range []struct{ name, tunable, want string }{
		{"solaris8", "tcp_recv_hiwat", "24576"},
		{"solaris10", "tcp_recv_hiwat", "49152"},
		{"solaris10", "recv_buf", ""},
		{"solaris11", "recv_buf", "128000"},
		{"solaris11", "tcp_recv_hiwat", ""},
		{"linux2.4", "net.ipv4.tcp_rmem", "4096 87380 174760"},
		{"linux6.18", "net.ipv4.tcp_rmem", "4096 131072 33554432"},
		{"macos10.4", "kern.ipc.maxsockbuf", "262144"},
		{"macos15", "kern.ipc.maxsockbuf", "8388608"},
		{"windows2003", "autotuninglevel", ""},
		{"windows2019", "autotuninglevel", "normal"},
		{"freebsd13", "net.inet.tcp.cc.algorithm", "newreno"},
		{"linux6.18", "link.mtu", ""},
	} {
		f, err := Assume(tc.name, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Tunables[tc.tunable]; got != tc.want {
			t.Errorf("%s: %s is %q, want %q", tc.name, tc.tunable, got, tc.want)
		}
	}
}
