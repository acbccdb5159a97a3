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
	// while the other is read. Above that, S2's sweep gained nothing either.
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
	together := unit.Size(h.Memory / 32)
	if pressure := number(h.Tunables["net.ipv4.tcp_mem"], 1); pressure > 0 && pressure < math.MaxInt64/int64(page) {
		together = min(together, unit.Size(pressure)*page/2)
	}
	return min(mostBuffer, max(together/unit.Size(max(streams, 1)), byKernel(h)))
}

// byKernel is what the kernel would take as maximum at most, for this memory.
func byKernel(h *host.Facts) unit.Size { return unit.Size(h.Memory / 128) }

// defaultMax is the third value of a triplet as this version of the system comes
// with it on this much memory; 0 if the catalogue does not know.
func defaultMax(h *host.Facts, name string) unit.Size {
	t, ok := tunable.Lookup(h.OS, name)
	if !ok {
		return 0
	}
	value, _ := t.Default(h.Version)
	return min(unit.Size(number(value, 2)), byKernel(h))
}

// number is one element of a tunable's value, 0 if there is none.
func number(value string, place int) int64 {
	fields := strings.Fields(value)
	if place >= len(fields) {
		return 0
	}
	n, err := strconv.ParseInt(fields[place], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
