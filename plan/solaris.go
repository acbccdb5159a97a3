package plan

import (
	"fmt"
	"slices"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// solarisRules: static buffers, below two limits that have to be raised before
// them. Solaris up to 10 has them in ndd, Solaris 11 and illumos in ipadm.
var solarisRules = rules{
	scale:   solarisScale,
	receive: []func(*maker, *host.Facts) *idea{solarisReceive, nfsConnections, nfsTransfers, nfsServer, nfsEither, softRings},
	send:    []func(*maker, *host.Facts) *idea{solarisSend, nfsConnections, nfsTransfers, nfsServer, nfsEither},
	says: elsewhere(map[string]string{
		diagnose.ReceiverBuffer: "Nothing can be planned for the receiver's buffer. What helps is a larger receive buffer there (tcp_recv_hiwat with ndd up to Solaris 10, recv_buf with ipadm from 11 on and in illumos; " +
			"tcp_max_buf and tcp_cwnd_max first, where it is above them), an application that leaves SO_RCVBUF alone, a route with -recvpipe, or several connections.",
		diagnose.SenderBuffer: "Nothing can be planned for the sender's buffer. What helps is a larger send buffer there (tcp_xmit_hiwat with ndd up to Solaris 10, send_buf with ipadm from 11 on and in illumos; " +
			"tcp_max_buf and tcp_cwnd_max first, where it is above them), an application that leaves SO_SNDBUF alone, a route with -sendpipe, or several connections.",
		diagnose.DuplexMismatch: "A link's duplex is not a tunable. What helps is to let both sides of it negotiate, or to set both alike (dladm show-ether, before Solaris 11 ndd of the driver; the switch's port).",
		diagnose.LinkErrors:     "No setting of the kernel repairs frames. What helps is another cable, optic, port or NIC: its counters show which (kstat, netstat -I).",
		diagnose.PacingCap: "The limit is one that somebody set: the application, or a bandwidth limit of the link. " +
			"What helps is to raise it there (dladm show-linkprop -p maxbw, flowadm show-flow).",
	}),
}

// solarisNames are the tunables of TCP's buffers.
type solarisNames struct{ most, cwnd, receive, send, scale string }

func namesOf(h *host.Facts) solarisNames {
	if has(h, "tcp_recv_hiwat") {
		return solarisNames{"tcp_max_buf", "tcp_cwnd_max", "tcp_recv_hiwat", "tcp_xmit_hiwat", "tcp_wscale_always"}
	}
	return solarisNames{"max_buf", "_cwnd_max", "recv_buf", "send_buf", "_wscale_always"}
}

// roomToAsk is what applications may at least ask for once a host's buffers are
// raised: the LAN buffer article's tcp_max_buf, four times its buffers. It costs nothing until an
// application does, and Sun's manual wants it above tcp_cwnd_max.
const roomToAsk = 4 * unit.MiB

// solarisScale offers a window scale also where the host's own window needs none:
// otherwise a sender with small buffers that connects keeps the receiver from
// using one. A host whose window is above 64 KB, or will be by this plan, offers
// one by itself.
func solarisScale(m *maker, h *host.Facts) []Change {
	n := namesOf(h)
	window := present(h, n.receive)
	if h == m.Receiver && m.asks(true) == 0 && m.need.bdp > 0 {
		window = m.within(h, n.receive, m.static())
	}
	if h.Tunables[n.scale] != "0" || window > 65535 {
		return nil
	}
	return m.change(h, n.scale, "1", whyScale)
}

// solarisReceive gives every connection the window that the path needs. The
// window of a Solaris socket is its receive buffer, rounded to whole segments
// (tcp_rwnd_set in illumos' tcp.c).
func solarisReceive(m *maker, h *host.Facts) *idea {
	if m.need.bdp <= 0 {
		return nil
	}
	n := namesOf(h)
	if asked := m.asks(true); asked > 0 {
		return m.asked(h, n.most, diagnose.ReceiverBuffer, asked, present(h, n.receive), m.within(h, n.most, asked))
	}
	need := m.static()
	buffer := m.within(h, n.receive, need)
	i := &idea{answers: []string{diagnose.ReceiverBuffer, diagnose.WindowScale}}
	i.Idea = fmt.Sprintf("give every connection a receive window that the path fits into: %v", buffer)
	i.Risk = risk(h, n.receive)
	i.limit = m.windowRate(present(h, n.receive))
	i.after = m.windowRate(buffer)
	i.Changes = m.change(h, n.receive, number64(buffer), m.whyStatic(buffer))
	m.solarisLimits(h, n, min(need, buffer), i)
	return i
}

// solarisSend lets the sender keep in flight what the path holds: no less than
// the receiver's window, since the smaller of the two counts (the GigaSwift article). illumos counts
// only what is unsent against the buffer (TCP_UNSENT_BYTES in its tcp_impl.h), so
// there a small one limits less than is predicted here; tcp_cwnd_max limits in
// all of them (tcp_cwnd_max in tcp_input.c).
func solarisSend(m *maker, h *host.Facts) *idea {
	if m.need.bdp <= 0 {
		return nil
	}
	n := namesOf(h)
	if asked := m.asks(false); asked > 0 {
		return m.asked(h, n.most, diagnose.SenderBuffer, asked, present(h, n.send), m.within(h, n.most, asked))
	}
	need := m.static()
	buffer := m.within(h, n.send, need)
	i := &idea{answers: []string{diagnose.SenderBuffer}}
	i.Idea = fmt.Sprintf("let every connection keep in flight what the path holds: send buffers of %v", buffer)
	i.Risk = risk(h, n.send)
	i.limit = m.windowRate(min(present(h, n.send), present(h, n.cwnd)))
	i.after = m.windowRate(buffer)
	i.Changes = m.change(h, n.cwnd, number64(min(need, buffer)), "the window in use never grows beyond it, whatever the buffers are")
	why := m.whyStatic(buffer)
	if buffer >= need {
		why += "; it is no smaller than the receiver's window, since the smaller of the two counts"
	}
	i.Changes = append(i.Changes, m.change(h, n.send, number64(buffer), why)...)
	m.solarisLimits(h, n, min(need, buffer), i)
	m.packetsAtOnce(h)
	return i
}

// solarisLimits raises what stands above a buffer that an idea raises, to hold at
// least so many bytes, and says what it means for everybody else.
func (m *maker) solarisLimits(h *host.Facts, n solarisNames, buffer unit.Size, i *idea) {
	if len(i.Changes) == 0 {
		return
	}
	var limits []Change
	if now := present(h, n.most); buffer >= now {
		most := max(buffer, roomToAsk)
		if bound := m.bound(h); bound > 0 {
			most = min(most, max(bound, buffer))
		}
		limits = m.change(h, n.most, number64(most), fmt.Sprintf("buffers above it are refused, it should be above %s, and applications that know their path may ask for more; by itself it costs nothing", n.cwnd))
	}
	limits = append(limits, m.change(h, n.cwnd, number64(buffer), "the window in use never grows beyond it, whatever the buffers are")...)
	i.Changes = append(limits, i.Changes...)
	m.note("%s and %s on %s hold for every connection to everybody, and may take %s when they are full. For one peer alone, a route does the same: route change PEER GATEWAY -recvpipe %d -sendpipe %d.",
		n.receive, n.send, h.Name, m.together(buffer), int64(buffer), int64(buffer))
	if has(h, "tcp_recv_hiwat") {
		m.note("What ndd sets on %s is lost at the next reboot; a start-up script keeps it.", h.Name)
	}
	m.jumbo(h, solarisJumbo(h))
}

// solarisAbove gives what stands above buffers of Solaris that are to be doubled
// and is not among the changes itself: as it is, where twice a buffer would not
// go below it. Doubled without it, a buffer is refused or has no effect.
func (m *maker) solarisAbove(changes []Change) []Change {
	var above []Change
	for _, c := range changes {
		h := m.HostOf(c)
		if h == nil || h.OS != "solaris" && h.OS != "illumos" {
			continue
		}
		n := namesOf(h)
		if c.Tunable != n.receive && c.Tunable != n.send {
			continue
		}
		for _, name := range []string{n.most, n.cwnd} {
			t, now := m.settable(h, name), present(h, name)
			limit := Change{Role: c.Role, Host: h.Name, Tunable: name, From: number64(now), To: number64(now), Why: "without it, larger buffers are refused or have no effect"}
			if t == nil || 2*greatest(c.To) <= int64(now) || slices.ContainsFunc(slices.Concat(above, changes), limit.same) {
				continue
			}
			limit.Source = source(t)
			above = append(above, limit)
		}
	}
	return above
}

// together says how much memory the buffers of all connections take when they
// are full.
func (m *maker) together(buffer unit.Size) string {
	if n := max(m.Streams, m.Connections); n > 1 {
		return fmt.Sprintf("%v each, %v for %d of them,", buffer, buffer*unit.Size(n), n)
	}
	return fmt.Sprintf("%v each", buffer)
}

func solarisJumbo(h *host.Facts) string {
	if h.OS == "solaris" && !from(h, "11") {
		return "ifconfig LINK mtu 9000, once the driver's own file allows it"
	}
	return "dladm set-linkprop -p mtu=9000 LINK, while no address uses it"
}

// packetsAtOnce advises what the GigaSwift article's sweep found: 25 % on one connection, nothing on
// ten, with the best value at 10.
func (m *maker) packetsAtOnce(h *host.Facts) {
	const name, best = "tcp_maxpsz_multiplier", 10
	if !has(h, name) || m.Streams > 1 {
		return
	}
	if value := number(h.Tunables[name], 0); value > 0 && value < best {
		m.note("%s is %d on %s. With %d, one connection was 25 %% faster on gigabit, and ten were not: worth a try by hand, as it depends on the machine.", name, value, h.Name, best)
	}
}

// nfsConnections spreads a mount over several connections: each has a window and
// a CPU of its own (the NFS article).
func nfsConnections(m *maker, h *host.Facts) *idea {
	const name = "rpcmod:clnt_max_conns"
	if m.Workload != NFS || m.need.rate < fastLink {
		return nil
	}
	i := &idea{answers: append([]string{diagnose.ReceiverCPU, diagnose.SenderCPU}, answeredByNFS...), limit: unlimited, after: unlimited}
	i.Idea = fmt.Sprintf("let the client of NFS open %d connections to each server", mountConnections)
	i.Changes = m.change(h, name, fmt.Sprint(mountConnections), "one connection has one window and is the work of few CPUs; start here, and double for as long as that helps")
	i.Risk = risk(h, name)
	return i
}

// nfsTransfers lets one request of NFS carry more. The limits go together: raised
// alone, none changes anything on the wire.
func nfsTransfers(m *maker, h *host.Facts) *idea {
	const block, transfer, cots = "nfs:nfs3_bsize", "nfs:nfs3_max_transfer_size", "nfs:nfs3_max_transfer_size_cots"
	if m.Workload != NFS {
		return nil
	}
	i := &idea{answers: answeredByNFS, limit: unlimited, after: unlimited}
	i.Idea = fmt.Sprintf("let NFS move up to %v with each request", largestRequest)
	value := number64(largestRequest)
	i.Changes = m.change(h, transfer, value, "fewer, larger requests for the same data; the other end takes what it supports")
	if has(h, cots) {
		i.Changes = append(i.Changes, m.change(h, cots, value, "the same limit, for TCP")...)
	}
	i.Changes = append(i.Changes, m.change(h, block, value, "requests on the wire are not larger than the client's block, whatever the limit is")...)
	if len(i.Changes) > 0 {
		m.note("What keeps NFS on %s busy besides are requests under way: more processes, threads or asynchronous reads, and nfs3_nra and nfs3_max_threads for those of one mount. Start at the present values, and double for as long as that helps.", h.Name)
	}
	i.Risk = risk(h, block)
	return i
}

// nfsEither notes what the facts of Solaris do not show: who mounts, and who serves.
func nfsEither(m *maker, h *host.Facts) *idea {
	if m.Workload == NFS {
		m.note("Whether %s mounts or serves is not known: what is planned for the client of NFS counts where it mounts, and what is planned for the server where it serves.", h.Name)
	}
	return nil
}

// Soft rings, as the NFS article has them for 10 Gb/s.
const (
	fewRings  = 8
	manyRings = 16 // on sun4v, with its many slow CPUs
)

// softRings spreads the packets that an interface receives over CPUs. Solaris 10
// alone needs that configured; about 1 GHz of CPU goes into 1 Gb/s (the NFS article).
func softRings(m *maker, h *host.Facts) *idea {
	const count, on = "ip:ip_soft_rings_cnt", "ip:ip_squeue_soft_ring"
	busy := m.finding(diagnose.ReceiverCPU) != nil
	if h.OS != "solaris" || !from(h, "10") || !busy && (m.Workload != NFS || m.need.rate < fastLink) {
		return nil
	}
	rings, machine := fewRings, "all but sun4v"
	if h.Arch == "sun4v" {
		rings, machine = manyRings, "sun4v, with its many slow CPUs"
	}
	if h.CPUs > 0 {
		rings = min(rings, h.CPUs)
	}
	rings = max(rings, int(number(h.Tunables[count], 0)))
	i := &idea{answers: []string{diagnose.ReceiverCPU}, limit: unlimited, after: unlimited}
	i.Idea = fmt.Sprintf("spread what an interface receives over %d threads", rings)
	i.Changes = m.change(h, count, fmt.Sprint(rings), fmt.Sprintf("receiving takes about 1 GHz of CPU for each Gb/s, and one thread has one CPU; %d suit %s", rings, machine))
	if has(h, count) && h.Arch != "sun4v" { // which has them on
		i.Changes = append(i.Changes, m.change(h, on, "1", "without it, the threads are not used")...)
	}
	i.Risk = risk(h, count)
	return i
}
