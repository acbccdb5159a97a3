package lab

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

func netScenario(t *testing.T, text string) *Scenario {
	t.Helper()
	s, err := Parse("x.yaml", []byte("name: x\nnetwork:\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRoutes: packets go by the fewest trunks, and meet what is between two hosts alone.
func TestRoutes(t *testing.T) {
	s := netScenario(t, `
  switches: [{name: one}, {name: two, buffer: 1MB}, {name: three}]
  hosts:
    - {name: a, count: 2, port: {rate: 1gbit, delay: 1ms}}
    - {name: b, switch: three, port: {rate: 1gbit, delay: 2ms}, up: {rate: 100mbit, delay: 3ms}}
  trunks:
    - {from: one, to: two, link: {rate: 1gbit, delay: 10ms}}
    - {from: three, to: two, link: {rate: 1gbit, delay: 20ms}, back: {rate: 1gbit, delay: 30ms}}
    - {from: one, to: two, link: {rate: 1gbit, delay: 99ms}}
  ways:
    - {from: a2, to: b, link: {loss: 1%}}
`)
	f, err := s.Network.fabric(addressesOf(3))
	if err != nil {
		t.Fatal(err)
	}
	over := func(from, to int) (names []string) {
		for _, link := range f.Routes[from][to] {
			names = append(names, f.Links[link].Name)
		}
		return names
	}
	for _, test := range []struct {
		from, to int
		want     string
	}{
		{0, 1, "a1 to one, one to a2"},
		{0, 2, "a1 to one, one to two, two to three, three to b"},
		{1, 2, "a2 to one, one to two, two to three, a2 to b, three to b"},
		{2, 1, "b to three, three to two, two to one, one to a2"},
		{2, 2, ""},
	} {
		if got := strings.Join(over(test.from, test.to), ", "); got != test.want {
			t.Errorf("from %d to %d: %s, want %s", test.from, test.to, got, test.want)
		}
	}
	// b's port: 3 ms up, 2 ms down; trunks there 20 ms and 10 ms, back 10 ms and 30 ms; a's port twice 1 ms.
	if rtt := f.Links[slices.IndexFunc(f.Links, func(l wire.Link) bool { return l.Name == "three to b" })].RTT; rtt != 77*time.Millisecond {
		t.Errorf("the longest round trip over b's port is %v", rtt)
	}
	for _, link := range f.Links {
		if want := strings.HasPrefix(link.Name, "two to "); (link.Buffer > 0) != want {
			t.Errorf("%s: buffer %d", link.Name, link.Buffer)
		}
	}
}

// TestCard: a host's own port has the rate of its switch's, by its kernel, and room for what that
// lets out at once; what up says stands instead.
func TestCard(t *testing.T) {
	s := netScenario(t, `
  switches: [{name: lan}]
  hosts:
    - {name: a, port: {rate: 100mbit, delay: 1ms, loss: 1%}}
    - {name: b, port: {rate: 100mbit}, shape: 50mbit}
    - {name: c, port: {rate: 100mbit}, up: {rate: 20mbit, queue: 10p}}
`)
	for name, want := range map[string]unit.Rate{"a": 100 * unit.Mbps, "b": 50 * unit.Mbps, "c": 0} {
		if got := s.spec(name).Shape; got != want {
			t.Errorf("%s is shaped to %v, want %v", name, got, want)
		}
	}
	hosts := s.Network.all()
	up := hosts[0].up(1500)
	_, burst, _ := bucket(100*unit.Mbps, 1500)
	if up.Rate != 100*unit.Mbps || up.Delay != time.Millisecond || up.Loss != (wire.Loss{}) || up.Queue.Bytes < unit.Size(burst)+64*unit.KiB {
		t.Errorf("a's own port: %+v", up)
	}
	if up := hosts[2].up(1500); up.Rate != 20*unit.Mbps || up.Queue.Packets != 10 {
		t.Errorf("c's own port: %+v", up)
	}
}

// TestLoadNetwork: who needs a path is told that this scenario has none.
func TestLoadNetwork(t *testing.T) {
	for _, s := range Networks() {
		_, err := Load(s.Name)
		if many, ok := errors.AsType[*ErrNetwork](err); !ok || many.Scenario.Name != s.Name || !strings.Contains(err.Error(), s.Network.HostNames()[0]) {
			t.Errorf("%v", err)
		}
		if again, err := LoadAny(s.Name); err != nil || again != s {
			t.Errorf("%v", err)
		}
		if slices.Contains(Builtin(), s) || slices.Contains(OfTransfers(), s) {
			t.Errorf("%s is among those of two hosts", s.Name)
		}
		for _, name := range s.HostNames() {
			if h := s.spec(name); h.Congestion == "" || h.Sysctl["net.ipv4.tcp_rmem"] == "" || h.Sysctl["net.ipv4.tcp_wmem"] == "" {
				t.Errorf("%s: host %s follows the machine's settings", s.Name, name)
			}
		}
	}
	if len(Networks()) < 4 {
		t.Errorf("%d networks", len(Networks()))
	}
}

// What is far out of its range is an error, not a machine without memory.
func TestAbsurdNetworks(t *testing.T) {
	for _, count := range []string{"1000000000", "-5", "9223372036854775807"} {
		_, err := Parse("x.yaml", []byte("name: x\nnetwork: {switches: [{name: lan}], hosts: [{name: a, count: "+count+", port: {rate: 1gbit}}]}"))
		if err == nil || !strings.Contains(err.Error(), "is not within 1 and 64") {
			t.Errorf("%s hosts: %v", count, err)
		}
	}
}
