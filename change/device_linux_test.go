package change

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/internal/sandbox"
)

const (
	mtu    = "link.mtu@eth0"
	ring   = "link.ring.rx@eth0"
	usecs  = "link.coalesce.rx-usecs@eth0"
	adapts = "link.coalesce.adaptive-rx@eth0"
	slots  = "sunrpc.tcp_slot_table_entries"
	budget = "net.core.netdev_budget"
	rounds = "net.core.netdev_budget_usecs"
)

// wired is a world with an interface.
func wired(t *testing.T) *world {
	w := newWorld(t.TempDir())
	w.devices = map[string]Device{"eth0": {Index: 2, MAC: "02:00:00:00:00:01"}, "eth1": {Index: 3, MAC: "02:00:00:00:00:02"}}
	maps.Copy(w.tunables, map[string]string{mtu: "1500", ring: "512", usecs: "3", adapts: "1"})
	return w
}

func TestInterfaceIsRecognised(t *testing.T) {
	for _, tc := range []struct {
		name  string
		since func(*world)
		lost  bool
	}{
		{"the same", func(*world) {}, false},
		{"renamed", func(w *world) { delete(w.devices, "eth0"); w.devices["lan0"] = Device{2, "02:00:00:00:00:01"} }, true},
		{"gone", func(w *world) { delete(w.devices, "eth0"); delete(w.tunables, mtu) }, true},
		{"another of that name", func(w *world) { w.devices["eth0"] = Device{9, "02:00:00:00:00:09"} }, true},
		{"its tunable is gone", func(w *world) { delete(w.tunables, mtu) }, true},
		{"its driver was loaded again", func(w *world) { w.devices["eth0"] = Device{9, "02:00:00:00:00:01"} }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := wired(t)
			m := w.manager(t)
			id := begin(t, m, Setting{mtu, "9000"}, Setting{rmem, bigger})
			if diff := cmp.Diff(&Device{2, "02:00:00:00:00:01"}, get(t, m, id).Values[0].Device); diff != "" {
				t.Errorf("device (-want +got):\n%s", diff)
			}
			tc.since(w)
			touched := w.tunables[mtu]
			set, err := m.Revert(t.Context(), id)
			must(t, err)
			wantValue(t, w, rmem, "4096 131072 6291456")
			if tc.lost {
				wantValue(t, w, mtu, touched)
				if set.State != Lost || set.value(mtu).State != Lost || !strings.Contains(set.Note, mtu) {
					t.Errorf("state %s, note %q, values %v", set.State, set.Note, set.Values)
				}
				return
			}
			wantValue(t, w, mtu, "1500")
		})
	}
}

func TestNoSuchInterface(t *testing.T) {
	w := wired(t)
	m := w.manager(t)
	id := begin(t, m)
	wantErr(t, m.Apply(t.Context(), id, []Setting{{"link.mtu@eth7", "9000"}}), ErrRefused, "link.mtu@eth7")
	wantErr(t, m.Apply(t.Context(), id, []Setting{{"link.mtu", "9000"}}), ErrRefused, "link.mtu@NAME")
}

// Nothing that could cut the operator off is done without something that
// brings it back.
func TestNothingWithoutAWatchdog(t *testing.T) {
	w := wired(t)
	m := w.manager(t)
	id := begin(t, m)
	w.unwatched = true
	wantErr(t, m.Apply(t.Context(), id, []Setting{{mtu, "9000"}}), ErrRefused, "watchdog")
	wantValue(t, w, mtu, "1500")

	w.unwatched = false
	must(t, m.Apply(t.Context(), id, []Setting{{mtu, "9000"}}))
	before := len(w.watched)
	m.watched = func(string, string) bool { return false } // it has died, another can be started
	_ = get(t, m, id)
	must(t, m.Renew(t.Context(), id))
	must(t, m.PutBack(t.Context(), id, mtu))
	if len(w.watched) != before+3 {
		t.Errorf("%d watchdogs were started, want one each by status, renew and put back", len(w.watched)-before)
	}

	// A set that is kept for good needs none.
	kept := begin(t, m, Setting{rmem, bigger})
	must(t, m.Confirm(t.Context(), kept, false))
	before = len(w.watched)
	_ = get(t, m, kept)
	if len(w.watched) != before+1 { // for the other one
		t.Errorf("%d watchdogs were started for one live set", len(w.watched)-before)
	}

	// The way back needs none, but it is told that there is none.
	must(t, m.Apply(t.Context(), id, []Setting{{mtu, "9000"}}))
	w.unwatched = true
	wantErr(t, m.PutBack(t.Context(), id, mtu), ErrRefused, "watchdog")
	wantValue(t, w, mtu, "1500")
	if set := get(t, m, id); !strings.Contains(set.Trouble, "its watchdog has died, and another does not start: "+errFault.Error()) {
		t.Errorf("trouble: %q", set.Trouble)
	}
}

