package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer"
)

// machine is a host whose tunables are a map, and that refuses to lower what it had.
type machine struct {
	facts  host.Facts
	now    map[string]string
	open   bool
	within time.Duration
	calls  []string
	broken bool
}

func newMachine(name string, more map[string]string) *machine {
	m := &machine{now: map[string]string{tcpRmem: "4096 131072 524288", tcpWmem: "4096 16384 1048576", "net.ipv4.tcp_ecn": "2", "link.rps_cpus@eth0": "0", "link.mtu@eth0": "1500"}}
	maps.Copy(m.now, more)
	was := maps.Clone(m.now)
	m.facts = host.Facts{Name: name, OS: "linux", CPUs: 4, BootID: name, CanChange: true, Tunables: was,
		Interfaces: []host.Interface{{Name: "lo", Up: true}, {Name: "eth0", Up: true, Addresses: []string{"192.0.2.2/24"}}}}
	return m
}

func (m *machine) Facts(context.Context) (*host.Facts, error) { f := m.facts; return &f, nil }

func (m *machine) Begin(_ context.Context, reason string, within time.Duration) (string, error) {
	m.open, m.within = true, within
	return reason + "-1", nil
}

func (m *machine) Apply(_ context.Context, id string, settings []change.Setting) error {
	if !m.open {
		return change.ErrClosed
	}
	for _, s := range settings {
		m.calls = append(m.calls, s.Tunable+"="+s.Value)
		m.now[s.Tunable] = s.Value
	}
	return nil
}

func (m *machine) PutBack(_ context.Context, id string, names ...string) error {
	for _, name := range names {
		m.calls = append(m.calls, name+" back")
		m.now[name] = m.facts.Tunables[name]
	}
	return nil
}

func (m *machine) Revert(context.Context, string) (*change.Set, error) {
	if m.broken {
		return nil, errors.New("gone")
	}
	m.calls, m.open = append(m.calls, "revert"), false
	for name := range m.now {
		m.now[name] = m.facts.Tunables[name]
	}
	return &change.Set{}, nil
}

func (m *machine) Renew(context.Context, string) error {
	m.calls = append(m.calls, "renew")
	return nil
}
func (*machine) Confirm(context.Context, string, bool) error {
	return errors.New("a sweep keeps nothing")
}
func (*machine) List(context.Context) ([]change.Set, error) { return nil, nil }

// farEnd is a machine at the far end of a simulated path.
type farEnd struct {
	*machine
	silent bool // it does not report facts
	*world
}

func (f farEnd) Addr() netip.AddrPort { return netip.MustParseAddrPort("192.0.2.2:5201") }
func (f farEnd) Changes() change.Host { return f.machine }
func (f farEnd) Facts(ctx context.Context) (*host.Facts, error) {
	if f.silent {
		return nil, peer.ErrMeasuresOnly
	}
	return f.machine.Facts(ctx)
}

func (f farEnd) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	return f.world.Transfer(ctx, spec, watch)
}

