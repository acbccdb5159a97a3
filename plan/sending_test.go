package plan

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// went is a transfer whose streams went to these addresses with a congestion control.
func went(congestion string, to ...string) *bulk.Result {
	b := &bulk.Result{}
	for i, remote := range to {
		b.Client.Streams = append(b.Client.Streams, bulk.Stream{ID: i + 1, Sender: true, Remote: remote, Congestion: congestion})
	}
	return b
}

// Which tunable moves a sender to BBR, if any: its default, or the route to the
// receiver where that says what to use, or where the default is not this network
// namespace's to choose.
func TestHowToUseBBR(t *testing.T) {
	const route, far = "route.congctl@198.18.0.0/15", "198.18.0.2:5201"
	// Whoever has a namespace to itself may choose among what the kernel allows there.
	inner := func(h *host.Facts) {
		h.ReadOnly, h.Tunables[allowed] = []string{rmemMax}, "reno cubic"
	}
	for name, c := range map[string]struct {
		change   func(*host.Facts)
		baseline *bulk.Result
		cause    string
		want     string
		note     string
	}{
		"the default":                           {func(*host.Facts) {}, nil, diagnose.RandomLoss, control, ""},
		"no reason to":                          {func(*host.Facts) {}, nil, diagnose.Unknown, "", ""},
		"it is the default already":             {func(h *host.Facts) { h.Tunables[control] = "bbr" }, nil, diagnose.RandomLoss, "", ""},
		"the route says what to use":            {func(h *host.Facts) { h.Tunables[route] = "cubic" }, nil, diagnose.RandomLoss, route, ""},
		"so it did in the transfer":             {func(h *host.Facts) { h.Tunables[route] = "reno" }, went("reno", far), diagnose.RandomLoss, route, ""},
		"the transfer used the default instead": {func(h *host.Facts) { h.Tunables[route] = "reno" }, went("cubic", far), diagnose.RandomLoss, control, ""},
		"the transfer used neither":             {func(h *host.Facts) { h.Tunables[route] = "reno" }, went("vegas", far), diagnose.RandomLoss, "", "The transfer used vegas although the default of a is cubic"},
		"the route says BBR":                    {func(h *host.Facts) { h.Tunables[route] = "bbr" }, went("cubic", far), diagnose.RandomLoss, "", ""},
		"not allowed here":                      {inner, nil, diagnose.RandomLoss, "", "allows only: reno cubic"},
		"not allowed here, but for the route": {func(h *host.Facts) {
			inner(h)
			h.Tunables[route] = ""
		}, nil, diagnose.RandomLoss, route, ""},
		"the route is no way around the default": {func(h *host.Facts) {
			inner(h)
			h.Tunables[route], h.Tunables[control] = "", "bbr"
		}, went("cubic", far), diagnose.RandomLoss, "", ""},
		"a namespace that allows it": {func(h *host.Facts) {
			inner(h)
			h.Tunables[allowed] = "reno bbr cubic"
		}, nil, diagnose.RandomLoss, control, ""},
		"a namespace of which nobody asks here": {func(h *host.Facts) {
			inner(h)
			h.CanChange = false
		}, nil, diagnose.RandomLoss, control, ""},
		"the whole machine, of which the list says less": {func(h *host.Facts) { h.Tunables[allowed] = "reno cubic" }, nil, diagnose.RandomLoss, control, ""},
	} {
		h := linux("a")
		c.change(h)
		m := newMaker(Input{Path: between(100*unit.Mbps, 40*ms), Direction: bulk.Forward, Sender: h, Baseline: c.baseline, Diagnosis: found(c.cause), OneEnd: true})
		got := ""
		if i := congestion(m, h); i != nil {
			got = m.chooses
		}
		if notes := strings.Join(m.notes, "\n"); got != c.want || !strings.Contains(notes, c.note) {
			t.Errorf("%s: by %q, want %q; notes %q", name, got, c.want, notes)
		}
	}
}