// ordering is a world that writes down what is set.
type ordering struct {
	*world
	set []string
}

func (o *ordering) Set(name, value string) error {
	o.set = append(o.set, name)
	return o.world.Set(name, value)
}

func TestOrder(t *testing.T) {
	w := wired(t)
	o := &ordering{world: w}
	m := w.manager(t)
	m.knobs = o
	id := begin(t, m)
	must(t, m.Apply(t.Context(), id, []Setting{{usecs, "100"}, {adapts, "0"}, {ring, "4096"}}))
	if slices.Index(o.set, adapts) > slices.Index(o.set, usecs) {
		t.Errorf("rx-usecs is set before the driver leaves it alone: %v", o.set)
	}
	o.set = nil
	_, err := m.Revert(t.Context(), id)
	must(t, err)
	if slices.Index(o.set, adapts) < slices.Index(o.set, usecs) || len(o.set) != 3 {
		t.Errorf("put back in the order: %v", o.set)
	}
	names := []string{usecs, "link.coalesce.adaptive-rx@eth1", "no.such.tunable", adapts}
	if diff := cmp.Diff([]int{3, 0, 1, 2}, inOrder(names)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// Of sizes, those that become smaller come first, in the opposite order: what is
// raised last is lowered first.
func TestOrderOfSizes(t *testing.T) {
	w := newWorld(t.TempDir())
	w.tunables[budget], w.tunables[rounds] = "300", "2000"
	o := &ordering{world: w}
	m := w.manager(t)
	m.knobs = o
	id := begin(t, m)
	for _, tc := range []struct {
		settings []Setting
		want     []string
	}{
		{[]Setting{{rounds, "8000"}, {budget, "1200"}}, []string{budget, rounds}},
		{[]Setting{{rmem, bigger}, {budget, "600"}, {rounds, "4000"}}, []string{rounds, budget, rmem}},
		{[]Setting{{budget, "300"}, {rounds, "8000"}}, []string{budget, rounds}},
	} {
		o.set = nil
		must(t, m.Apply(t.Context(), id, tc.settings))
		if diff := cmp.Diff(tc.want, o.set); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.settings, diff)
		}
	}
}

// A rule of udev is made of what the catalogue keeps there, for an interface that
// can be recognised.
func TestUdevRule(t *testing.T) {
	device := &Device{Index: 2, MAC: "02:00:00:00:00:01"}
	for _, tc := range []struct {
		name   string
		device *Device
		rule   string
	}{
		{mtu, device, `ACTION=="add", SUBSYSTEM=="net", DRIVERS=="?*", ATTR{address}=="02:00:00:00:00:01", ATTR{mtu}="9000"`},
		{mtu, &Device{Index: 2}, ""},
		{mtu, nil, ""},
		{"link.of-another-version@eth0", device, ""},
		{rmem, device, ""},
	} {
		if got := udevRule(&Value{Tunable: tc.name, New: "9000", Device: tc.device}); got != tc.rule {
			t.Errorf("%s of %+v: %s", tc.name, tc.device, got)
		}
	}
}

// An interface is found by its name, with what it is recognised by.
func TestFindDevice(t *testing.T) {
	if d, err := findDevice("lo"); err != nil || d.Index <= 0 || d.MAC != "" {
		t.Errorf("lo is %+v (%v)", d, err)
	}
	if d, err := findDevice("none-such"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%+v (%v)", d, err)
	}
}

// A host with udev, ethtool and a card keeps an interface's values by its
// hardware address.
func TestPersistInterface(t *testing.T) {
	w := wired(t)
	must(t, os.MkdirAll(filepath.Join(w.root, "sys/class/net/eth0/device/driver"), 0o755))
	must(t, os.MkdirAll(filepath.Join(w.root, "usr/lib/udev"), 0o755))
	write(t, filepath.Join(w.root, "usr/sbin/ethtool"), "")
	m := w.manager(t)
	rps := "link.rps_cpus@eth0"
	w.tunables[rps] = "0"
	id := begin(t, m, Setting{mtu, "9000"}, Setting{ring, "4096"}, Setting{adapts, "0"}, Setting{rps, "f"}, Setting{rmem, bigger})
	// The shell is to be there too.
	wantErr(t, m.Confirm(t.Context(), id, true), ErrRefused, "/bin/sh, which would set it at boot, is not there")
	if w.dropIn(t) != "" {
		t.Error("refused, but sysctl's file was written")
	}
	write(t, filepath.Join(w.root, "bin/sh"), "")
	must(t, m.Confirm(t.Context(), id, true))
	text, err := os.ReadFile(filepath.Join(w.root, udevFile))
	must(t, err)
	const match = `ACTION=="add", SUBSYSTEM=="net", DRIVERS=="?*", ATTR{address}=="02:00:00:00:00:01", `
	want := []string{
		match + `ATTR{mtu}="9000"`,
		match + `RUN+="/usr/sbin/ethtool -G $name rx 4096"`,
		match + `RUN+="/usr/sbin/ethtool -C $name adaptive-rx off"`,
		match + `RUN+="/bin/sh -c 'for q in /sys/class/net/$name/queues/rx-*/rps_cpus; do echo f > $$q; done'"`,
	}
	if diff := cmp.Diff(want, lines(string(text))); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{rmem + " = " + bigger}, lines(w.dropIn(t))); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	// With a boot it has another index, and is the same.
	w.boot, w.devices["eth0"] = "boot-2", Device{7, "02:00:00:00:00:01"}
	if set := get(t, m, id); set.Values[0].Drift != "" || !set.Booted {
		t.Errorf("booted %v, drift %q", set.Booted, set.Values[0].Drift)
	}
	must(t, os.WriteFile(filepath.Join(w.root, udevFile), []byte(strings.Replace(string(text), `ATTR{mtu}="9000"`, `ATTR{mtu}="1400"`, 1)), 0o644))
	if drift := get(t, m, id).Values[0].Drift; !strings.Contains(drift, "was edited") {
		t.Errorf("drift %q", drift)
	}
	must(t, os.WriteFile(filepath.Join(w.root, udevFile), text, 0o644))
	_, err = m.Revert(t.Context(), id)
	must(t, err)
	wantValue(t, w, mtu, "1500")
	for _, path := range []string{udevFile, sysctlFile} {
		if _, err := os.Stat(filepath.Join(w.root, path)); !os.IsNotExist(err) {
			t.Errorf("%s is left (%v)", path, err)
		}
	}
}

