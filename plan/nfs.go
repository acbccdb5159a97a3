package plan

import (
	"fmt"
	"math"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

const (
	largestRequest = 1 * unit.MiB // of NFS on Linux (nfs(5): rsize, wsize)

	// readAhead is 15 requests of the largest size: what Linux read ahead by
	// itself before 5.4, and what was best on a fast path
	// (https://learn.microsoft.com/en-us/azure/azure-netapp-files/performance-linux-nfs-read-ahead).
	readAhead = 15 * largestRequest

	// mountConnections is how many connections a mount uses at 10 Gb/s and
	// more, where one is one processor's work (the NFS article: clnt_max_conns 8).
	mountConnections = 8

	// fastLink is the rate from which that matters.
	fastLink = 10 * unit.Gbps

	// oldSlots is how many requests may be under way on a connection before the
	// kernel chose that by itself (3.1): what servers with a limit of their own
	// take (NetApp: 128).
	oldSlots = 128
)

// answeredByNFS are the causes that more or larger requests under way may lift.
var answeredByNFS = []string{diagnose.ApplicationWindow, diagnose.SlowSender, diagnose.SlowReceiver}

// servesOnly says whether a host is known to be the server of NFS: it has threads
// for that, and no mount.
func servesOnly(h *host.Facts) bool {
	return number(h.Tunables["nfsd.threads"], 0) > 0 && !mounts(h)
}

func mounts(h *host.Facts) bool { return len(instances(h, "nfs.rsize")) > 0 }

// nfsMount has a client of NFS ask for more at a time.
func nfsMount(m *maker, h *host.Facts) *idea {
	if m.Workload != NFS || servesOnly(h) {
		return nil
	}
	i := &idea{answers: answeredByNFS, limit: unlimited, after: unlimited}
	i.Idea = "let the client of NFS keep more of the path busy"
	set := func(name, value, why string) {
		if c := m.change(h, name, value, why); len(c) > 0 {
			i.Changes, i.Risk = append(i.Changes, c...), risk(h, name)
		}
	}
	requests := fmt.Sprint(int64(largestRequest))
	for _, name := range append(instances(h, "nfs.rsize"), instances(h, "nfs.wsize")...) {
		set(name, requests, "fewer, larger requests for the same data")
	}
	for _, name := range instances(h, "nfs.read_ahead_kb") {
		set(name, fmt.Sprint(int64(readAhead/unit.KiB)), "a program that reads in order has 15 requests under way instead of waiting for each")
	}
	if m.need.rate >= fastLink {
		for _, name := range instances(h, "nfs.nconnect") {
			set(name, fmt.Sprint(mountConnections), fmt.Sprintf("one connection is the work of one processor at each end, and the path carries %v", m.need.rate))
		}
	}
	const slots = "sunrpc.tcp_slot_table_entries"
	if most, ok := tunable.Lookup(h.OS, "sunrpc.tcp_max_slot_table_entries"); ok && !most.Applies(h.Version) && h.Tunables[slots] != "" {
		set(slots, fmt.Sprint(oldSlots), "so many requests may be under way on a connection, and before 3.1 the kernel does not raise that by itself")
	}
	const session = "module.nfs.max_session_slots"
	if t, ok := tunable.Lookup(h.OS, session); ok && h.Tunables[session] != "" {
		usual, _ := t.Default(h.Version)
		begin := max(number(h.Tunables[session], 0), number(usual, 0), 1)
		if under := min(m.underWay(), t.Max); under > begin {
			set(session, fmt.Sprint(min(doubled(begin, under), t.Max)), fmt.Sprintf("the path holds %d requests; the number is doubled from where it is for as long as that helps", m.underWay()))
		}
	}
	return i
}

// nfsServer has a server of NFS serve more requests at a time.
func nfsServer(m *maker, h *host.Facts) *idea {
	name := "nfsd.threads"
	if has(h, "nfsd.servers") { // Solaris and illumos
		name = "nfsd.servers"
	}
	present := number(h.Tunables[name], 0)
	t, ok := tunable.Lookup(h.OS, name)
	if m.Workload != NFS || !ok || present == 0 || mounts(h) { // 0: it does not serve; and who mounts is the client here
		return nil
	}
	usual, _ := t.Default(h.Version)
	want := max(2*number(usual, 0), m.underWay(), int64(m.Connections))
	if h.Memory > 0 {
		want = min(want, MostThreads(h.Memory))
	}
	i := &idea{answers: answeredByNFS, limit: unlimited, after: unlimited}
	i.Idea = "let the server of NFS serve more requests at once"
	i.Risk = t.Risk
	i.Changes = m.change(h, name, fmt.Sprint(min(doubled(present, want), t.Max)), "a request waits while all threads are at work; the number is doubled from where it is for as long as that helps")
	return i
}

// MostThreads is how many threads a server of NFS with so many bytes of memory may have: each
// holds a request, and requests one byte in 32 of the memory.
func MostThreads(memory int64) int64 { return memory / 32 / int64(largestRequest) }

// underWay is how many of the largest requests fill the path twice over.
func (m *maker) underWay() int64 {
	all := windows * float64(m.need.bdp) * float64(m.Streams)
	return int64(math.Ceil(min(all, math.MaxInt32) / float64(largestRequest)))
}

// doubled is n, which is 1 at least, doubled until it is no less than enough.
func doubled(n, enough int64) int64 {
	for n < enough {
		n *= 2
	}
	return n
}
