package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/tunable"
)

const (
	control   = "net.ipv4.tcp_congestion_control"
	available = "net.ipv4.tcp_available_congestion_control"
	allowed   = "net.ipv4.tcp_allowed_congestion_control"
)

// patience is how long CUBIC may take to regain its window after one loss before
// another congestion control is worth trying: most of a usual transfer.
const patience = 10.0 // seconds

// answeredByBBR are the causes that a congestion control which paces at the rate
// it measured, and does not take every loss for congestion, may lift.
var answeredByBBR = []string{diagnose.RandomLoss, diagnose.ShallowQueue, diagnose.Policer, diagnose.Reordering, diagnose.ShortTransfer}

// congestion tries BBR where it is worth a try.
func congestion(m *maker, h *host.Facts) *idea {
	if m.bbr == "" {
		return nil
	}
	i := &idea{answers: answeredByBBR, limit: unlimited, after: unlimited}
	i.Idea = "let the sender follow the path's measured rate instead of its losses"
	i.Risk = "BBR takes more than its share next to other congestion controls where the bottleneck's queue is shorter than one BDP, and retransmits more there."
	if _, prefix := tunable.Split(m.chooses); prefix != "" {
		i.Idea += ", towards " + prefix
		i.Risk += " It affects every connection to that destination."
	} else {
		i.Risk += " It affects every path of the sender."
	}
	i.Changes = m.change(h, m.chooses, "bbr", m.bbr)
	return i
}

// whyBBR gives the reason to try BBR: loss that is not congestion or that pacing
// avoids, or a path on which CUBIC grows too slowly. It is empty without one, and where the sender
// cannot be set to it. What it can be set by is m.chooses: the host's default, or
// the route to the receiver, where that says what to use, or the default is not
// for this network namespace to choose.
func (m *maker) whyBBR() string {
	h := m.Sender
	if h == nil || diagnose.IsBBR(m.congestion()) {
		return ""
	}
	if m.why = m.againstLoss(); m.why == "" || h.OS != "linux" {
		return ""
	}
	route := m.route(h)
	said := h.Tunables[route]
	if diagnose.IsBBR(said) || !m.has(h, "bbr") {
		return ""
	}
	if said != "" && (m.Baseline == nil || said == m.congestion()) {
		m.chooses = route
		return m.why
	}
	m.chooses = control
	if !m.allows(h, "bbr") {
		if route == "" || diagnose.IsBBR(h.Tunables[control]) {
			return ""
		}
		m.chooses = route
		return m.why
	}
	if present := h.Tunables[control]; m.congestion() != present {
		m.note("The transfer used %s although the default of %s is %s: the application or a route chooses, so the default is left alone.", m.congestion(), h.Name, present)
		return ""
	}
	return m.why
}

// againstLoss gives the reason for another congestion control, "" if there is none.
func (m *maker) againstLoss() (why string) {
	switch back := m.regain(); {
	case m.finding(diagnose.RandomLoss) != nil:
		why = "loss that is not congestion keeps " + named(m.congestion()) + " slow"
	case m.finding(diagnose.ShallowQueue) != nil:
		why = "the bottleneck's queue is too short for the bursts of " + named(m.congestion()) + ", and BBR paces at the rate that it measured"
	case m.finding(diagnose.Policer) != nil:
		why = named(m.congestion()) + " runs into the policer again and again; BBR recognises one and stays at its rate (long-term bandwidth, net/ipv4/tcp_bbr.c)"
	case m.finding(diagnose.Reordering) != nil:
		why = named(m.congestion()) + " treats late packets as lost and slows down"
	case m.finding(diagnose.ShortTransfer) != nil:
		why = named(m.congestion()) + " had not found the path's rate when the transfer ended"
	case back > patience:
		why = fmt.Sprintf("after one loss, CUBIC needs %.0f s to fill this path again (RFC 9438)", back)
	}
	return why
}

