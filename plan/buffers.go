package plan

import (
	"fmt"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

const (
	rmem     = "net.ipv4.tcp_rmem"
	wmem     = "net.ipv4.tcp_wmem"
	rmemMax  = "net.core.rmem_max"
	wmemMax  = "net.core.wmem_max"
	moderate = "net.ipv4.tcp_moderate_rcvbuf"
)

// receiveBuffer lets the receiver's window open to what the path holds.
func receiveBuffer(m *maker, h *host.Facts) *idea {
	if m.need.bdp <= 0 {
		return nil
	}
	if m.Baseline != nil && m.Baseline.Spec.RecvBuf > 0 {
		return m.fixed(h, rmemMax, "SO_RCVBUF", m.Baseline.Spec.RecvBuf, diagnose.ReceiverBuffer)
	}
	buffer := m.within(h, rmem, m.need.receive)
	why := m.holds() + "; " + offered(h)
	i := &idea{answers: []string{diagnose.ReceiverBuffer, diagnose.WindowScale}}
	i.Idea = fmt.Sprintf("let the receiver's window grow to what the path holds: receive buffers up to %v", buffer)
	i.Risk = risk(h, rmem)
	most := 2
	if !opens(h) || h.Tunables[moderate] == "0" { // every buffer keeps its default
		most = 1
	}
	i.limit = m.windowRate(diagnose.ReceiverWindow(unit.Size(number(h.Tunables[rmem], most))))
	if opens(h) {
		i.after = m.windowRate(diagnose.ReceiverWindow(buffer))
		i.Changes = append(i.Changes, m.change(h, rmem, withMax(h.Tunables[rmem], buffer), why)...)
		if h.Tunables[moderate] == "0" {
			i.Changes = append(i.Changes, m.change(h, moderate, "1", "without autotuning every receive buffer keeps its default")...)
		}
	} else {
		usual := min(buffer, m.need.receive)
		if bound := m.bound(h); bound > 0 {
			usual = max(min(usual, bound), unit.Size(number(h.Tunables[rmem], 1)))
		}
		i.Idea = fmt.Sprintf("open the receiver's window to what the path holds: receive buffers of %v", usual)
		i.after = m.windowRate(diagnose.ReceiverWindow(usual))
		i.Changes = append(i.Changes, m.change(h, rmem, fmt.Sprintf("%d %d %d", number(h.Tunables[rmem], 0), int64(usual), int64(max(buffer, usual))),
			why+", and this version does not open it by itself: every connection keeps the second value, so it is raised too")...)
		if len(i.Changes) > 0 && m.Connections == 0 {
			m.note("Every connection of %s may take %v then: say how many it serves at once, and they are fitted into its memory.", h.Name, usual)
		}
	}
	m.aboutBuffers(h, rmemMax, i)
	return i
}

// offered says which part of a receive buffer becomes window. It was three
// quarters before Linux 3.4 (tcp_adv_win_scale 2; commit b49960a05e32), which
// packets that take more memory than a third above their data exceeded: it has
// been a half since, and that is what the plan counts with for all versions.
func offered(h *host.Facts) string {
	if from(h, "3.4") {
		return "the kernel offers about half of the buffer as window"
	}
	return "the kernel offers three quarters of the buffer as window, and this plan counts with a half, since packets take more memory than their data"
}

// opens says whether a host's kernel can tune receive buffers by itself, whether
// or not that is turned on.
func opens(h *host.Facts) bool {
	_, there := h.Tunables[moderate]
	return there || has(h, moderate)
}

// sendBuffer lets the sender keep in flight what the path holds.
func sendBuffer(m *maker, h *host.Facts) *idea {
	if m.need.bdp <= 0 {
		return nil
	}
	if m.Baseline != nil && m.Baseline.Spec.SendBuf > 0 {
		return m.fixed(h, wmemMax, "SO_SNDBUF", m.Baseline.Spec.SendBuf, diagnose.SenderBuffer)
	}
	buffer := m.within(h, wmem, m.need.send)
	why := fmt.Sprintf("%s; the kernel keeps %.0f times the congestion window for sending with %s", m.holds(), m.sendFactor(), named(m.sending()))
	i := &idea{answers: []string{diagnose.SenderBuffer}}
	i.Idea = fmt.Sprintf("let the sender keep in flight what the path holds: send buffers up to %v", buffer)
	i.Risk = risk(h, wmem)
	i.limit = m.windowRate(diagnose.SenderWindow(unit.Size(number(h.Tunables[wmem], 2))))
	i.after = m.windowRate(diagnose.SenderWindow(buffer))
	i.Changes = m.change(h, wmem, withMax(h.Tunables[wmem], buffer), why)
	m.aboutBuffers(h, wmemMax, i)
	return i
}

// fixed answers an application that sets its buffer itself: autotuning and its
// maxima are then out of play, and the kernel cuts what is asked for at
// net.core.*mem_max.
func (m *maker) fixed(h *host.Facts, name, option string, asked int, cause string) *idea {
	m.note("The application sets %s to %v itself, which turns autotuning off on %s. It would do better to leave it alone.", option, unit.Size(asked), h.Name)
	i := &idea{answers: []string{cause}, after: unlimited}
	i.limit = m.windowRate(unit.Size(number(h.Tunables[name], 0)))
	i.Idea = fmt.Sprintf("let the application have the %s that it asks for", option)
	i.Risk = risk(h, name)
	value := unit.Size(asked)
	if bound := m.bound(h); bound > 0 {
		value = min(value, bound)
	}
	i.Changes = m.change(h, name, fmt.Sprint(int64(value)), fmt.Sprintf("the application asks for %v, and the kernel cuts that at this value", unit.Size(asked)))
	return i
}

// within is a buffer maximum that is no less than what the path needs and, where
// it has to be raised at all, than the system's own, and no more than the
// tunable takes and the host's memory allows.
func (m *maker) within(h *host.Facts, name string, buffer unit.Size) unit.Size {
	present := unit.Size(greatest(h.Tunables[name]))
	if present >= buffer {
		return present
	}
	buffer = max(buffer, defaultMax(h, name))
	if t, ok := tunable.Lookup(h.OS, name); ok {
		buffer = max(present, min(buffer, unit.Size(t.Max)))
	}
	bound := m.bound(h)
	if bound > 0 && buffer > bound {
		verb := "is planned as"
		if bound <= present {
			bound, verb = present, "stays at"
			m.excused = append(m.excused, h)
		}
		helps := "more memory"
		if max(m.Streams, m.Connections) > 1 {
			helps += ", or fewer connections at once"
		}
		m.note("%s on %s %s %v instead of %v, so that buffers stay a small part of its %v of memory. What helps is %s.",
			name, h.Name, verb, bound, buffer, unit.Size(h.Memory), helps)
		buffer = bound
	}
	return buffer
}

// aboutBuffers notes what is deliberately left alone next to a buffer.
func (m *maker) aboutBuffers(h *host.Facts, limit string, i *idea) {
	if len(i.Changes) == 0 {
		return
	}
	m.note("%s is left alone: it bounds what applications ask for themselves, not autotuning.", limit)
	m.note("net.ipv4.tcp_mem is left alone: it counts pages, not bytes, and holds for all connections together.")
	const portion = "net.ipv4.tcp_adv_win_scale"
	if entry, ok := tunable.Lookup(h.OS, portion); ok && entry.Applies(h.Version) && h.Tunables[portion] != "" && !usual(entry, h.Tunables[portion]) {
		m.note("%s is %s on %s and is left alone: %s.", portion, h.Tunables[portion], h.Name, sentence(entry.Leave))
	}
}

// holds says what one stream keeps in flight to fill the path.
func (m *maker) holds() string {
	if m.Streams == 1 {
		return fmt.Sprintf("the path holds %v (%v for %s)", m.need.bdp, m.need.rate, unit.Milliseconds(m.need.rtt))
	}
	return fmt.Sprintf("each of %d streams holds %v of the path (%v together, for %s)", m.Streams, m.need.bdp, m.need.rate, unit.Milliseconds(m.need.rtt))
}

// withMax is a triplet with another maximum.
func withMax(triplet string, most unit.Size) string {
	return fmt.Sprintf("%d %d %d", number(triplet, 0), number(triplet, 1), int64(most))
}

// sending is the congestion control that the sender will use.
func (m *maker) sending() string {
	if m.bbr != "" {
		return "bbr"
	}
	return m.congestion()
}

func named(congestion string) string {
	if congestion == "" {
		return "the congestion control in use"
	}
	return congestion
}