func meet(t *testing.T, near *machine, far farEnd) *Hosts {
	t.Helper()
	w, err := Meet(t.Context(), Near{Facts: near.Facts, Changes: near}, far, Measure{Duration: time.Second, Omit: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestTunables: a point's tunables are set on the hosts that are meant, only what
// differs, and all of them are as they were in the end.
func TestTunables(t *testing.T) {
	near, far := newMachine("a", nil), newMachine("b", nil)
	seen := map[string][]string{}
	w := newWorld()
	w.breaks = func(int) error {
		key := near.now[tcpRmem] + "; " + far.now[tcpRmem] + "; " + near.now["net.ipv4.tcp_ecn"] + "; " + far.now["link.rps_cpus@eth0"]
		seen[key] = append(seen[key], "")
		return nil
	}
	spec := parse(t, `factors:
  both.net.ipv4.tcp_rmem: [present, "4096 131072 8388608"]
  near.net.ipv4.tcp_ecn: [present, 1]
  far.link.rps_cpus: [present, all]
blocks: 2
`)
	doc, err := Run(t.Context(), spec, meet(t, near, farEnd{far, false, w}), &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != 8 {
		t.Errorf("%d settings were measured: %v", len(seen), seen)
	}
	for key, n := range seen {
		if rmem := strings.Split(key, "; "); len(n) != 2 || rmem[0] != rmem[1] {
			t.Errorf("%s: %d times", key, len(n))
		}
	}
	for _, m := range []*machine{near, far} {
		if diff := cmp.Diff(m.facts.Tunables, m.now); diff != "" || m.open || m.calls[len(m.calls)-1] != "revert" || m.within != 32*time.Second {
			t.Errorf("%s is not as it was: %s; %v, a set reverts within %v", m.facts.Name, diff, m.calls, m.within)
		}
	}
	for _, p := range doc.Points {
		if len(p.Notes) > 0 {
			t.Errorf("%v: %v", p.Factors, p.Notes)
		}
		for name, v := range p.Factors {
			if got := p.Taken[name]; v.Present() == got.Equal(v) {
				t.Errorf("%s %v: %v is told to be in effect", name, v, got)
			}
		}
	}
	if doc.CPUsOf != "host" {
		t.Error(doc.CPUsOf)
	}
	if !slices.Contains(far.calls, "link.rps_cpus@eth0=f") || slices.ContainsFunc(near.calls, func(call string) bool { return strings.HasPrefix(call, "link.") }) {
		t.Errorf("%v; %v", near.calls, far.calls)
	}
}

// TestSearchOfWindow: the window is raised on both hosts from what they have until it is
// enough, and put back.
func TestSearchOfWindow(t *testing.T) {
	near, far := newMachine("a", nil), newMachine("b", nil)
	w := newWorld()
	w.breaks = func(int) error {
		w.carries = func(Point) float64 {
			var window float64
			_, _ = fmt.Sscanf(far.now[tcpRmem], "4096 131072 %g", &window)
			return min(965e6, window/2*8/0.010)
		}
		return nil
	}
	spec := parse(t, "factors: {window: {from: present, to: 64MiB}}\nplan: search\n")
	doc, err := Run(t.Context(), spec, meet(t, near, farEnd{far, false, w}), &Memory{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if doc.Enough == nil || doc.Enough.Value.Number != 2<<20 || doc.Steps[0].From.Number != 256<<10 {
		t.Errorf("%+v, begins with %+v", doc.Enough, doc.Steps)
	}
	if diff := cmp.Diff(near.facts.Tunables, near.now); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(near.calls, tcpWmem+"=4096 16384 8388608") {
		t.Errorf("%v", near.calls)
	}
}

// TestCannotBeSet: what a host does not have, or does not allow, is said where it is
// asked for.
func TestCannotBeSet(t *testing.T) {
	closed := newMachine("closed", nil)
	closed.facts.CanChange, closed.facts.WhyNot = false, "it runs as nobody"
	many := newMachine("many", map[string]string{"link.rps_cpus@eth1": "0"})
	many.facts.Interfaces = append(many.facts.Interfaces, host.Interface{Name: "eth1", Up: true})
	solaris := newMachine("old", nil)
	solaris.facts.OS = "solaris"
	for _, c := range []struct {
		near, far *machine
		silent    bool
		factor    string
		want      string
	}{
		{newMachine("a", nil), newMachine("b", nil), true, "far.net.ipv4.tcp_ecn: [1]", "192.0.2.2:5201 does not report its tunables: its token is needed"},
		{closed, newMachine("b", nil), false, "near.net.ipv4.tcp_ecn: [1]", "the tunables of closed cannot be set: it runs as nobody"},
		{newMachine("a", nil), closed, false, "window: [16MiB]", "the tunables of closed cannot be set: it runs as nobody"},
		{newMachine("a", nil), newMachine("b", nil), false, "near.net.ipv4.tcp_sack: [0]", "a does not have net.ipv4.tcp_sack"},
		{newMachine("a", nil), newMachine("b", nil), false, "near.ip:tcp.max_buf: [1]", "a (linux) has no tunable"},
		{many, newMachine("b", nil), false, "near.link.rps_cpus: [all]", "many has more than one interface: say which, such as near.link.rps_cpus@eth"},
		{newMachine("a", nil), many, false, "far.link.rps_cpus: [all]", ""}, // the one with the far end's address
		{newMachine("a", nil), solaris, false, "window: [16MiB]", "window is of Linux hosts, and old is not one"},
		{newMachine("a", nil), newMachine("b", nil), false, "far.link.txqueuelen: [5000]", "b has no interface with link.txqueuelen"},
	} {
		spec, err := Parse("x.yaml", []byte("name: x\nfactors: {"+c.factor+", connections: [1, 2]}"))
		if err != nil {
			if !strings.Contains(c.factor, "max_buf") { // named otherwise in the catalogue
				t.Errorf("%s: %v", c.factor, err)
			}
			continue
		}
		w := meet(t, c.near, farEnd{c.far, c.silent, newWorld()})
		points, _ := spec.Factors.points()
		err = w.Set(t.Context(), points[0])
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", c.factor, err, c.want)
		}
	}
}

// TestPutBackOfBoth: one host that is gone does not keep the other from its way back.
func TestPutBackOfBoth(t *testing.T) {
	near, far := newMachine("a", nil), newMachine("b", nil)
	w := meet(t, near, farEnd{far, false, newWorld()})
	spec := parse(t, "factors: {both.net.ipv4.tcp_ecn: [1]}")
	points, _ := spec.Factors.points()
	if err := w.Set(t.Context(), points[0]); err != nil {
		t.Fatal(err)
	}
	near.broken = true
	err := w.PutBack(t.Context())
	if err == nil || !strings.Contains(err.Error(), "revert change set sweep-1 on a: gone (it reverts by itself within 32s)") || far.open {
		t.Errorf("%v; the far set is open: %v", err, far.open)
	}
}

// TestRevertedMeanwhile: a change set that was not heard of for too long is begun anew.
func TestRevertedMeanwhile(t *testing.T) {
	near, far := newMachine("a", nil), newMachine("b", nil)
	w := meet(t, near, farEnd{far, false, newWorld()})
	points, _ := parse(t, "factors: {both.net.ipv4.tcp_ecn: [1, 0]}").Factors.points()
	if err := w.Set(t.Context(), points[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Revert(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Set(t.Context(), points[1]); err != nil || near.now["net.ipv4.tcp_ecn"] != "0" || far.now["net.ipv4.tcp_ecn"] != "0" {
		t.Errorf("%v: %s and %s", err, near.now["net.ipv4.tcp_ecn"], far.now["net.ipv4.tcp_ecn"])
	}
}

// TestMask of the first CPUs, as Linux writes it.
func TestMask(t *testing.T) {
	for cpus, want := range map[int]string{0: "1", 1: "1", 4: "f", 31: "7fffffff", 32: "ffffffff", 33: "1,ffffffff", 72: "ff,ffffffff,ffffffff"} {
		if got := mask(cpus); got != want {
			t.Errorf("%d: %s, want %s", cpus, got, want)
		}
	}
}

// TestOneMachine: two ends with the same boot share a machine, as in the lab.
func TestOneMachine(t *testing.T) {
	near, far := newMachine("a", nil), newMachine("b", nil)
	far.facts.BootID, far.facts.CPUs = "a", 2
	if got := meet(t, near, farEnd{far, false, newWorld()}).About(); !got.Shared || got.CPUs != 2 {
		t.Errorf("%+v", got)
	}
	if got := meet(t, near, farEnd{far, true, newWorld()}).About(); got.Shared || got.CPUs != 4 {
		t.Errorf("%+v", got)
	}
	far.facts.OS = "solaris" // whose kernel has what was set
	if got := meet(t, near, farEnd{far, false, newWorld()}).About().Kernels; got != (Kernels{NearDoubles: true}) {
		t.Errorf("%+v", got)
	}
}
