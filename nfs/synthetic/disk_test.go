package synthetic

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A disk has in memory what was read last, and no more of it than it has room for.
func TestDiskRemembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const room = 8
		d := newDisk(time.Nanosecond, 1)
		d.ring = make([]block, 0, room)
		var read []block // newest last, each once
		for range rapid.IntRange(1, 40).Draw(t, "reads") {
			file, first := rapid.Uint64Range(1, 2).Draw(t, "file"), rapid.Uint64Range(0, 12).Draw(t, "first")
			bytes := rapid.IntRange(1, 3*blockSize).Draw(t, "bytes")
			last := first + uint64(bytes-1)/blockSize
			known := func(n uint64) bool { return slices.Contains(read[max(0, len(read)-room):], block{file, n}) }
			all := true
			for n := first; n <= last; n++ {
				all = all && known(n)
			}
			if d.remembers(file, first, last) != all {
				t.Fatalf("blocks %d to %d of file %d: %v, want %v; read before: %v", first, last, file, !all, all, read)
			}
			d.fetch(file, first*blockSize, bytes)
			for n := first; n <= last; n++ {
				if !known(n) {
					read = append(slices.DeleteFunc(read, func(b block) bool { return b == block{file, n} }), block{file, n})
				}
			}
			if len(d.memory) > room || len(d.memory) != len(d.ring) {
				t.Fatalf("%d blocks in memory, %d in the order, room for %d", len(d.memory), len(d.ring), room)
			}
		}
	})
}