// has says whether a host's kernel has a congestion control, and notes why not.
func (m *maker) has(h *host.Facts, name string) bool {
	list, known := h.Tunables[available]
	switch {
	case name == "bbr" && !hasBBR.Applies(h.Version):
		m.note("BBR may help here, but Linux has it since %s, and %s runs %s.", hasBBR.Since, h.Name, printable.Line(h.Version))
		return false
	case !known:
		m.note("%s may help here, but it is not known whether the kernel of %s has it (modprobe tcp_%s, then collect its facts).", name, h.Name, name)
		return false
	case !slices.Contains(strings.Fields(list), name):
		m.note("%s may help here, but the kernel of %s has not loaded it (modprobe tcp_%s).", name, h.Name, name)
		return false
	}
	return true
}

// allows says whether a host's default may become a congestion control, and notes
// why not.
func (m *maker) allows(h *host.Facts, name string) bool {
	if h.CanChange && !slices.Contains(strings.Fields(h.Tunables[allowed]), name) && slices.Contains(h.ReadOnly, rmemMax) {
		m.note("%s may help here, but %s is a network namespace in which the kernel allows only: %s.", name, h.Name, h.Tunables[allowed])
		return false
	}
	return true
}

// hasBBR is BBR, as far as its version goes (Linux commit 0f8782ea1497).
var hasBBR = tunable.Tunable{Name: "bbr", Since: "4.9"}

// regain is how many seconds CUBIC needs to return to the window that fills the
// path: K of RFC 9438 section 4.2 with beta 0.7 and C 0.4.
func (m *maker) regain() float64 {
	if !m.need.known {
		return 0
	}
	return math.Cbrt(float64(m.need.bdp) / m.mtu() * (1 - 0.7) / 0.4)
}

// mtuProbing finds the packet size that passes where large packets vanish, and
// is a safety net with jumbo frames.
func mtuProbing(m *maker, h *host.Facts) *idea {
	const name = "net.ipv4.tcp_mtu_probing"
	d := m.way()
	if d == nil || number(h.Tunables[name], 0) > 0 {
		return nil
	}
	var why string
	switch {
	case d.MTU.BlackHole:
		why = printable.Line(d.MTU.Note)
	case m.finding(diagnose.MTUBlackHole) != nil:
		why = "packets above a certain size are lost on this path"
	case d.MTU.Link > 1500 && d.MTU.Bytes == 0:
		why = fmt.Sprintf("the interface sends packets of up to %d bytes, and it is not known whether they pass", d.MTU.Link)
	default:
		return nil
	}
	i := &idea{answers: []string{diagnose.MTUBlackHole, diagnose.SmallMSS}, limit: unlimited, after: unlimited}
	i.Idea = "find the packet size that passes, without waiting for ICMP"
	i.Changes = m.change(h, name, "1", why)
	i.Risk = "With 1, only connections that have noticed a black hole probe."
	return i
}

// idleRestart keeps the congestion window over pauses, where there are any.
func idleRestart(m *maker, h *host.Facts) *idea {
	const name = "net.ipv4.tcp_slow_start_after_idle"
	if m.finding(diagnose.SlowSender) == nil || !m.pauses() {
		return nil
	}
	i := &idea{limit: unlimited, after: unlimited}
	i.Idea = "keep the congestion window over the application's pauses"
	i.Risk = risk(h, name)
	i.Changes = m.change(h, name, "0", "the application pauses, and every pause longer than a retransmission timeout starts over with a small window (RFC 2861)")
	return i
}

// pauses says whether a sender was seen idle for longer than its retransmission
// timeout, from which on slow start begins again.
func (m *maker) pauses() bool {
	if m.Baseline == nil {
		return false
	}
	return slices.ContainsFunc(m.Baseline.Senders(m.Direction), func(s bulk.Stream) bool {
		return slices.ContainsFunc(s.Samples, func(sample bulk.Sample) bool {
			return sample.TCP.RTO > 0 && uint64(sample.TCP.LastDataSent)*1000 > uint64(sample.TCP.RTO)
		})
	})
}
