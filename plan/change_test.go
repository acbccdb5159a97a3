package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/host/collector"
	"github.com/fullbore/fullbore/unit"
)

func values(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.Tunable+" = "+c.To)
	}
	return out
}

func TestChange(t *testing.T) {
	solaris := func(version string, readOnly ...string) *host.Facts {
		return &host.Facts{Name: "s", OS: "solaris", Version: version, CanChange: true, ReadOnly: readOnly, Tunables: map[string]string{
			"max_buf": "1048576", "_cwnd_max": "1048576", "recv_buf": "128000", "send_buf": "49152",
			"ip:ip_soft_rings_cnt": "2",
		}}
	}
	nic := linux("a")
	nic.Tunables["link.ring.rx@eth0"], nic.Tunables["link.ring.rx@eth1"] = "512", "4096"
	nic.Tunables["link.rps_cpus@eth0"] = "00000000,0000000f"
	nic.ReadOnly = []string{"link.ring.rx@eth1"}
	nic.Tunables["cpu.governor"] = "powersave"
	old := linux("a", "tcp_rmem", "4096 24576 24576")
	for _, c := range []struct {
		about       string
		host        *host.Facts
		name, value string
		want        []string
		note        string
	}{
		{"what bounds it comes first", solaris("11"), "recv_buf", "4194304", []string{"max_buf = 4194304", "recv_buf = 4194304"}, ""},
		{"no higher than what bounds it and cannot be raised", solaris("11", "max_buf"), "recv_buf", "4194304", []string{"recv_buf = 1048576"}, "since max_buf cannot be higher"},
		{"within the bound that there is", solaris("11"), "recv_buf", "1048576", []string{"recv_buf = 1048576"}, ""},
		{"what is raised is no less than the version's default", solaris("11"), "send_buf", "50000", []string{"send_buf = 50000"}, ""},
		{"the same, where the default is larger", &host.Facts{Name: "s", OS: "solaris", Version: "11", CanChange: true, Tunables: map[string]string{"recv_buf": "49152"}},
			"recv_buf", "65536", []string{"recv_buf = 128000"}, ""},
		{"only what is raised, of a triplet", old, "net.ipv4.tcp_rmem", "4096 24576 1000000", []string{"net.ipv4.tcp_rmem = 4096 24576 33554432"}, ""},
		{"above its bound already, and as it is", &host.Facts{Name: "s", OS: "solaris", Version: "11", CanChange: true, ReadOnly: []string{"max_buf"}, Tunables: map[string]string{"max_buf": "1048576", "recv_buf": "4194304"}},
			"recv_buf", "4194304", nil, ""},
		{"a bound that is no number bounds nothing", &host.Facts{Name: "s", OS: "solaris", Version: "11", CanChange: true, Tunables: map[string]string{"max_buf": "1048576 2", "recv_buf": "128000"}},
			"recv_buf", "4194304", []string{"recv_buf = 4194304"}, ""},
		{"never lowered", solaris("11"), "recv_buf", "1000", nil, ""},
		{"obsolete is said, not set", solaris("11"), "ip:ip_soft_rings_cnt", "8", nil, "ip:ip_soft_rings_cnt is not set on s: it is obsolete since version 11"},
		{"not there", solaris("11"), "net.ipv4.tcp_rmem", "1 2 3", nil, "does not have net.ipv4.tcp_rmem"},
		{"left alone", linuxWith("net.ipv4.tcp_mem", "1 2 3"), "net.ipv4.tcp_mem", "2 3 4", nil, "net.ipv4.tcp_mem is left alone on a"},
		{"of one interface", nic, "link.ring.rx@eth0", "4096", []string{"link.ring.rx@eth0 = 4096"}, ""},
		{"of one that does not take it", nic, "link.ring.rx@eth1", "8192", nil, "the interface or its driver does not take it"},
		{"not without saying of which", nic, "link.ring.rx", "8192", nil, "does not have link.ring.rx"},
		{"a mask that only looks different", nic, "link.rps_cpus@eth0", "f", nil, ""},
		{"a word that is none of those there are", nic, "cpu.governor", "fastest", nil, `"fastest" is none of`},
		{"out of range", solaris("11"), "_cwnd_max", "99999999999", []string{"max_buf = 1073741824", "_cwnd_max = 1073741824"}, "since max_buf cannot be higher"},
	} {
		t.Run(c.about, func(t *testing.T) {
			m := &maker{Input: Input{Sender: c.host, Streams: 1}}
			got := m.change(c.host, c.name, c.value, "x")
			if diff := cmp.Diff(c.want, values(got), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if notes := strings.Join(m.notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}

func linuxWith(name, value string) *host.Facts {
	h := linux("a")
	h.Tunables[name] = value
	return h
}

// Whatever order rules give changes in, they are made in one that works, each once.
func TestArrange(t *testing.T) {
	h := &host.Facts{Name: "s", OS: "solaris", Version: "11", Tunables: map[string]string{}}
	m := &maker{Input: Input{Sender: h}}
	got := m.arrange([]Change{
		{Host: "s", Tunable: "recv_buf", From: "1", To: "5"}, {Host: "s", Tunable: "_cwnd_max", From: "1", To: "5"},
		{Host: "s", Tunable: "max_buf", From: "1", To: "5"}, {Host: "s", Tunable: "max_buf", From: "1", To: "7"}, {Host: "s", Tunable: "max_buf", From: "1", To: "6"},
	})
	if diff := cmp.Diff([]string{"max_buf = 7", "_cwnd_max = 5", "recv_buf = 5"}, values(got)); diff != "" {
		t.Error(diff)
	}
}

// The first of several changes of a tunable counts, raised to the largest: a switch
// or a name has one planned value.
func TestArrangeMerges(t *testing.T) {
	h := linux("a")
	m := &maker{Input: Input{Sender: h}}
	got := m.arrange([]Change{
		{Host: "a", Tunable: wmem, To: "4096 16384 65536"}, {Host: "a", Tunable: wmem, To: "4096 16384 131072"},
		{Host: "a", Tunable: "net.ipv4.tcp_mtu_probing", To: "1"}, {Host: "a", Tunable: "net.ipv4.tcp_mtu_probing", To: "2"},
		{Host: "b", Tunable: "net.ipv4.nobody_knows", To: "1"}, {Host: "b", Tunable: "net.ipv4.nobody_knows", To: "2"},
	})
	if diff := cmp.Diff([]string{wmem + " = 4096 16384 131072", "net.ipv4.tcp_mtu_probing = 1", "net.ipv4.nobody_knows = 1"}, values(got)); diff != "" {
		t.Error(diff)
	}
}

// What must be set before what: on one host, of one interface, or of the host for
// every interface.
func TestBefore(t *testing.T) {
	m := &maker{Input: Input{Sender: linux("a"), Receiver: linux("b")}}
	change := func(role Role, name string) Change { return Change{Role: role, Tunable: name} }
	for _, c := range []struct {
		a, b Change
		want bool
	}{
		{change(Sender, "link.offload.tx@eth0"), change(Sender, "link.offload.tso@eth0"), true},
		{change(Sender, "link.offload.tso@eth0"), change(Sender, "link.offload.tx@eth0"), false},
		{change(Sender, "link.offload.tx@eth1"), change(Sender, "link.offload.tso@eth0"), false},
		{change(Receiver, "link.offload.tx@eth0"), change(Sender, "link.offload.tso@eth0"), false},
		{change(Sender, "net.core.rps_sock_flow_entries"), change(Sender, "link.rps_flow_cnt@eth0"), true},
		{change(Sender, "net.ipv4.tcp_max_reordering"), change(Sender, "net.ipv4.tcp_reordering"), true}, // its bound
		{change(Sender, "net.core.rmem_max"), change(Sender, "net.ipv4.tcp_rmem"), false},
		{change(Sender, "net.core.rmem_max"), change(Sender, "net.ipv4.nobody_knows"), false},
	} {
		if got := m.before(c.a, c.b); got != c.want {
			t.Errorf("%s %s before %s %s: %v", c.a.Role, c.a.Tunable, c.b.Role, c.b.Tunable, got)
		}
	}
}

// The interfaces that have a tunable come in order.
func TestInstances(t *testing.T) {
	h := linux("a")
	var want []string
	for i := range 9 {
		name := fmt.Sprintf("link.mtu@eth%d", i)
		h.Tunables[name], want = "1500", append(want, name)
	}
	h.Tunables["link.mtu"], h.Tunables["link.txqueuelen@eth0"] = "1500", "1000"
	if diff := cmp.Diff(want, instances(h, "link.mtu")); diff != "" {
		t.Error(diff)
	}
}

// A host that is both ends has each change once, and its steps begin where those
// before them end.
func TestOneHostIsBothEnds(t *testing.T) {
	h := &host.Facts{Name: "s", OS: "solaris", Version: "11", CanChange: true, Tunables: map[string]string{
		"max_buf": "1048576", "_cwnd_max": "1048576", "recv_buf": "128000", "send_buf": "49152",
	}}
	in := Input{Path: Given(unit.Gbps, 67*ms, 1500), Direction: bulk.Forward, Sender: h, Receiver: h}
	p := Make(in)
	seen := map[string]string{}
	for _, s := range p.Steps {
		for _, c := range s.Changes {
			if was, again := seen[c.Tunable]; again && c.From != was {
				t.Errorf("%s begins at %s, not at %s where it is by then", c.Tunable, c.From, was)
			}
			seen[c.Tunable] = c.To
		}
	}
	if len(seen) != 4 {
		t.Errorf("changed: %v", seen)
	}
	if err := checkPlan(in, p); err != nil {
		t.Error(err)
	}
}

// Those who may undo a plan are named where they set what it changes, and only there.
func TestWhoFightsIt(t *testing.T) {
	h := linux("b", "tcp_rmem", "4096 65536 87380")
	h.Managers = []host.Manager{
		{Name: "bpftune", Sets: "TCP's buffers"},
		{Name: "/etc/sysctl.d/60-app.conf", Sets: "net.ipv4.tcp_rmem"},
		{Name: "/etc/sysctl.d/10-other.conf", Sets: "net.ipv4.tcp_sack"},
		{Name: "power-profiles-daemon", Sets: "cpu.governor"},
		{Name: "irqbalance", Sets: "which CPUs the interrupts of network cards go to"},
		{Name: "someone"},
	}
	in := Input{Path: Given(unit.Gbps, 10*ms, 1500), Direction: bulk.Forward, Receiver: h, OneEnd: true}
	var named []string
	for _, n := range Make(in).Notes {
		if who, _, ok := strings.Cut(n, " sets tunables on b too"); ok {
			named = append(named, who)
		}
	}
	if diff := cmp.Diff([]string{"bpftune", "/etc/sysctl.d/60-app.conf", "someone"}, named); diff != "" {
		t.Error(diff)
	}
	// One that changes what is only changed at the other end is none of those.
	sender := linux("a", "tcp_wmem", "4096 16384 65536")
	sender.Managers = []host.Manager{{Name: "/etc/sysctl.d/receiver.conf", Sets: rmem}, {Name: "/etc/sysctl.d/sender.conf", Sets: wmem}}
	_, notes := outcome(Input{Path: in.Path, Direction: bulk.Forward, Sender: sender, Receiver: h})
	if strings.Contains(notes, "receiver.conf sets tunables on a") || !strings.Contains(notes, "sender.conf sets tunables on a") {
		t.Errorf("notes: %s", notes)
	}
	h.Tunables["net.ipv4.tcp_rmem"] = "4096 131072 33554432"
	if p := Make(in); len(p.Steps) != 0 || slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "sets tunables") }) {
		t.Errorf("nothing is planned, so nobody can undo it: %q", p.Notes)
	}
}

// irqbalance moves interrupts: that concerns who spreads what is received, over
// queues or over processors, and nobody else.
func TestIrqbalance(t *testing.T) {
	other := host.Manager{Name: "irqbalance", Sets: "which CPUs the interrupts of network cards go to"}
	for changed, want := range map[string]bool{"link.rps_cpus": true, "link.channels.combined": true, rmem: false} {
		if got := concerns(linux("b"), other, []string{changed}); got != want {
			t.Errorf("%s: %v, want %v", changed, got, want)
		}
	}
}

func TestMask(t *testing.T) {
	for cpus, want := range map[int]string{1: "1", 4: "f", 6: "3f", 32: "ffffffff", 33: "1,ffffffff", 70: "3f,ffffffff,ffffffff"} {
		if got := mask(cpus); got != want {
			t.Errorf("%d processors: %s, want %s", cpus, got, want)
		}
	}
}

// The pool of network buffers should hold those of all connections, and no more
// than its part of memory; FreeBSD's is its administrator's to raise.
func TestClusters(t *testing.T) {
	h := &host.Facts{Name: "f", OS: "freebsd", Version: "14", CanChange: true, Tunables: map[string]string{}}
	for _, c := range []struct {
		pool        string
		memory      int64
		connections int
		buffers     unit.Size
		want        string
	}{
		{"10240", 0, 100, unit.MiB, "When they are full, the buffers of all connections together take 51200 clusters of 2 KiB, and kern.ipc.nmbclusters on f is 10240. It is left alone: "}, // 100 times 1 MiB
		{"10240", 0, 20, unit.MiB, ""},                            // just as many are there
		{"10240", 1 << 29, 1000, unit.MiB, "take 32768 clusters"}, // 1/8 of 512 MiB
		{"", 0, 100, unit.MiB, ""},                                // no pool of a fixed size
		{"0", 0, 100, unit.MiB, ""},
		{"1", 0, 0, unit.MiB + 1, "take 513 clusters"}, // of one connection, the last of them not full
	} {
		h.Memory, h.Tunables[clusters] = c.memory, c.pool
		m := &maker{Input: Input{Sender: h, Connections: c.connections, Streams: 1}}
		m.aboutClusters(h, c.buffers)
		if notes := strings.Join(m.notes, "\n"); !strings.Contains(notes, c.want) || c.want == "" && notes != "" {
			t.Errorf("%d connections: %q, want %q", c.connections, notes, c.want)
		}
	}
}

// What counters of the host ask for is not planned without them.
func TestOnlyWithEvidence(t *testing.T) {
	h := linux("b")
	h.Tunables["link.ring.rx@eth0"], h.Tunables["net.core.netdev_max_backlog"], h.Tunables["net.core.netdev_budget"] = "256", "1000", "300"
	h.Tunables["cpu.governor"], h.Tunables["link.offload.gro@eth0"], h.Tunables["link.qdisc@eth0"] = "powersave", "0", "pfifo_fast"
	h.Interfaces = []host.Interface{{Name: "eth0", Up: true, Speed: 10000}}
	in := Input{Path: between(unit.Gbps, ms), Direction: bulk.Forward, Sender: h, Receiver: h, Baseline: &bulk.Result{}}
	if p := Make(in); len(p.Steps) != 0 {
		t.Errorf("nothing asks for %q", brief(p))
	}
	in.Baseline.Server.Links = []host.LinkDelta{{Name: "eth0", Used: true, LinkCounters: host.LinkCounters{RxMissed: 5}}}
	in.Baseline.Server.Counters = map[string]int64{softnetDropped: 1, softnetSqueezed: 7}
	in.Diagnosis = found(diagnose.ReceiverCPU)
	want := []string{"link.offload.gro@eth0 = 1", "cpu.governor = performance", "link.ring.rx@eth0 = 4096", "net.core.netdev_max_backlog = 2000", "net.core.netdev_budget = 600"}
	var got []string
	for _, s := range Make(in).Steps {
		got = append(got, values(s.Changes)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A host assumed to have its defaults has no larger buffers than its memory allows.
func TestAsBooted(t *testing.T) {
	for _, c := range []struct {
		system     string
		memory     int64
		rmem, wmem string
	}{
		{"linux6.18", 24 << 30, "4096 131072 33554432", "4096 16384 4194304"},
		{"linux6.18", 512 << 20, "4096 131072 4194304", "4096 16384 4194304"},
		{"linux6.18", 128 << 20, "4096 131072 1048576", "4096 16384 1048576"},
		{"linux6.18", 4 << 20, "4096 131072 131072", "4096 16384 65536"},
		{"linux6.18", 0, "4096 131072 33554432", "4096 16384 4194304"},
		{"linux2.4", 4 << 20, "4096 87380 174760", "4096 16384 131072"}, // has another way
	} {
		h, err := collector.Assume(c.system, c.memory)
		if err != nil {
			t.Fatal(err)
		}
		AsBooted(h)
		if diff := cmp.Diff([]string{c.rmem, c.wmem}, []string{h.Tunables[rmem], h.Tunables[wmem]}); diff != "" {
			t.Errorf("%s with %d bytes: %s", c.system, c.memory, diff)
		}
	}
}

// Nothing is planned beyond what the device takes, and doubling does not go there.
func TestMost(t *testing.T) {
	h := linux("b")
	name := "link.ring.rx@eth0"
	h.Tunables[name], h.Most = "256", map[string]int64{name: 1000}
	h.Interfaces = []host.Interface{{Name: "eth0", Up: true, Speed: 10000}}
	in := Input{Path: between(unit.Gbps, ms), Direction: bulk.Forward, Receiver: h, Baseline: &bulk.Result{}}
	in.Baseline.Server.Links = []host.LinkDelta{{Name: "eth0", Used: true, LinkCounters: host.LinkCounters{RxMissed: 5}}}
	p := Make(in)
	if len(p.Steps) == 0 || p.Steps[0].Changes[0].To != "1000" || !slices.Contains(p.Notes, name+" on b is planned as 1000 instead of 4096: its device takes no more.") {
		t.Fatalf("planned %q, with notes %q", brief(p), p.Notes)
	}
	if next := Double(p.Steps[0], in); next != nil {
		t.Errorf("doubled to %+v", next.Changes)
	}
	h.Most[name] = 4096
	if p = Make(in); len(p.Steps) != 1 || p.Steps[0].Changes[0].To != "4096" || strings.Contains(strings.Join(p.Notes, "\n"), "its device takes no more") {
		t.Errorf("planned %q, with notes %q, although the device takes just that", brief(p), p.Notes)
	}
	h.Most[name] = 1000
	h.Tunables[name] = "1000"
	if p = Make(in); len(p.Steps) != 0 || !slices.Contains(p.Notes, name+" on b stays at 1000 instead of 4096: its device takes no more.") {
		t.Errorf("planned %q, with notes %q", brief(p), p.Notes)
	}
}

// TestHostsOfOneName: two hosts may go by one name; each keeps its own changes.
func TestHostsOfOneName(t *testing.T) {
	in := Input{Path: between(1e9, 150_000_000), Sender: facts(t, "linux6.1"), Receiver: facts(t, "solaris10")}
	in.Sender.Name, in.Receiver.Name = "db", "db"
	in.Sender.Memory, in.Receiver.Memory = 64<<30, 64<<30
	var receiver []Change
	for _, s := range Make(in).Steps {
		for _, c := range s.Changes {
			if c.Tunable == "tcp_recv_hiwat" {
				receiver = append(receiver, c)
			}
		}
	}
	if len(receiver) != 1 {
		t.Fatalf("the receiver's buffer is planned %d times", len(receiver))
	}
	receiver[0].To = "1048576"
	in.Receiver.Tunables["tcp_recv_hiwat"] = "1048576"
	if next := Double(Step{Changes: receiver}, in); next == nil {
		t.Error("the receiver's buffer is not doubled: it was looked up on the sender")
	}
}
