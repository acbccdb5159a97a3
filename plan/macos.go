package plan

import (
	"fmt"
	"math/bits"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// macosRules: a limit for every socket, which is raised first, and below it
// static buffers up to 10.7, maxima of autotuning from 10.8 on. What is said of
// the kernel is from its source, xnu, tag by tag: xnu-517 is 10.3, xnu-792 10.4,
// xnu-1228 10.5, xnu-1504 10.6, xnu-2050 10.8, xnu-7195 11.
var macosRules = rules{
	scale:   macosScale,
	receive: []func(*maker, *host.Facts) *idea{macosReceive},
	send:    []func(*maker, *host.Facts) *idea{macosSend},
	says: elsewhere(map[string]string{
		diagnose.ReceiverBuffer: "Nothing can be planned for the receiver's buffer. What helps is a larger net.inet.tcp.autorcvbufmax there (recvspace up to 10.7; kern.ipc.maxsockbuf first, where it is above that), " +
			"an application that leaves SO_RCVBUF alone, or several connections.",
		diagnose.SenderBuffer: "Nothing can be planned for the sender's buffer. What helps is a larger net.inet.tcp.autosndbufmax there (sendspace up to 10.7; kern.ipc.maxsockbuf first, where it is above that), " +
			"an application that leaves SO_SNDBUF alone, or several connections.",
		diagnose.DuplexMismatch: "A link's duplex is not a tunable. What helps is to let both sides of it negotiate, or to set both alike (networksetup -setMedia, the switch's port).",
	}),
}

const (
	maxsockbuf = "kern.ipc.maxsockbuf" // of macOS and FreeBSD
	clusters   = "kern.ipc.nmbclusters"
)

// socketRoom is how many times a buffer kern.ipc.maxsockbuf should be. The kernels
// hold each buffer to 8/9 of it (a cluster of 2048 bytes comes with a header of
// 256: sbreserve), and the memory that its packets take to the whole (sb_mbmax):
// a full packet of 1448 bytes takes 2304. Twice has room for both, and is the sum
// of both directions' buffers, which the Mac OS X article asks for.
const socketRoom = 2

// usable is how large a buffer may be under a kern.ipc.maxsockbuf: 8/9 of it.
func usable(most unit.Size) unit.Size { return most / 9 * 8 }

// macBuffer is the Mac OS X article's static buffer of either direction. It fills gigabit paths of up
// to 32 ms, and there is no autotuning that would take back what is too much; a
// Mac has few connections at once.
const macBuffer = 4_000_000

// tunes says whether a version of macOS tunes its buffers (from 10.8 on).
func tunes(h *host.Facts) bool { return has(h, "net.inet.tcp.autorcvbufmax") }

func macosScale(m *maker, h *host.Facts) []Change {
	const name = "net.inet.tcp.rfc1323"
	if h.Tunables[name] != "0" || !has(h, name) { // gone in 11
		return nil
	}
	return m.change(h, name, "1", whyScale)
}

func macosReceive(m *maker, h *host.Facts) *idea {
	return m.macosBuffer(h, macosDirection{
		receiving: true, cause: diagnose.ReceiverBuffer, means: "receive window",
		space: "net.inet.tcp.recvspace", most: "net.inet.tcp.autorcvbufmax", does: "net.inet.tcp.doautorcvbuf",
	})
}

func macosSend(m *maker, h *host.Facts) *idea {
	return m.macosBuffer(h, macosDirection{
		cause: diagnose.SenderBuffer, means: "send buffer",
		space: "net.inet.tcp.sendspace", most: "net.inet.tcp.autosndbufmax", does: "net.inet.tcp.doautosndbuf",
	})
}

// macosDirection is what macOS has for one direction of a connection.
type macosDirection struct {
	receiving         bool
	cause             string // that its buffer answers
	means             string // what its buffer is, for people
	space, most, does string // static buffer or start; maximum of autotuning; its switch
}

func (m *maker) macosBuffer(h *host.Facts, d macosDirection) *idea {
	if m.need.bdp <= 0 {
		return nil
	}
	if asked := m.asks(d.receiving); asked > 0 {
		return m.asked(h, maxsockbuf, d.cause, asked, present(h, d.space), m.socketLimit(h, asked))
	}
	i := &idea{answers: []string{d.cause}, limit: m.windowRate(macosWindow(h, d, macosPresent(h)))}
	if d.receiving {
		i.answers = append(i.answers, diagnose.WindowScale)
	}
	name, need, why := d.most, m.whole(), m.holds()+"; the system lets the buffer grow so far"
	if !tunes(h) {
		name, need = d.space, m.macosStatic(h, d)
	}
	after := macosPresent(h)
	after[name] = m.within(h, name, need)
	if cut := after[name]; !tunes(h) && cut < need && cut > present(h, name) { // by memory, of which no more is to be taken
		after[name] = max(present(h, name), min(cut, oneScale(cut/2+1)))
	}
	after[maxsockbuf] = m.socketLimit(h, toHold(need, after[name], present(h, name)))
	after[name] = m.underLimit(h, name, after[name], after[maxsockbuf])
	i.Idea = fmt.Sprintf("let the %s hold what the path does: up to %v", d.means, after[name])
	i.Risk = risk(h, name)
	if !tunes(h) {
		why = m.whyStatic(after[name])
		if after[name] == oneScale(macBuffer) {
			why += "; it is 4 MB at least, which took files from 15 to 40 MB/s between Macs on gigabit"
		}
	}
	i.Changes = m.change(h, name, number64(after[name]), why)
	if most := after[maxsockbuf]; most > present(h, maxsockbuf) && (usable(present(h, maxsockbuf)) < min(need, after[name]) || len(i.Changes) > 0) {
		i.Changes = append(m.change(h, maxsockbuf, number64(most), "every buffer is held to 8/9 of it, and its packets with what surrounds them to the whole"), i.Changes...)
	}
	if tunes(h) && h.Tunables[d.does] == "0" {
		i.Changes = append(i.Changes, m.change(h, d.does, "1", "without autotuning every buffer keeps the size that it starts with")...)
		after[d.does] = 1
	}
	i.after = m.windowRate(macosWindow(h, d, after))
	m.aboutMacos(h, i, d, after[maxsockbuf])
	return i
}

// macosStatic is the static buffer to plan: what is there if that holds what the
// path needs, and the Mac OS X article's at least where it does not.
func (m *maker) macosStatic(h *host.Facts, d macosDirection) unit.Size {
	need := oneScale(unit.Size(min(max(m.exact(), float64(leastStatic)), float64(mostBuffer))))
	if present(h, d.space) >= need {
		return need
	}
	return max(need, oneScale(macBuffer))
}

// macosPresent are the numbers that make a Mac's windows, by tunable.
func macosPresent(h *host.Facts) map[string]unit.Size {
	all := map[string]unit.Size{}
	for name := range h.Tunables {
		all[name] = present(h, name)
	}
	return all
}

// macosWindow is how much one direction of a connection can keep in flight.
//   - From 10.8 on the maximum of autotuning, within what sbreserve takes.
//   - 10.5 to 10.7 inflate the receive buffer to 65535 shifted by the smallest
//     scale that holds recvspace, win_scale_factor at least, and start sending
//     with a quarter of 65535 shifted by win_scale_factor at least (tcp_connect
//     and tcp_attach, bsd/netinet/tcp_usrreq.c).
//   - 10.3 and 10.4 give a connection 65535 at least while there are few
//     (TCP_INCREASED_SPACE, there), older ones the plain buffer.
func macosWindow(h *host.Facts, d macosDirection, has map[string]unit.Size) unit.Size {
	room := usable(has[maxsockbuf])
	does, known := has[d.does] // not known: it always does, as the send buffer from 11 on
	switch factor := min(14, has["net.inet.tcp.win_scale_factor"]); {
	case tunes(h) && (does != 0 || !known):
		return min(has[d.most], room)
	case tunes(h):
		return min(has[d.space], room)
	case from(h, "10.5") && d.receiving:
		return min(max(65535<<factor, oneScale(has[d.space])), room)
	case from(h, "10.5"):
		return min(max(65535<<factor/4, has[d.space]), room)
	case from(h, "10.3"):
		return max(65535, has[d.space])
	}
	return has[d.space]
}

// oneScale is the smallest 65535 shifted by a scale that holds a buffer: one byte
// more, and 10.5 to 10.7 make the buffer twice as large (see macosWindow).
func oneScale(buffer unit.Size) unit.Size {
	shift := bits.Len64(uint64((max(buffer, 1) - 1) / 65535))
	return 65535 << min(shift, 14)
}

// socketLimit is what kern.ipc.maxsockbuf has to be for a buffer: socketRoom times
// it, as far as memory and the pool of packets allow. It does not lower what is.
func (m *maker) socketLimit(h *host.Facts, buffer unit.Size) unit.Size {
	now, most := present(h, maxsockbuf), socketRoom*buffer
	if entry, ok := tunable.Lookup(h.OS, maxsockbuf); ok {
		most = min(most, unit.Size(entry.Max))
	}
	if bound := m.bound(h); bound > 0 {
		most = min(most, bound)
	}
	if most <= now {
		return now
	}
	most = max(most, m.least(h, maxsockbuf))
	if pool := macosPool(h); pool > 0 && most > pool {
		m.note("%s on %s would be %v, but it may not be above a sixteenth of the pool of mbuf clusters, which is %v (%s is %s). The boot argument ncl=%d makes the pool large enough.",
			maxsockbuf, h.Name, most, pool, clusters, h.Tunables[clusters], int64(most)*16/clusterSize)
		if pool < m.least(h, maxsockbuf) {
			return now
		}
		most = pool
	}
	return max(now, most)
}

// toHold is how much of a buffer other limits have to have room for: all of one
// that is raised, what is needed of one that is large enough already.
func toHold(need, buffer, present unit.Size) unit.Size {
	if buffer > present {
		return buffer
	}
	return min(need, buffer)
}

// underLimit is a buffer that is to be raised, within what kern.ipc.maxsockbuf has
// room for; what is there, if that is not as much as the version comes with.
func (m *maker) underLimit(h *host.Facts, name string, buffer, limit unit.Size) unit.Size {
	now := present(h, name)
	if buffer = min(buffer, usable(limit)); buffer <= now || buffer < m.least(h, name) {
		return now
	}
	return buffer
}

const clusterSize = 2048 // MCLBYTES of macOS and FreeBSD

// macosPool is the most that 10.6 and later take for kern.ipc.maxsockbuf: 1/16 of
// the memory for mbuf clusters (high_sb_max, bsd/kern/uipc_mbuf.c). 0: there is no
// such limit, or it is not known.
func macosPool(h *host.Facts) unit.Size {
	if h.OS != "macos" || !from(h, "10.6") {
		return 0
	}
	return min(present(h, clusters), mostBuffer) * clusterSize / 16
}

// aboutMacos notes what stays as it is next to a buffer, and what may stand in
// its way.
func (m *maker) aboutMacos(h *host.Facts, i *idea, d macosDirection, most unit.Size) {
	if len(i.Changes) == 0 {
		return
	}
	switch {
	case tunes(h) && d.receiving:
		m.note("net.inet.tcp.win_scale_factor is left alone on %s: since 10.8 the window scale follows %s.", h.Name, d.most)
	case from(h, "10.5") && d.receiving:
		m.note("net.inet.tcp.win_scale_factor is left alone on %s: it is the least window scale, and a larger %s makes it larger by itself.", h.Name, d.space)
	}
	if !from(h, "10.6") {
		m.note("On %s, %s must never be above 8/9 of %s: no new connection could be made. So that is raised first, and lowered last.", h.Name, d.space, maxsockbuf)
	}
	if from(h, "10.6") && macosPool(h) == 0 && most > present(h, maxsockbuf) {
		m.note("If %s refuses %s with \"Result too large\", its pool of mbuf clusters is too small: the limit is a sixteenth of it, and the boot argument ncl=%d makes it large enough.",
			h.Name, maxsockbuf, int64(most)*16/clusterSize)
	}
	if from(h, "11") {
		m.note("%s may not read /etc/sysctl.conf at boot; a LaunchDaemon that runs sysctl keeps the values.", h.Name)
	}
	m.jumbo(h, "networksetup -setMTU INTERFACE 9000")
}
