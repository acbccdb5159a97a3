package plan

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// end is what the sending or the receiving host recorded of the baseline, nil
// without one.
func (m *maker) end(sender bool) *bulk.End {
	switch {
	case m.Baseline == nil:
		return nil
	case sender == (m.Direction == bulk.Forward):
		return &m.Baseline.Client
	}
	return &m.Baseline.Server
}

// counted is how often a kernel counter went up at one end during the baseline.
func (m *maker) counted(sender bool, name string) int64 {
	if end := m.end(sender); end != nil {
		return end.Counters[name]
	}
	return 0
}

// link is an interface of a host that the transfer goes through.
type link struct {
	host.Interface
	counted host.LinkDelta // during the baseline
}

// links are the interfaces that carried the baseline; without one, the only
// interface that is up.
func (m *maker) links(h *host.Facts, sender bool) []link {
	var all []link
	if end := m.end(sender); end != nil {
		for _, l := range end.Links {
			for _, i := range h.Interfaces {
				if l.Used && i.Name == l.Name {
					all = append(all, link{i, l})
				}
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	for _, i := range h.Interfaces {
		if i.Up && i.Name != "lo" {
			all = append(all, link{Interface: i})
		}
	}
	if len(all) != 1 {
		return nil
	}
	return all
}

// of is the name of this interface's tunable.
func (l link) of(base string) string { return tunable.Join(base, l.Name) }

// slice is how many packets arrive on an interface while the processor that is
// to take them does something else for a time slice, as a power of two: what a
// queue in front of it has to hold.
func (m *maker) slice(l link) int64 {
	rate := m.need.rate
	if l.Speed > 0 {
		rate = unit.Rate(l.Speed) * unit.Mbps
	}
	packets := float64(rate.BytesIn(timeSlice)) / m.mtu()
	if !(packets < largestQueue) {
		return largestQueue
	}
	return 1 << bits.Len64(uint64(max(1, math.Ceil(packets)))-1)
}

// largestQueue bounds queues of packets: what fast cards have at most, and what
// ESnet uses at 100 Gb/s (https://fasterdata.es.net/host-tuning/100g-tuning).
const largestQueue = 8192

// rings gives the network card room for what comes while its processor is busy,
// where frames were lost for want of it.
func rings(m *maker, h *host.Facts) *idea {
	i := &idea{answers: []string{diagnose.ReceiverCPU, diagnose.RandomLoss}, limit: unlimited, after: unlimited}
	i.Idea = "let the network card keep what comes while its processor is busy"
	for _, l := range m.links(h, false) {
		name := l.of("link.ring.rx")
		if l.counted.RxMissed <= 0 || h.Tunables[name] == "" {
			continue
		}
		want := m.slice(l)
		if number(h.Tunables[name], 0) >= want {
			m.note("%s of %s missed %d frames although its ring holds %s, what comes in %s: its processor is too slow, not its ring too short.",
				l.Name, h.Name, l.counted.RxMissed, h.Tunables[name], unit.Milliseconds(timeSlice))
			continue
		}
		i.Changes = append(i.Changes, m.change(h, name, fmt.Sprint(want),
			fmt.Sprintf("%d frames found the ring full during the transfer; up to %d can come while the processor is away for %s", l.counted.RxMissed, want, unit.Milliseconds(timeSlice)))...)
		i.Risk = risk(h, name)
	}
	return i
}

// The counters of /proc/net/softnet_stat, all processors together.
const (
	softnetDropped  = "Softnet.Dropped"     // its second column: packets that found a backlog full
	softnetSqueezed = "Softnet.TimeSqueeze" // its third: rounds that ended with packets left
)

// softnet gives the receiving processors longer queues and rounds, where either
// was too short.
func softnet(m *maker, h *host.Facts) *idea {
	i := &idea{answers: []string{diagnose.ReceiverCPU, diagnose.RandomLoss}, limit: unlimited, after: unlimited}
	i.Idea = "let the receiving processors take more packets at a time"
	twice := func(name, why string) {
		t, ok := tunable.Lookup(h.OS, name)
		if !ok || h.Tunables[name] == "" {
			return
		}
		usual, ok := t.Default(h.Version)
		if !ok {
			return
		}
		i.Changes = append(i.Changes, m.change(h, name, fmt.Sprint(2*number(usual, 0)), why)...)
		i.Risk = t.Risk
	}
	if n := m.counted(false, softnetDropped); n > 0 {
		twice("net.core.netdev_max_backlog", fmt.Sprintf("%d packets found the backlog of a processor full during the transfer; twice what the kernel comes with is the usual first step", n))
	}
	// Rounds are cut short on every busy host; that only matters where the processor limits.
	if n := m.counted(false, softnetSqueezed); n > 0 && m.finding(diagnose.ReceiverCPU) != nil {
		why := fmt.Sprintf("%d rounds of receiving ended with packets left during the transfer; twice what the kernel comes with is the usual first step", n)
		twice("net.core.netdev_budget", why)
		twice("net.core.netdev_budget_usecs", why)
	}
	return i
}

// sendQueue lengthens a plain queue in front of the interface that overflowed.
// What the queue has dropped it counts since it was set up, so that only shows
// something where the transfer lost packets.
func sendQueue(m *maker, h *host.Facts) *idea {
	i := &idea{answers: []string{diagnose.RandomLoss, diagnose.ShallowQueue}, limit: unlimited, after: unlimited}
	i.Idea = "let the sender's own queue hold its bursts"
	lost := m.finding(diagnose.RandomLoss) != nil || m.finding(diagnose.ShallowQueue) != nil
	for _, l := range m.links(h, true) {
		name := l.of("link.txqueuelen")
		dropped := l.counted.TxDropped
		for _, q := range l.Qdiscs {
			if lost && (q.Kind == "pfifo_fast" || q.Kind == "pfifo") { // others have limits of their own
				dropped = max(dropped, q.Drops)
			}
		}
		if dropped <= 0 || h.Tunables[name] == "" || !plainQueue(h.Tunables[l.of("link.qdisc")]) {
			continue
		}
		i.Changes = append(i.Changes, m.change(h, name, fmt.Sprint(m.slice(l)), fmt.Sprintf("%d packets found the queue before %s full", dropped, l.Name))...)
		i.Risk = risk(h, name)
	}
	return i
}

// plainQueue says whether a queueing discipline's length is that of the
// interface; "" is one that is not known.
func plainQueue(kind string) bool {
	return kind == "" || kind == "pfifo_fast" || kind == "pfifo" || kind == "mq"
}

// offloads are turned on where a processor is the limit.
func offloads(m *maker, h *host.Facts, sender bool, cause string, names ...string) *idea {
	if m.finding(cause) == nil {
		return nil
	}
	i := &idea{answers: []string{cause}, limit: unlimited, after: unlimited}
	i.Idea = "let the network card do for each packet what the processor does now"
	for _, l := range m.links(h, sender) {
		for _, name := range names {
			if name = l.of("link.offload." + name); h.Tunables[name] == "0" {
				i.Changes = append(i.Changes, m.change(h, name, "1", "it is off, and the "+side(sender)+"'s processor is what limits")...)
				i.Risk = risk(h, name)
			}
		}
	}
	return i
}

func side(sender bool) string {
	if sender {
		return "sender"
	}
	return "receiver"
}

func sendOffloads(m *maker, h *host.Facts) *idea {
	return offloads(m, h, true, diagnose.SenderCPU, "tx", "sg", "tso", "gso")
}

func receiveOffloads(m *maker, h *host.Facts) *idea {
	return offloads(m, h, false, diagnose.ReceiverCPU, "rx", "gro")
}

// spreads says whether the receiving host has processors to spare: one of several
// is what limits, and not a quota, which more of them do not make larger.
func (m *maker) spreads(h *host.Facts) bool {
	f := m.finding(diagnose.ReceiverCPU)
	if f == nil || h.CPUs < 2 {
		return false
	}
	return f.CPUQuota == 0
}

// queues are the receive queues that an interface has, and those that it could
// have: no more than the device takes, nor than there are processors to serve
// them. A single connection stays in one queue, whatever there is.
func (m *maker) queues(h *host.Facts, l link) (now, could int64) {
	name := l.of("link.channels.combined")
	now = number(h.Tunables[name], 0)
	if now <= 0 || max(m.Streams, m.Connections) < 2 {
		return now, now
	}
	return now, max(now, min(h.Most[name], int64(h.CPUs)))
}

// moreQueues has the network card spread connections over its queues, each with
// a processor of its own (RSS), where it was configured to use few of them.
func moreQueues(m *maker, h *host.Facts) *idea {
	if !m.spreads(h) {
		return nil
	}
	i := &idea{answers: []string{diagnose.ReceiverCPU}, limit: unlimited, after: unlimited}
	i.Idea = "let the network card spread connections over more processors"
	for _, l := range m.links(h, false) {
		name := l.of("link.channels.combined")
		if now, could := m.queues(h, l); could > now {
			i.Changes = append(i.Changes, m.change(h, name, fmt.Sprint(could),
				fmt.Sprintf("each queue is the work of one processor, and the host has %d; %s can have %d queues", h.CPUs, l.Name, h.Most[name]))...)
			i.Risk = risk(h, name)
		}
	}
	return i
}

// steering spreads the receiving of an interface that can only have fewer queues
// than the host has processors over all of them (RPS).
func steering(m *maker, h *host.Facts) *idea {
	if !m.spreads(h) {
		return nil
	}
	i := &idea{answers: []string{diagnose.ReceiverCPU}, limit: unlimited, after: unlimited}
	i.Idea = "spread the receiving of packets over all processors"
	for _, l := range m.links(h, false) {
		name := l.of("link.rps_cpus")
		_, queues := m.queues(h, l)
		t, ok := tunable.Lookup(h.OS, name)
		if !ok || !t.Same(h.Tunables[name], "0") || queues <= 0 || 2*queues > int64(h.CPUs) { // nearly as many: the detour costs more than it brings
			continue
		}
		i.Changes = append(i.Changes, m.change(h, name, mask(h.CPUs),
			fmt.Sprintf("%s has fewer receive queues (%d) than the host has processors (%d)", l.Name, queues, h.CPUs))...)
		i.Risk = risk(h, name)
	}
	return i
}

// mask names the first so many processors, in hexadecimal.
func mask(cpus int) string {
	digits := strings.Repeat("f", cpus/4)
	if rest := cpus % 4; rest > 0 {
		digits = fmt.Sprintf("%x", 1<<rest-1) + digits
	}
	var groups []string
	for len(digits) > 8 {
		groups = append([]string{digits[len(digits)-8:]}, groups...)
		digits = digits[:len(digits)-8]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}

func senderGovernor(m *maker, h *host.Facts) *idea   { return governor(m, h, diagnose.SenderCPU) }
func receiverGovernor(m *maker, h *host.Facts) *idea { return governor(m, h, diagnose.ReceiverCPU) }

// governor keeps the clock of the processors up where they are the limit.
func governor(m *maker, h *host.Facts, cause string) *idea {
	const name = "cpu.governor"
	if m.finding(cause) == nil || h.Tunables[name] == "" {
		return nil
	}
	i := &idea{answers: []string{cause}, limit: unlimited, after: unlimited}
	i.Idea = "keep the processors' clock up"
	i.Risk = risk(h, name)
	i.Changes = m.change(h, name, "performance", "a processor is what limits, and "+h.Tunables[name]+" may keep its clock below what it can")
	return i
}

// nearby is the round trip below which two hosts are taken to share a network
// whose packet size is theirs to choose: light goes 200 km of fibre there and
// back in it.
const nearby = 2 * time.Millisecond

// jumbo advises larger packets where they are worth a try: on a fast network
// nearby that carries the usual ones. how is the system's command.
func (m *maker) jumbo(h *host.Facts, how string) {
	if m.need.rate < unit.Gbps || m.need.rtt <= 0 || m.need.rtt > nearby || m.mtu() > 1500 {
		return
	}
	m.note("Packets of 9000 bytes cost %s less CPU for the same data, if every device between the hosts takes them: %s. Do that before anything else, and look at the segment size that comes out of it.", h.Name, how)
}

// largerPackets advises what no host can do alone where processors limit: fewer,
// larger packets.
func largerPackets(m *maker, h *host.Facts) *idea {
	if m.finding(diagnose.SenderCPU) != nil || m.finding(diagnose.ReceiverCPU) != nil {
		m.jumbo(h, "ip link set dev INTERFACE mtu 9000")
	}
	return nil
}
