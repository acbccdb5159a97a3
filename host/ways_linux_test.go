package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/safchain/ethtool"
	vnetlink "github.com/vishvananda/netlink"

	"github.com/fullbore/fullbore/tunable"
)

// Every tunable of the catalogue that is no sysctl and may be changed has a way,
// and every way is in the catalogue.
func TestWaysAreThoseOfTheCatalogue(t *testing.T) {
	catalogue, err := tunable.Catalogue("linux")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, e := range catalogue {
		known[e.Name] = true
		sysctl := e.Scope == tunable.OfNamespace || e.Scope == tunable.OfHost && (strings.HasPrefix(e.Name, "net.") || strings.HasPrefix(e.Name, "sunrpc.") || strings.HasPrefix(e.Name, "vm."))
		if _, ok := ways[e.Name]; !ok && !sysctl && e.Leave == "" {
			t.Errorf("%s has no way", e.Name)
		}
	}
	for name := range ways {
		if !known[name] {
			t.Errorf("%s is not in the catalogue", name)
		}
	}
}

// pair makes two interfaces that are each other's cable, both up.
func pair(t testing.TB, name, peer string, queues int) {
	t.Helper()
	attributes := vnetlink.NewLinkAttrs()
	attributes.Name, attributes.NumTxQueues, attributes.NumRxQueues = name, queues, queues
	veth := &vnetlink.Veth{LinkAttrs: attributes, PeerName: peer}
	if err := vnetlink.LinkAdd(veth); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{name, peer} {
		link, err := vnetlink.LinkByName(end)
		if err == nil {
			err = vnetlink.LinkSetUp(link)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// trial is a value to set, and what Set says of it; says "" is right.
type trial struct{ name, value, says string }

// try sets each, and puts back what was there before where that worked.
func try(t *testing.T, trials ...trial) {
	t.Helper()
	for _, tc := range trials {
		before, err := Get(tc.name)
		if err != nil && tc.says == "" {
			t.Error(err)
			continue
		}
		err = Set(tc.name, tc.value)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("set %s to %.60q: %v, want %q", tc.name, tc.value, err, tc.says)
		}
		now, _ := Get(tc.name)
		if want := map[bool]string{true: tc.value, false: before}[tc.says == ""]; now != want {
			t.Errorf("%s is %q, want %q", tc.name, now, want)
		}
		if tc.says == "" {
			if err := Set(tc.name, before); err != nil {
				t.Error(err)
			}
			if now, err := Get(tc.name); now != before {
				t.Errorf("%s is %q, was %q (%v)", tc.name, now, before, err)
			}
		}
	}
}

func TestIntegrationLinkTunables(t *testing.T) {
	inNamespace(t, func() {
		pair(t, "a0", "b0", 4)
		try(t,
			trial{"link.mtu@a0", "9000", ""},
			trial{"link.mtu@a0", "1280", ""},
			trial{"link.mtu@a0", "1000", "IPv6 addresses"},
			trial{"link.mtu@a0", "70000", "the kernel refuses it: ask rtnetlink: invalid argument (mtu greater than device maximum)"},
			trial{"link.mtu@a0", "09000", "not a number"},
			trial{"link.mtu@a0", "-1", "not a number"},
			trial{"link.mtu@a0", "9e3", "not a number"},
			trial{"link.mtu@a0", strings.Repeat("9", 300), "1 to 256 bytes"},
			trial{"link.mtu@a0", "", "1 to 256 bytes"},
			trial{"link.mtu@c0", "9000", "not there"},
			trial{"link.mtu@lo", "4000", ""},
			trial{"link.txqueuelen@a0", "5000", ""},
			trial{"link.txqueuelen@a0", "4294967296", "not a number"},
			trial{"link.rps_cpus@a0", "1", ""},
			trial{"link.rps_cpus@a0", "01", `write it as "1"`},
			trial{"link.rps_cpus@a0", "1,", "mask of CPUs"},
			trial{"link.rps_cpus@a0", "f" + strings.Repeat(",00000000", 8192/32), "1 to 256 bytes"},
			trial{"link.rps_cpus@a0", "f" + strings.Repeat(",00000000", 20), "the kernel refuses it"},
			trial{"link.rps_flow_cnt@b0", "1024", ""},
			trial{"link.rps_flow_cnt@b0", "many", "not a number"},
			trial{"link.ring.rx@a0", "512", "the device has no such thing"},
			trial{"link.channels.combined@a0", "2", "the device has no such thing"},
			trial{"link.pause.rx@a0", "1", "the device has no such thing"},
			trial{"link.ring.rx@c0", "512", "not there"},
			trial{"cpu.governor", "performance", "whole machine"},
			trial{"nfsd.threads", "64", "whole machine"},
			trial{"nfs.read_ahead_kb@/mnt", "15360", "whole machine"},
		)
	})
}

// Queues that differ have no one value, which could not be put back.
func TestIntegrationQueuesDiffer(t *testing.T) {
	inNamespace(t, func() {
		pair(t, "a0", "b0", 4)
		s := root("/").openSession()
		defer s.close()
		files, err := queueFiles{"rps_cpus", parseMask}.files(s, "a0")
		if err != nil || len(files.files) != 4 {
			t.Fatalf("queues: %v, %v", files.files, err)
		}
		if err := writeLine(files.files[2], "1"); err != nil {
			t.Fatal(err)
		}
		if value, err := Get("link.rps_cpus@a0"); err == nil || !strings.Contains(err.Error(), "they differ: 0 of rx-0, 1 of rx-2") {
			t.Errorf("%q, %v", value, err)
		}
		if err := Set("link.rps_cpus@a0", "1"); err == nil {
			t.Error("it is set although it could not be put back")
		}
	})
}

// features are all of a device, as they stand and as they are asked for.
func features(t *testing.T, name string) map[string]ethtool.FeatureState {
	t.Helper()
	e, err := ethtool.NewEthtool()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	states, err := e.FeaturesWithState(name)
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// Whatever is switched and put back, all features are what they were: also those
// that rest while another is off.
func TestIntegrationOffloadTunables(t *testing.T) {
	inNamespace(t, func() {
		pair(t, "a0", "b0", 1)
		before := features(t, "a0")
		for _, o := range Offloads {
			name := "link.offload." + o + "@a0"
			was, err := Get(name)
			if o == "lro" {
				if !errors.Is(err, errNoOffload) {
					t.Errorf("%s is %q, %v", name, was, err)
				}
				continue
			}
			try(t, trial{name, map[string]string{"0": "1", "1": "0"}[was], ""}, trial{name, "2", "neither 0 nor 1"})
			if d := cmp.Diff(before, features(t, "a0")); d != "" {
				t.Errorf("%s put back (-before +after):\n%s", name, d)
			}
		}
		if err := Set("link.offload.tx@a0", "0"); err != nil {
			t.Error(err)
		}
		if tso, err := Get("link.offload.tso@a0"); tso != "0" {
			t.Errorf("without checksums there is segmentation: %q, %v", tso, err)
		}
		if err := Set("link.offload.tso@a0", "1"); err == nil || !strings.Contains(err.Error(), `the kernel made it "0"`) {
			t.Errorf("segmentation without checksums: %v", err)
		}
		if err := Set("link.offload.tx@a0", "1"); err != nil {
			t.Error(err)
		}
		e, err := ethtool.NewEthtool()
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := e.Change("a0", map[string]bool{"tx-tcp6-segmentation": false}); err != nil {
			t.Fatal(err)
		}
		if err := Set("link.offload.tso@a0", "0"); err == nil || !strings.Contains(err.Error(), "use ethtool -K") {
			t.Errorf("half of it: %v", err)
		}
		if err := Set("link.offload.rx@lo", "0"); err == nil || !strings.Contains(err.Error(), "does not let it be switched") {
			t.Errorf("the loopback's: %v", err)
		}
	})
}

// The facts of a host with many interfaces: bounded, without the loopback's, and
// what cannot be set marked.
func TestIntegrationFactsOfManyInterfaces(t *testing.T) {
	inNamespace(t, func() {
		for i := range 35 {
			pair(t, fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i), 1)
		}
		f, err := Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]bool{}
		for name := range f.Tunables {
			if base, instance := tunable.Split(name); strings.HasPrefix(base, "link.") {
				of[instance] = true
			}
		}
		if len(of) != maxTuned || of["lo"] {
			t.Errorf("tunables of %d interfaces, want %d: %v", len(of), maxTuned, sorted(of))
		}
		for name, want := range map[string]string{
			"link.mtu@a0": "1500", "link.txqueuelen@a0": "1000", "link.qdisc@a0": "noqueue", "link.offload.tso@a0": "1",
			"link.rps_cpus@a0": "0", "link.ring.rx@a0": "", "link.offload.lro@a0": "",
		} {
			if got := f.Tunables[name]; got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
			if slices.Contains(f.ReadOnly, name) {
				t.Errorf("%s cannot be set", name)
			}
		}
		if f.Most["link.mtu@a0"] != 65535 {
			t.Errorf("the largest MTU is %d", f.Most["link.mtu@a0"])
		}
		text, err := json.Marshal(f)
		if err != nil || len(text) > 256<<10 { // the far end's answer may have 4 MiB
			t.Errorf("%d bytes of JSON, %v", len(text), err)
		}
	})
}

func BenchmarkCollect(b *testing.B) {
	for _, pairs := range []int{0, 5, 32} {
		b.Run(fmt.Sprintf("%d interfaces", 2*pairs), func(b *testing.B) {
			inNamespace(b, func() {
				for i := range pairs {
					pair(b, fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i), 2)
				}
				for b.Loop() {
					if _, err := Collect(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// What is not the name of something of this host does not reach a file, nor the
// kernel.
func TestHostileInstances(t *testing.T) {
	for _, name := range []string{
		"link.mtu", "link.mtu@", "link.mtu@.", "link.mtu@..", "link.mtu@../lo", "link.mtu@lo/../lo", "link.mtu@a b", "link.mtu@lo\n", "link.mtu@lo\x00",
		"link.mtu@sixteen-letters1", "link.mtu@lo:1", "link.mtu@lo@lo", "link.mtu@\u202elo", "link.mtu@" + strings.Repeat("a", 1000),
		"link.rps_cpus@../../../../../etc", "link.rps_cpus@..", "link.rps_cpus@.",
		"cpu.governor@", "cpu.governor@policy0", "cpu.governor@../x", "nfsd.threads@/",
		"nfs.rsize", "nfs.rsize@", "nfs.rsize@mnt", "nfs.rsize@/mnt/", "nfs.rsize@/mnt/../etc", "nfs.rsize@/a\nb", "nfs.read_ahead_kb@/" + strings.Repeat("a", 300),
		"route.congctl@default", "route.congctl@198.18.0.1/15", "route.congctl@198.18.0.0", "route.congctl@::ffff:1.2.3.4/128", "route.congctl@fe80::%lo/10", "route.congctl@1.2.3.4/33",
		"net.ipv4.tcp_rmem@", "net.ipv4.tcp_rmem@lo", "link.nothing@lo", "link.mtu/@lo", "../link.mtu@lo", "Link.mtu@lo",
	} {
		if value, err := Get(name); err == nil || value != "" {
			t.Errorf("%q is %q", name, value)
		}
		if err := Set(name, "1"); err == nil {
			t.Errorf("%q is set", name)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"link.mtu@eth0", "nfs.rsize@/mnt/a", "route.congctl@198.18.0.0/15", "route.congctl@::/0", "cpu.governor", "net.ipv4.tcp_rmem", "link.mtu@../x"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		w, known, instance, err := find(name)
		if err != nil || w == nil {
			return
		}
		if tunable.Join(known.Name, instance) != name {
			t.Errorf("%q is found as %s of %q", name, known.Name, instance)
		}
		if known.Scope == tunable.OfInterface && strings.ContainsAny(instance, "/\x00\n ") || instance == ".." {
			t.Errorf("%q is a path", name)
		}
		if known.Scope == tunable.OfMount && strings.Contains(instance+"/", "/../") {
			t.Errorf("%q leads elsewhere", name)
		}
	})
}

func FuzzParseMask(f *testing.F) {
	for _, text := range []string{"0", "ff", "00000000,0000000f", "1,00000000", ",", "g", "F\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		mask, err := parseMask(text)
		if err != nil {
			return
		}
		again, err := parseMask(mask)
		if err != nil || again != mask || mask == "" || len(mask) > len(text) {
			t.Errorf("%q is %q, which is %q (%v)", text, mask, again, err)
		}
	})
}

func TestParseMask(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "00000000,00000000": "0", "f\n": "f", "0000000F": "f", "00000000,0000000f": "f", "00000001,00000000": "1,00000000", "ffffffff,ffffffff": "ffffffff,ffffffff",
		"": "", "1,2": "", "123456789": "", "0x1": "", "1,": "", ",00000001": "", "1 1": "", "-1": "",
	} {
		if got, err := parseMask(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// A link that is down has no queue to be set, and its other tunables all the same.
func TestIntegrationDown(t *testing.T) {
	inNamespace(t, func() {
		pair(t, "a0", "b0", 1)
		attributes := vnetlink.NewLinkAttrs()
		attributes.Name = "c0"
		if err := vnetlink.LinkAdd(&vnetlink.Veth{LinkAttrs: attributes, PeerName: "d0"}); err != nil {
			t.Fatal(err)
		}
		try(t, trial{"link.mtu@c0", "9000", ""}, trial{"link.qdisc@c0", "pfifo", "the interface is down"})
		f, err := Collect(t.Context())
		if err != nil || f.Tunables["link.mtu@c0"] != "" || f.Tunables["link.mtu@b0"] != "1500" {
			t.Errorf("facts: %v, %v", f.Tunables, err)
		}
	})
}

// Without privileges everything is read, and marked as not to be set.
func TestReadOnlyWithoutPrivileges(t *testing.T) {
	refusal := errors.New("no")
	s := root("/").openSession()
	defer s.close()
	s.asked, s.refusal = true, refusal
	for _, name := range []string{"link.mtu@lo", "link.txqueuelen@lo", "link.offload.gro@lo", "route.congctl@0.0.0.0/0"} {
		if err := s.settable(name); !errors.Is(err, refusal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.settable("nfs.rsize@/"); err == nil {
		t.Error("options of a mount can be set")
	}
}
