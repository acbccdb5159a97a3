package wire

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Whatever order packets are released in, none is overwritten before, the memory
// stays within its limit, and all of it can be used again.
func TestArena(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := arena{limit: 2 * regionSize}
		defer a.close()
		var live []*packet
		mark := byte(0)
		check := func(i int) {
			p := live[i]
			if want := bytes.Repeat(p.buf[:1], len(p.buf)); !bytes.Equal(p.buf, want) {
				t.Fatal("a packet was overwritten")
			}
			a.release(p)
			live = append(live[:i], live[i+1:]...)
		}
		full := false
		for range rapid.IntRange(1, 500).Draw(t, "steps") {
			if len(live) > 0 && (full || rapid.IntRange(0, 3).Draw(t, "release") == 0) {
				check(rapid.IntRange(0, len(live)-1).Draw(t, "which"))
				full = false
				continue
			}
			buf, err := a.next()
			if err != nil {
				t.Fatal(err)
			}
			if full = buf == nil; full {
				continue
			}
			if len(buf) < bufferSize {
				t.Fatalf("room for %d bytes only", len(buf))
			}
			mark++
			n := rapid.SampledFrom([]int{50, 1510, 9010, 40_000, bufferSize}).Draw(t, "size")
			copy(buf, bytes.Repeat([]byte{mark}, n))
			p, own := a.packet(n)
			p.buf = own
			live = append(live, p)
		}
		for len(live) > 0 {
			check(len(live) - 1)
		}
		if a.used > a.limit {
			t.Fatalf("%d bytes mapped, limit %d", a.used, a.limit)
		}
		if slabs := len(a.regions) * regionSize / slabSize; len(a.free)+1 < slabs {
			t.Fatalf("%d of %d slabs are free", len(a.free), slabs)
		}
	})
}

func TestArenaEnds(t *testing.T) {
	a := arena{limit: regionSize}
	defer a.close()
	packets := 0
	for ; ; packets++ {
		buf, err := a.next()
		if err != nil {
			t.Fatal(err)
		}
		if buf == nil {
			break
		}
		a.packet(bufferSize)
	}
	if want := regionSize / slabSize * (slabSize / bufferSize); packets != want {
		t.Errorf("%d packets, want %d", packets, want)
	}
}
