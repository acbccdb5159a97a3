package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// freebsdRules: buffers that tune themselves up to a maximum of their own, below
// one for every socket.
var freebsdRules = rules{
	scale:   freebsdScale,
	receive: []func(*maker, *host.Facts) *idea{freebsdReceive},
	send:    []func(*maker, *host.Facts) *idea{freebsdSend, freebsdCongestion},
	says: elsewhere(map[string]string{
		diagnose.ReceiverBuffer: "Nothing can be planned for the receiver's buffer. What helps is a larger net.inet.tcp.recvbuf_max there (and kern.ipc.maxsockbuf, twice as large), " +
			"an application that leaves SO_RCVBUF alone, or several connections.",
		diagnose.SenderBuffer: "Nothing can be planned for the sender's buffer. What helps is a larger net.inet.tcp.sendbuf_max there (and kern.ipc.maxsockbuf, twice as large), " +
			"an application that leaves SO_SNDBUF alone, or several connections.",
		diagnose.RandomLoss: "No setting removes loss that is not congestion. What helps is to find the link that loses (its error counters, cables, optics, radio); " +
			"until then the RACK or BBR stack (kldload tcp_rack or tcp_bbr, net.inet.tcp.functions_default), or several connections.",
		diagnose.DuplexMismatch: "A link's duplex is not a tunable. What helps is to let both sides of it negotiate, or to set both alike (ifconfig media and mediaopt, the switch's port).",
		diagnose.MemoryPressure: "Network memory is shared by all connections of the machine (kern.ipc.nmbclusters; netstat -m counts what was denied): raising it is for its administrator to decide. " +
			"What helps is that, more memory, or fewer connections with smaller buffers.",
		diagnose.PacingCap: "The limit is one that somebody set: the application (SO_MAX_PACING_RATE), or a pipe of dummynet or ALTQ on the sender. " +
			"What helps is to raise it there (dnctl list, pfctl -s queue).",
	}),
}

func freebsdScale(m *maker, h *host.Facts) []Change {
	const name = "net.inet.tcp.rfc1323"
	if h.Tunables[name] != "0" {
		return nil
	}
	return m.change(h, name, "1", whyScale)
}

// freebsdDirection is what FreeBSD has for one direction of a connection.
type freebsdDirection struct {
	receiving         bool
	cause             string // that its buffer answers
	means             string // what its buffer is, for people
	space, most, auto string // start; maximum of autotuning; its switch
}

func freebsdReceive(m *maker, h *host.Facts) *idea {
	i := m.freebsdBuffer(h, freebsdDirection{
		receiving: true, cause: diagnose.ReceiverBuffer, means: "receive window",
		space: "net.inet.tcp.recvspace", most: "net.inet.tcp.recvbuf_max", auto: "net.inet.tcp.recvbuf_auto",
	})
	if i == nil {
		return nil
	}
	i.answers = append(i.answers, diagnose.WindowScale)
	// Up to 12 the receive buffer grows by one such step a round trip
	// (tcp_autorcvbuf in tcp_input.c). In 16 KB steps, 64 MB take 4,000 of them;
	// ESnet's 512 KB are 128.
	const inc, trips = "net.inet.tcp.recvbuf_inc", 128
	if step := present(h, "net.inet.tcp.recvbuf_max") / trips; has(h, inc) {
		for _, c := range i.Changes {
			if c.Tunable == "net.inet.tcp.recvbuf_max" {
				step = unit.Size(number(c.To, 0)) / trips
			}
		}
		if len(i.Changes) > 0 {
			i.Changes = append(i.Changes, m.change(h, inc, number64(step), fmt.Sprintf("the buffer grows by this much a round trip, so that it takes %d of them to open", trips))...)
		}
	}
	return i
}

func freebsdSend(m *maker, h *host.Facts) *idea {
	i := m.freebsdBuffer(h, freebsdDirection{
		cause: diagnose.SenderBuffer, means: "send buffer",
		space: "net.inet.tcp.sendspace", most: "net.inet.tcp.sendbuf_max", auto: "net.inet.tcp.sendbuf_auto",
	})
	if i != nil && len(i.Changes) > 0 {
		m.note("%s remembers for an hour how fast earlier connections to a host were (net.inet.tcp.hostcache), and new ones begin there. Before measuring again: sysctl net.inet.tcp.hostcache.purgenow=1.", h.Name)
	}
	return i
}

