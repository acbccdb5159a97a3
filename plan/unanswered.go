package plan

import (
	"slices"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
)

// Full says whether a verdict means that the path carries all that it can, or all
// that is this transfer's part of it: no setting of the hosts brings more, and
// larger buffers only lengthen the queue or take from others.
func Full(cause string) bool {
	return slices.Contains([]string{diagnose.Healthy, diagnose.Bufferbloat, diagnose.CompetingTraffic}, cause)
}

// aboutVerdict notes why nothing that is planned answers the verdict, and what
// helps instead.
func (m *maker) aboutVerdict(verdict string) {
	answered := slices.ContainsFunc(m.ideas, func(i idea) bool { return slices.Contains(i.answers, verdict) })
	h := m.about(verdict)
	// To go on about larger buffers would contradict the note that says why there are none.
	excused := slices.Contains(m.excused, h) && slices.Contains([]string{diagnose.ReceiverBuffer, diagnose.SenderBuffer}, verdict)
	if text := unanswered(h, verdict); text != "" && !answered && !excused {
		m.note("%s", text)
	}
}

// about is the host that a cause is about, or the only one that is known; nil if
// none is.
func (m *maker) about(cause string) *host.Facts {
	near, far := m.came.Sender, m.came.Receiver
	if slices.Contains([]string{diagnose.ReceiverBuffer, diagnose.SlowReceiver, diagnose.ReceiverCPU}, cause) {
		near, far = far, near
	}
	if near == nil {
		return far
	}
	return near
}

// unanswered is what a host's system says of a cause that no plan answers.
func unanswered(h *host.Facts, cause string) string {
	if h != nil {
		if text := systems[h.OS].says[cause]; text != "" {
			return text
		}
	}
	return unplannable[cause]
}

// unplannable says of each cause why there may be nothing to plan for it, and
// what helps.
var unplannable = map[string]string{
	diagnose.Healthy: "Nothing is planned: the transfer gets what the path can carry.",
	diagnose.Bufferbloat: "Nothing is planned against bufferbloat: the transfer gets what the path can carry, and the queue stands at the bottleneck, not on these hosts. " +
		"What helps is a queue that keeps itself short there (fq_codel, CAKE), or transfers that are paced a little below the path's rate.",
	diagnose.CompetingTraffic: "Nothing is planned against competing traffic: a host could only take bandwidth that others have a right to. " +
		"What helps is another time of day, a reserved share (QoS) at the bottleneck, or more capacity.",
	diagnose.PathCapacity: "No setting raises what the narrowest link carries. What helps is a faster link, another path, or fewer bytes (compression).",
	diagnose.ReceiverBuffer: "Nothing can be planned for the receiver's buffer. What helps is a larger third value of net.ipv4.tcp_rmem there, " +
		"an application that leaves SO_RCVBUF alone, or several connections.",
	diagnose.SenderBuffer: "Nothing can be planned for the sender's buffer. What helps is a larger third value of net.ipv4.tcp_wmem there, " +
		"an application that leaves SO_SNDBUF alone, or several connections.",
	diagnose.WindowScale: "Both hosts' settings offer a window scale, as far as they are known, so none can bring it back. " +
		"What helps is to find what strips it from SYN packets on the way, mostly a firewall; until then, several connections.",
	diagnose.SlowReceiver: "No setting of the kernel makes an application read faster. What helps is a faster disk or program there, " +
		"or a larger block size and more threads in it.",
	diagnose.SlowSender: "No setting of the kernel makes an application write faster. What helps is a faster disk or program there, " +
		"reading ahead, or a larger block size.",
	diagnose.ApplicationWindow: "The application's own window is not a setting of the kernel. What helps is a larger one in the application, " +
		"several connections, or a program without one (rsync or tar over plain TCP, GridFTP; for ssh, HPN-SSH).",
	diagnose.RandomLoss: "No setting removes loss that is not congestion. What helps is to find the link that loses (its error counters, cables, optics, radio); " +
		"until then BBR, where the sender may use it, or several connections.",
	diagnose.ShallowQueue: "The bottleneck's queue is not a setting of these hosts. What helps is to pace the sender: the fq queueing discipline on its interface, or BBR; " +
		"a limit a little below the bottleneck's rate (SO_MAX_PACING_RATE, fq maxrate); or a longer queue at the bottleneck.",
	diagnose.Policer: "The policer is a contract, not a setting of these hosts. What helps is to stay below its rate: " +
		"shape or pace the sender a little under it (fq maxrate, tbf), use BBR, or ask for shaping in place of policing.",
	diagnose.Reordering: "Linux already waits longer the more reordering it sees (RACK-TLP, RFC 8985), so raising net.ipv4.tcp_reordering gains nothing that lasts. " +
		"What helps is to find what spreads one connection over several ways (per-packet balancing, a bonding device in balance-rr, a radio link), or BBR.",
	diagnose.MTUBlackHole: "The sender looks for a packet size that passes by itself, or its settings are not known. " +
		"What helps is to let ICMP \"fragmentation needed\" through on the path, to lower the interface's or the route's MTU to what passes, or net.ipv4.tcp_mtu_probing on the sender.",
	diagnose.SmallMSS: "The segment size is set by interfaces, routes and what clamps it on the way, none of which a tunable changes. " +
		"What helps is a larger MTU on the interface or route that announces it, or a tunnel or firewall that clamps less.",
	diagnose.DuplexMismatch: "A link's duplex is not a tunable. What helps is to let both sides of it negotiate, or to set both alike (ethtool -s, the switch's port).",
	diagnose.LinkErrors:     "No setting of the kernel repairs frames. What helps is another cable, optic, port or NIC: its counters show which (ethtool -S).",
	diagnose.ReversePath: "What slows the acknowledgements lies on the way back, not in these hosts' settings. " +
		"What helps is to measure that direction, and to find what fills or loses there.",
	diagnose.PacingCap: "The limit is one that somebody set: the application (SO_MAX_PACING_RATE) or a queueing discipline on the sender. " +
		"What helps is to raise it there (tc -s qdisc shows it).",
	diagnose.SenderCPU: "A tunable does not make a core faster. What helps is several connections on several cores, offloads (ethtool -k), " +
		"larger packets, a larger quota of the control group, or sendfile in the application.",
	diagnose.ReceiverCPU: "A tunable does not make a core faster. What helps is several connections, interrupts and application on different cores (RSS, RPS), " +
		"offloads (ethtool -k), larger packets, or a larger quota of the control group.",
	diagnose.MemoryPressure: "net.ipv4.tcp_mem is shared by all connections of the machine and counts pages: raising it is for its administrator to decide. " +
		"What helps is that, more memory, or fewer connections with smaller buffers.",
	diagnose.ShortTransfer: "The transfer ends before its window is open. What helps is to keep connections open and use them again, BBR, or several connections.",
	diagnose.Unknown:       "The evidence does not say what limits, so no change is planned for that. What is planned, if anything, raises limits that would come next.",
}
