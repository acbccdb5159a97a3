package plan

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

const (
	// leastBuffer is what even the shortest path needs: a window of 128 KiB,
	// two of the largest packets that GSO and GRO build (64 KiB,
	// GSO_LEGACY_MAX_SIZE in include/linux/netdevice.h), so that one can arrive
	// while the other is read. Above that, the GigaSwift article's sweep gained nothing either.
	leastBuffer = 256 * unit.KiB

	// mostBuffer is the largest value that the kernel takes (an int).
	mostBuffer unit.Size = math.MaxInt32

	page = 4 * unit.KiB // the smallest; where pages are larger, the bound on memory is tighter than it need be
)

// readable rounds a buffer up to a power of two and keeps it within what makes
// sense at all.
func readable(buffer float64) unit.Size {
	if !(buffer < float64(mostBuffer)) {
		return mostBuffer
	}
	size := max(unit.Size(math.Ceil(buffer)), leastBuffer)
	return min(mostBuffer, 1<<bits.Len64(uint64(size-1)))
}

// memoryBound is the largest buffer for each of so many streams of a host. All
// of them together may take 1/32 of its memory: the kernel feels pressure from
// all sockets together at 1/16 of it (tcp_mem[1], 6.25 % by tcp_init_mem in
// net/ipv4/tcp.c), or earlier if an administrator lowered that. What the kernel
// would give any socket by itself, 1/128 of memory (tcp_init), is never too
// much. 0: the host's memory is not known.
func memoryBound(h *host.Facts, streams int) unit.Size {
	if h.Memory <= 0 {
		return 0
	}
	return min(mostBuffer, max(share(h, streams), byKernel(h)))
}

// share is the part of a host's memory that each of so many connections may have
// for one of its buffers, 1 byte at least.
func share(h *host.Facts, connections int) unit.Size {
	together := unit.Size(h.Memory / 32)
	if pressure := number(h.Tunables["net.ipv4.tcp_mem"], 1); pressure > 0 && pressure < math.MaxInt64/int64(page) {
		together = min(together, unit.Size(pressure)*page/2)
	}
	return max(1, together/unit.Size(max(connections, 1)))
}

// bound is the largest buffer of a connection on a host, for its memory and the
// connections of the plan. Where it is known how many connections the host
// serves, they all fit, whatever the kernel would allow each. 0: the host's
// memory is not known.
func (in *Input) bound(h *host.Facts) unit.Size {
	if h.Memory <= 0 || in.Connections <= 0 {
		return memoryBound(h, in.Streams)
	}
	return min(mostBuffer, share(h, max(in.Streams, in.Connections)))
}

// byKernel is what the kernel would take as maximum at most, for this memory.
func byKernel(h *host.Facts) unit.Size { return unit.Size(h.Memory / 128) }

// defaultMax is the last number of a tunable's value as this version of the
// system comes with it, on this much memory; 0 if the catalogue does not know.
func defaultMax(h *host.Facts, name string) unit.Size {
	t, ok := tunable.Lookup(h.OS, name)
	if !ok {
		return 0
	}
	value, _ := t.Default(h.Version)
	usual := unit.Size(greatest(value))
	if h.OS == "linux" && h.Memory > 0 {
		return min(usual, byKernel(h))
	}
	return usual
}

// AsBooted gives a Linux host that is taken as its version comes the maxima of
// TCP's buffers that the kernel would give them with the host's memory: 1/128 of
// it where that is less than the version's, though never less than a default
// buffer (tcp_init in net/ipv4/tcp.c, since 2.6.17).
func AsBooted(h *host.Facts) {
	if h.OS != "linux" || h.Memory <= 0 || !from(h, "2.6.17") {
		return
	}
	for _, name := range []string{rmem, wmem} {
		value := h.Tunables[name]
		if most := max(byKernel(h), leastMax, unit.Size(number(value, 1))); most < unit.Size(greatest(value)) {
			h.Tunables[name] = withMax(value, most)
		}
	}
}

// leastMax is the smallest maximum of a buffer that the kernel gives itself, of
// those for sending (there).
const leastMax = 64 * unit.KiB

// aboutClusters says of FreeBSD's pool of network buffers (mbuf clusters) if it does
// not hold what the connections of the plan may keep in theirs: so many bytes each.
// Which is no more than 1/8 of memory, as much as the pool gets by itself
// (kern_mbuf.c: a quarter of maxmbufmem, which is half of memory). To raise it is
// for its administrator.
func (m *maker) aboutClusters(h *host.Facts, buffers unit.Size) {
	now := present(h, clusters)
	want := (buffers*unit.Size(max(m.Streams, m.Connections)) + clusterSize - 1) / clusterSize
	if h.Memory > 0 {
		want = min(want, unit.Size(h.Memory/8)/clusterSize)
	}
	if t, ok := tunable.Lookup(h.OS, clusters); ok && now > 0 && want > now { // 0: no pool of a fixed size
		m.note("When they are full, the buffers of all connections together take %d clusters of %v, and %s on %s is %d. It is left alone: %s.",
			int64(want), unit.Size(clusterSize), clusters, h.Name, int64(now), sentence(t.Leave))
	}
}

// number is one element of a tunable's value, 0 if there is none.
func number(value string, place int) int64 {
	fields := strings.Fields(value)
	if place >= len(fields) {
		return 0
	}
	n, err := strconv.ParseInt(fields[place], 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}