func (m *maker) freebsdBuffer(h *host.Facts, d freebsdDirection) *idea {
	if m.need.bdp <= 0 {
		return nil
	}
	if asked := m.asks(d.receiving); asked > 0 {
		return m.asked(h, maxsockbuf, d.cause, asked, present(h, d.space), m.socketLimit(h, asked))
	}
	need := m.whole()
	buffer := m.within(h, d.most, need)
	limit := m.socketLimit(h, toHold(need, buffer, present(h, d.most)))
	buffer = m.underLimit(h, d.most, buffer, limit)
	i := &idea{answers: []string{d.cause}}
	i.Idea = fmt.Sprintf("let the %s grow to what the path holds: up to %v", d.means, buffer)
	i.Risk = risk(h, d.most)
	i.limit = m.windowRate(freebsdWindow(h, d, present(h, d.most), present(h, maxsockbuf), h.Tunables[d.auto] != "0"))
	i.after = m.windowRate(freebsdWindow(h, d, buffer, limit, true))
	i.Changes = m.change(h, d.most, number64(buffer), m.holds()+"; the system lets the buffer grow so far")
	if limit > present(h, maxsockbuf) && (usable(present(h, maxsockbuf)) < min(need, buffer) || len(i.Changes) > 0) {
		i.Changes = append(m.change(h, maxsockbuf, number64(limit), "every buffer is held to 8/9 of it, and its packets with what surrounds them to the whole"), i.Changes...)
	}
	if h.Tunables[d.auto] == "0" {
		i.Changes = append(i.Changes, m.change(h, d.auto, "1", "without autotuning every buffer keeps the size that it starts with")...)
	}
	if len(i.Changes) > 0 {
		m.aboutClusters(h, min(need, buffer))
		m.jumbo(h, "ifconfig INTERFACE mtu 9000, and mtu 9000 in rc.conf")
	}
	return i
}

// freebsdWindow is how much one direction of a connection can keep in flight: the
// maximum of autotuning, within what sbreserve_locked takes (sb_max_adj,
// sys/kern/uipc_sockbuf.c); once that refuses, the buffer grows no more.
func freebsdWindow(h *host.Facts, d freebsdDirection, most, limit unit.Size, auto bool) unit.Size {
	if !auto {
		most = present(h, d.space)
	}
	return min(most, usable(limit))
}

// freebsdCongestion has a long path's sender use CUBIC, the default from 14 on.
// After a loss NewReno gains one packet a round trip, half the path's in all.
func freebsdCongestion(m *maker, h *host.Facts) *idea {
	const name, available, better = "net.inet.tcp.cc.algorithm", "net.inet.tcp.cc.available", "cubic"
	if h.Tunables[name] != "newreno" || !m.need.known {
		return nil
	}
	back := float64(m.need.bdp) / m.mtu() / 2 * m.need.rtt.Seconds()
	cubic := m.regain()
	if back < patience || back < 2*cubic {
		return nil
	}
	if !slices.ContainsFunc(strings.FieldsFunc(h.Tunables[available], notName), func(have string) bool { return have == better }) {
		m.note("After one loss, NewReno on %s needs %.0f s to fill this path again, CUBIC %.0f s. It has to be loaded first: kldload cc_cubic (cc_cubic_load=\"YES\" in /boot/loader.conf), then %s=cubic; cc_htcp is another one.", h.Name, back, cubic, name)
		return nil
	}
	i := &idea{answers: []string{diagnose.RandomLoss, diagnose.ShallowQueue}, limit: unlimited, after: unlimited}
	i.Idea = "let the sender recover from losses as fast as today's systems do"
	i.Risk = risk(h, name)
	i.Changes = m.change(h, name, better, fmt.Sprintf("after one loss, NewReno needs %.0f s to fill this path again, CUBIC %.0f s (RFC 9438), and CUBIC is the default from FreeBSD 14 on", back, cubic))
	return i
}

// notName splits what FreeBSD prints of its algorithms: names, with an asterisk at
// the one in use, in a list or a table.
func notName(r rune) bool {
	return r < '0' || r > '9' && r < 'A' || r > 'Z' && r != '_' && r < 'a' || r > 'z'
}
