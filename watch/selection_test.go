package watch

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/flow"
)

// watched are flows of all kinds.
func watched() []flow.Flow {
	at := netip.MustParseAddrPort
	limit := func(cause string) diagnose.Finding { return diagnose.Finding{Cause: cause} }
	return []flow.Flow{
		{ID: "1", Local: at("198.18.0.1:36200"), Remote: at("198.18.0.2:22"), PID: 21, Process: "ssh", Goodput: 111e6, RTT: 151 * time.Millisecond, Limit: limit(diagnose.ApplicationWindow)},
		{ID: "2", Local: at("[::ffff:198.18.0.1]:443"), Remote: at("[::ffff:203.0.113.7]:50000"), PID: 30, Process: "nginx", Goodput: 5e6, RTT: 20 * time.Millisecond,
			Lost: 0.0123, Limit: limit(diagnose.RandomLoss)},
		{ID: "3", Local: at("[2001:db8::1]:40000"), Remote: at("[2001:db8::2]:443"), PID: 22, Process: "curl", Goodput: 20e6, RTT: 300 * time.Millisecond, Limit: limit(diagnose.SlowReceiver)},
		{ID: "4", Local: at("[fe80::1%eth0]:22"), Remote: at("[fe80::2%eth0]:50001"), Goodput: 1e6, Limit: limit(diagnose.Unknown)},
		{ID: "5", Local: at("198.18.0.1:36300"), Remote: at("198.18.0.3:5432"), PID: 23, Process: "psql", Idle: true, Limit: limit(diagnose.Unknown)},
		{ID: "6", Local: at("198.18.0.1:800"), Remote: at("198.18.0.4:2049"), Process: flow.Kernel, Goodput: 3e6, RTT: time.Millisecond},
	}
}

func TestSelection(t *testing.T) {
	prefix := netip.MustParsePrefix
	for _, test := range []struct {
		name string
		Selection
		want string // IDs in their order
	}{
		{"what moves, the fastest first", Selection{}, "1 3 2 6 4"},
		{"idle too", Selection{Idle: true}, "1 3 2 6 4 5"},
		{"by RTT", Selection{Sort: ByRTT}, "3 1 2 6 4"},
		{"by what was sent again", Selection{Sort: ByRetransmissions}, "2 1 3 6 4"},
		{"by process; unknown ones first", Selection{Sort: ByProcess}, "4 3 6 2 1"},
		{"the first two", Selection{Top: 2}, "1 3"},
		{"processes", Selection{Processes: []string{"SSH", "22"}}, "1 3"},
		{"half a name is none", Selection{Processes: []string{"ss"}}, ""},
		{"a far end", Selection{Remotes: []netip.Prefix{prefix("198.18.0.2/32")}}, "1"},
		{"IPv4 on a socket for both", Selection{Remotes: []netip.Prefix{prefix("203.0.113.0/24")}}, "2"},
		{"IPv6", Selection{Remotes: []netip.Prefix{prefix("2001:db8::/32"), prefix("fe80::/10")}}, "3 4"},
		{"ports of either end", Selection{Ports: []uint16{443, 2049}}, "3 2 6"},
		{"causes", Selection{Causes: []string{diagnose.RandomLoss, diagnose.SlowReceiver}}, "3 2"},
		{"all of several conditions", Selection{Ports: []uint16{443}, Causes: []string{diagnose.RandomLoss}}, "2"},
		{"text: process", Selection{Text: "NGI"}, "2"},
		{"text: number of a process", Selection{Text: "[21]"}, "1"},
		{"text: address", Selection{Text: "203.0"}, "2"},
		{"text: port", Selection{Text: ":2049"}, "6"},
		{"text: cause", Selection{Text: "application"}, "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := watched()
			var ids []string
			for _, f := range test.Of(all) {
				ids = append(ids, f.ID)
			}
			if d := cmp.Diff(test.want, strings.Join(ids, " ")); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(watched(), all, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }), cmp.AllowUnexported(diagnose.Finding{})); d != "" {
				t.Errorf("what is selected from has changed: %s", d)
			}
		})
	}
}

// Linux keeps 15 bytes of a program's name; people type all of it.
func TestLongName(t *testing.T) {
	all := []flow.Flow{{Process: "prometheus-node"}, {Process: "prometheus"}}
	for name, want := range map[string]int{"prometheus-node-exporter": 1, "prometheus-node": 1, "prometheus": 1, "prometheu": 0} {
		s := Selection{Processes: []string{name}}
		if got := s.Of(all); len(got) != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestParseRemote(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "192.0.2.7/24": "192.0.2.0/24", "::ffff:192.0.2.1": "192.0.2.1/32",
		"[2001:db8::1]": "2001:db8::1/128", "fe80::1%eth0": "fe80::1/128", "2001:db8::/32": "2001:db8::/32",
	} {
		if got, err := ParseRemote(text); err != nil || got.String() != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}