// The route to the receiver is the most specific one that holds its address; without
// a transfer, the only one there is. The default route is no single destination.
func TestRoute(t *testing.T) {
	routes := func(prefixes ...string) *host.Facts {
		h := linux("a")
		for _, p := range prefixes {
			h.Tunables["route.congctl@"+p] = "cubic"
		}
		return h
	}
	for _, c := range []struct {
		h    *host.Facts
		to   string // "": no transfer
		want string
	}{
		{routes(), "", ""},
		{routes("198.18.0.0/15"), "", "198.18.0.0/15"},
		{routes("198.18.0.0/15", "10.0.0.0/8"), "", ""},
		{routes("198.18.0.0/15", "0.0.0.0/0", "::/0", "odd"), "", "198.18.0.0/15"},
		{routes("0.0.0.0/0"), "198.18.0.2:5201", ""},
		{routes("198.18.0.0/15", "198.18.0.0/24", "198.0.0.0/8"), "198.18.0.2:5201", "198.18.0.0/24"},
		{routes("198.18.0.0/15", "10.0.0.0/8"), "10.1.2.3:5201", "10.0.0.0/8"},
		{routes("198.18.0.0/15", "198.18.0.2"), "198.18.0.2:5201", "198.18.0.2"}, // as ip-route(8) writes it
		{routes("198.18.0.0/15"), "10.1.2.3:5201", ""},
		{routes("fd00::/64"), "[fd00::2%eth0]:5201", "fd00::/64"},
		{routes("198.18.0.0/15"), "[::ffff:198.18.0.2]:5201", "198.18.0.0/15"},
		{routes("198.18.0.0/15"), "nowhere", "198.18.0.0/15"}, // as without a transfer
		{routes("198.18.0.0/15"), "host:5201", "198.18.0.0/15"},
	} {
		m := &maker{Input: Input{Direction: bulk.Forward}}
		for _, streams := range [][]string{{c.to}, {"", c.to}} { // the first that says so counts
			if c.to != "" {
				m.Baseline = went("cubic", streams...)
			}
			if got := strings.TrimPrefix(m.route(c.h), "route.congctl@"); got != c.want {
				t.Errorf("to %q: %q, want %q", streams, got, c.want)
			}
		}
	}
}

// Bursts that a queue or a bucket does not take are spread by fq on the sender's
// interface, in place of the usual disciplines. Where a card has several queues, it
// is said how.
func TestPacing(t *testing.T) {
	for _, c := range []struct {
		qdisc, cause string
		want         bool
		note         string
	}{
		{"pfifo_fast", diagnose.ShallowQueue, true, ""},
		{"fq_codel", diagnose.Policer, true, ""},
		{"fq_codel", diagnose.RandomLoss, false, ""},
		{"htb", diagnose.Policer, false, ""}, // somebody's choice, mostly to shape
		{"mq", diagnose.Policer, false, "fq may help on eth0 of b, which has several send queues: with net.core.default_qdisc=fq, tc qdisc replace dev eth0 root mq"},
	} {
		h := card("link.qdisc@eth0", c.qdisc)
		m := newMaker(Input{Path: between(unit.Gbps, 10*ms), Direction: bulk.Forward, Sender: h, Diagnosis: found(c.cause), OneEnd: true})
		m.notes = nil
		i := pacing(m, h)
		if notes := strings.Join(m.notes, "\n"); (i != nil && len(i.Changes) > 0) != c.want || !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s, %s: %+v, notes %q", c.qdisc, c.cause, i, notes)
		}
	}
}

// A sender paused if it was idle for longer than its retransmission timeout.
func TestPauses(t *testing.T) {
	for _, c := range []struct {
		rto, idle uint32 // us, ms
		want      bool
	}{
		{200_000, 201, true}, {200_000, 200, false}, {200_000, 0, false},
		{0, 900, false}, // the kernel does not tell
		{4_294_967_295, 4_294_968, true},
	} {
		b := saw(0, 10*ms)
		b.Client.Streams[0].Samples[1].TCP.RTO, b.Client.Streams[0].Samples[1].TCP.LastDataSent = c.rto, c.idle
		m := &maker{Input: Input{Direction: bulk.Forward, Baseline: b}}
		if got := m.pauses(); got != c.want {
			t.Errorf("idle for %d ms, the timeout is %d us: %v", c.idle, c.rto, got)
		}
	}
	if (&maker{}).pauses() {
		t.Error("nothing was seen, and yet it paused")
	}
}

// With a capacity that is only assumed nothing is known of how long a repair takes.
func TestSlowRepair(t *testing.T) {
	for _, c := range []struct {
		path *path.Estimate
		want bool
	}{
		{between(unit.Gbps, 150*ms), true}, // 21 s
		{between(100*unit.Mbps, 40*ms), false},
		{nil, false},
	} {
		m := newMaker(Input{Path: c.path, Direction: bulk.Forward, Sender: linux("a"), OneEnd: true})
		if got := strings.Contains(m.bbr, "CUBIC needs 21 s"); got != c.want {
			t.Errorf("%+v: %q", c.path, m.bbr)
		}
	}
}
