package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// card is a Linux host with one network card of 10 Gb/s and its tunables.
func card(changes ...string) *host.Facts {
	h := linux("b")
	h.CPUs = 8
	h.Interfaces = []host.Interface{{Name: "lo", Up: true}, {Name: "eth0", Up: true, Speed: 10000}}
	for i := 0; i < len(changes); i += 2 {
		h.Tunables[changes[i]] = changes[i+1]
	}
	return h
}

// What goes through one of several interfaces is planned for that one: the one that
// carried the transfer, or the only one that is up.
func TestLinks(t *testing.T) {
	up := func(names ...string) []host.Interface {
		all := []host.Interface{{Name: "lo", Up: true}}
		for _, name := range names {
			all = append(all, host.Interface{Name: strings.TrimPrefix(name, "!"), Up: !strings.HasPrefix(name, "!")})
		}
		return all
	}
	used := func(names ...string) *bulk.Result {
		b := &bulk.Result{}
		for _, name := range names {
			b.Server.Links = append(b.Server.Links, host.LinkDelta{Name: strings.TrimPrefix(name, "!"), Used: !strings.HasPrefix(name, "!")})
		}
		return b
	}
	for name, c := range map[string]struct {
		there    []host.Interface
		baseline *bulk.Result
		want     []string
	}{
		"the only one":                        {up("eth0"), nil, []string{"eth0"}},
		"the only one that is up":             {up("!eth0", "eth1"), nil, []string{"eth1"}},
		"one of two":                          {up("eth0", "eth1"), nil, nil},
		"the one that was used":               {up("eth0", "eth1"), used("!eth0", "eth1"), []string{"eth1"}},
		"both were used":                      {up("eth0", "eth1"), used("eth0", "eth1"), []string{"eth0", "eth1"}},
		"a transfer that does not say":        {up("eth0"), used(), []string{"eth0"}},
		"none that is there was used":         {up("eth0"), used("eth7"), []string{"eth0"}},
		"which of two carried it is not said": {up("eth0", "eth1"), used("!eth0"), nil},
	} {
		m := &maker{Input: Input{Direction: bulk.Forward, Baseline: c.baseline}}
		var got []string
		for _, l := range m.links(&host.Facts{Interfaces: c.there}, false) {
			got = append(got, l.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A queue holds what comes in a time slice of 4 ms, as a power of two: of the card's
// own rate, or of the path's where the card does not tell.
func TestSlice(t *testing.T) {
	for _, c := range []struct {
		speed int // Mb/s
		path  unit.Rate
		want  int64
	}{
		{10, unit.Gbps, 4}, // 3.3 packets of 1500 bytes
		{10000, unit.Mbps, 4096},
		{100000, unit.Mbps, largestQueue},
		{0, 24 * unit.Mbps, 8}, // just 8 packets
		{0, 25 * unit.Mbps, 16},
		{0, 1000, 1},
	} {
		m := newMaker(Input{Path: between(c.path, ms), OneEnd: true})
		if got := m.slice(link{Interface: host.Interface{Speed: c.speed}}); got != c.want {
			t.Errorf("a card of %d Mb/s on a path of %v: %d, want %d", c.speed, c.path, got, c.want)
		}
	}
}

// Larger packets are advised on fast networks nearby that carry the usual ones.
func TestJumbo(t *testing.T) {
	for _, c := range []struct {
		rate unit.Rate
		rtt  time.Duration
		mtu  int
		want bool
	}{
		{unit.Gbps, ms, 1500, true},
		{unit.Gbps, 2 * ms, 1500, true},
		{unit.Gbps, ms, 0, true},
		{unit.Gbps, ms, 1400, true},
		{unit.Gbps - 1, ms, 1500, false},
		{unit.Gbps, 2*ms + 1, 1500, false},
		{unit.Gbps, 0, 1500, false},
		{unit.Gbps, ms, 1501, false},
	} {
		m := newMaker(Input{Path: Given(c.rate, c.rtt, c.mtu), OneEnd: true})
		m.jumbo(linux("b"), "ip link")
		if got := strings.Contains(strings.Join(m.notes, "\n"), "Packets of 9000 bytes cost b less CPU for the same data, if every device between the hosts takes them: ip link."); got != c.want {
			t.Errorf("%v, %v, MTU %d: %v, want %v", c.rate, c.rtt, c.mtu, got, c.want)
		}
	}
}

// What the card, its driver and the queue before it show is answered; nothing else.
func TestCard(t *testing.T) {
	missed := func(frames int64) *bulk.Result {
		return &bulk.Result{Server: bulk.End{Links: []host.LinkDelta{{Name: "eth0", Used: true, LinkCounters: host.LinkCounters{RxMissed: frames}}}}}
	}
	const ring = "link.ring.rx@eth0"
	for name, c := range map[string]struct {
		h        *host.Facts
		baseline *bulk.Result
		verdict  string
		streams  int
		want     []string
		note     string // "": none
	}{
		"a short ring that missed frames":     {card(ring, "256"), missed(5), "", 1, []string{ring + " = 4096"}, ""},
		"a short ring that missed none":       {card(ring, "256"), missed(0), "", 1, nil, ""},
		"a ring that holds a time slice":      {card(ring, "4096"), missed(5), "", 1, nil, "eth0 of b missed 5 frames although its ring holds 4096, what comes in 4 ms"},
		"a ring of which nothing is known":    {card(), missed(5), "", 1, nil, ""},
		"a full backlog":                      {card("net.core.netdev_max_backlog", "1000"), &bulk.Result{Server: bulk.End{Counters: map[string]int64{softnetDropped: 3}}}, "", 1, []string{"net.core.netdev_max_backlog = 2000"}, ""},
		"a backlog of which nothing is known": {card(), &bulk.Result{Server: bulk.End{Counters: map[string]int64{softnetDropped: 3}}}, "", 1, nil, ""},
		"offloads that are off": {card("link.offload.rx@eth0", "0", "link.offload.gro@eth0", "0", "link.offload.tso@eth0", "0"), nil, diagnose.ReceiverCPU, 1,
			[]string{"link.offload.rx@eth0 = 1", "link.offload.gro@eth0 = 1"}, ""},
		"few queues, and several connections": {queued(card("link.channels.combined@eth0", "2"), 16), nil, diagnose.ReceiverCPU, 4, []string{"link.channels.combined@eth0 = 8"}, ""},
		"few queues, and one connection":      {queued(card("link.channels.combined@eth0", "2"), 16), nil, diagnose.ReceiverCPU, 1, nil, ""},
		"no queues to speak of":               {card(), nil, diagnose.ReceiverCPU, 4, nil, ""},
	} {
		in := Input{Path: between(100*unit.Mbps, 10*ms), Direction: bulk.Forward, Receiver: c.h, Baseline: c.baseline, Streams: c.streams, OneEnd: true}
		if c.verdict != "" {
			in.Diagnosis = found(c.verdict)
		}
		p := Make(in)
		var got []string
		for _, s := range p.Steps {
			got = append(got, values(s.Changes)...)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		notes := slices.DeleteFunc(p.Notes, func(n string) bool { return n == unplannable[c.verdict] })
		if text := strings.Join(notes, "\n"); !strings.Contains(text, c.note) || c.note == "" && text != "" {
			t.Errorf("%s: notes %q, want %q", name, text, c.note)
		}
	}
}

// queued is a host whose card can have so many queues.
func queued(h *host.Facts, most int64) *host.Facts {
	h.Most = map[string]int64{"link.channels.combined@eth0": most}
	return h
}

// How many receive queues an interface has, and could have: no more than the device
// takes, nor than there are processors. One connection stays in one of them.
func TestQueues(t *testing.T) {
	for _, c := range []struct {
		queues        string
		most          int64
		cpus, streams int
		now, could    int64
	}{
		{"2", 16, 8, 4, 2, 8},
		{"2", 4, 8, 4, 2, 4},
		{"2", 4, 8, 2, 2, 4},
		{"2", 16, 8, 1, 2, 2},
		{"8", 4, 8, 4, 8, 8},
		{"2", 0, 8, 4, 2, 2}, // what the device takes is not known
		{"0", 16, 8, 4, 0, 0},
		{"", 16, 8, 4, 0, 0},
	} {
		h := queued(card("link.channels.combined@eth0", c.queues), c.most)
		h.CPUs = c.cpus
		m := &maker{Input: Input{Streams: c.streams}}
		if now, could := m.queues(h, link{Interface: host.Interface{Name: "eth0"}}); now != c.now || could != c.could {
			t.Errorf("%+v: %d, could be %d", c, now, could)
		}
	}
}

// Packets are spread over all processors (RPS) where one is the limit, nobody has
// done so, and the queues are half as many as the processors at most.
func TestSteering(t *testing.T) {
	for _, c := range []struct {
		rps, queues string
		cpus        int
		verdict     string
		want        string
	}{
		{"0", "2", 4, diagnose.ReceiverCPU, "f"},
		{"00000000,00000000", "1", 4, diagnose.ReceiverCPU, "f"},
		{"0", "3", 4, diagnose.ReceiverCPU, ""},
		{"0", "1", 2, diagnose.ReceiverCPU, "3"},
		{"0", "1", 1, diagnose.ReceiverCPU, ""},
		{"3", "2", 8, diagnose.ReceiverCPU, ""}, // somebody's choice
		{"0", "0", 8, diagnose.ReceiverCPU, ""}, // how many queues there are is not known
		{"0", "", 8, diagnose.ReceiverCPU, ""},
		{"0", "1", 4, diagnose.SenderCPU, ""},
	} {
		h := card("link.rps_cpus@eth0", c.rps, "link.channels.combined@eth0", c.queues)
		h.CPUs = c.cpus
		m := newMaker(Input{Path: between(unit.Gbps, 10*ms), Receiver: h, Diagnosis: found(c.verdict), OneEnd: true})
		got := ""
		if i := steering(m, h); i != nil && len(i.Changes) > 0 {
			got = i.Changes[0].To
		}
		if got != c.want || got != "" && len(m.notes) > 0 {
			t.Errorf("%+v: %q, notes %q", c, got, m.notes)
		}
	}
}

// A plain queue before the interface is lengthened where it overflowed: what it
// dropped since it was set up counts only where the transfer lost packets.
func TestSendQueue(t *testing.T) {
	const name = "link.txqueuelen@eth0"
	for about, c := range map[string]struct {
		kind     string // of the qdisc
		drops    int64  // since it was set up
		dropped  int64  // during the transfer
		verdicts []string
		length   string
		want     bool
	}{
		"dropped during the transfer":              {"pfifo_fast", 0, 5, []string{diagnose.Unknown}, "100", true},
		"dropped at some time, and random loss":    {"pfifo_fast", 5, 0, []string{diagnose.RandomLoss}, "100", true},
		"dropped at some time, and a short queue":  {"pfifo", 5, 0, []string{diagnose.ShallowQueue}, "100", true},
		"dropped at some time, and both":           {"pfifo", 5, 0, []string{diagnose.ShallowQueue, diagnose.RandomLoss}, "100", true},
		"dropped at some time, and nothing lost":   {"pfifo_fast", 5, 0, []string{diagnose.Unknown}, "100", false},
		"nothing dropped":                          {"pfifo_fast", 0, 0, []string{diagnose.RandomLoss}, "100", false},
		"a queue with a limit of its own":          {"fq_codel", 5, 5, []string{diagnose.RandomLoss}, "100", false},
		"what another queue dropped is not its":    {"mq", 5, 0, []string{diagnose.RandomLoss}, "100", false},
		"a length that is not known":               {"pfifo_fast", 5, 5, []string{diagnose.RandomLoss}, "", false},
		"a queue of which the kind is not known":   {"", 0, 5, []string{diagnose.RandomLoss}, "100", true},
		"one for each of the card's queues (mq)":   {"mq", 0, 5, []string{diagnose.RandomLoss}, "100", true},
		"a queue that somebody put there to shape": {"htb", 0, 5, []string{diagnose.RandomLoss}, "100", false},
	} {
		h := card(name, c.length)
		if c.kind != "" {
			h.Tunables["link.qdisc@eth0"] = c.kind
		}
		h.Interfaces[1].Qdiscs = []host.Qdisc{{Kind: c.kind, Drops: c.drops}}
		b := &bulk.Result{Client: bulk.End{Links: []host.LinkDelta{{Name: "eth0", Used: true, LinkCounters: host.LinkCounters{TxDropped: c.dropped}}}}}
		m := newMaker(Input{Path: between(unit.Gbps, 10*ms), Direction: bulk.Forward, Sender: h, Baseline: b, Diagnosis: found(c.verdicts...), OneEnd: true})
		i := sendQueue(m, h)
		if got := len(i.Changes) > 0; got != c.want || got && i.Changes[0].To != "4096" || got != (i.Risk != "") {
			t.Errorf("%s: %+v, want %v", about, i, c.want)
		}
	}
}