func TestPersistInterfaceRefused(t *testing.T) {
	for _, tc := range []struct {
		name    string
		setting Setting
		has     []string // paths that are there
		says    string
	}{
		{"created by software", Setting{mtu, "9000"}, []string{"usr/lib/udev/x"}, "created by software"},
		{"no udev", Setting{mtu, "9000"}, []string{"sys/class/net/eth0/device/driver/x"}, "no udev"},
		{"no ethtool", Setting{ring, "4096"}, []string{"usr/lib/udev/x", "sys/class/net/eth0/device/driver/x"}, "ethtool"},
		{"a route", Setting{"route.congctl@198.18.0.0/15", "bbr"}, nil, "does not keep route.congctl@198.18.0.0/15 over a reboot; without --persist it is kept until the next boot; to keep it for good, do this by hand: congctl bbr"},
		{"a module's parameter", Setting{slots, "32"}, nil, "do this by hand: options sunrpc tcp_slot_table_entries=32 in /etc/modprobe.d/fullbore.conf"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := wired(t)
			w.tunables["route.congctl@198.18.0.0/15"], w.tunables[slots] = "cubic", "2"
			for _, path := range tc.has {
				write(t, filepath.Join(w.root, path), "")
			}
			m := w.manager(t)
			id := begin(t, m, tc.setting)
			wantErr(t, m.Confirm(t.Context(), id, true), ErrRefused, tc.says)
			if set := get(t, m, id); set.State != Live {
				t.Errorf("state %s", set.State)
			}
			must(t, m.Confirm(t.Context(), id, false))
		})
	}
}

// Where nothing is known that would keep a value, nothing is proposed.
func TestHomelessWithoutAWay(t *testing.T) {
	for _, name := range []string{"net.of_another_version", "net.ipv4.tcp_available_congestion_control"} {
		want := "refused: fullbore does not keep " + name + " over a reboot; without --persist it is kept until the next boot"
		if err := homeless(&Value{Tunable: name, New: "1"}); err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestIntegrationInterface changes real interfaces, under a real watchdog: of two,
// the one that was renamed keeps what it has.
func TestIntegrationInterface(t *testing.T) {
	if !sandbox.Run(t) {
		return
	}
	ip := func(arguments ...string) {
		if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", arguments, err, out)
		}
	}
	ip("link", "add", "one", "type", "veth", "peer", "name", "two")
	m, err := NewManager(filepath.Join(t.TempDir(), "changes"), Kernel{})
	must(t, err)
	id := begin(t, m, Setting{"link.mtu@one", "9000"}, Setting{"link.mtu@two", "9000"}, Setting{"link.txqueuelen@two", "5000"})
	set := get(t, m, id)
	for _, v := range set.Values {
		if v.Now != v.New || v.Drift != "" || v.Device == nil || v.Device.MAC == "" {
			t.Errorf("%+v of %+v", v, v.Device)
		}
	}
	wantErr(t, m.Confirm(t.Context(), id, true), ErrRefused, "created by software")
	ip("link", "set", "two", "name", "three")
	reverted, err := m.Revert(t.Context(), id)
	must(t, err)
	if reverted.State != Lost || reverted.Values[0].State != Reverted || reverted.Values[1].State != Lost {
		t.Errorf("%+v", reverted)
	}
	for name, want := range map[string]string{"link.mtu@one": "1500", "link.mtu@three": "9000"} {
		if got := kernelValue(t, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
