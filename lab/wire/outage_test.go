package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOutage: of a segment every millisecond, those that come within an outage are
// dropped, from the first instant of it to the last; what was on its way arrives.
func TestOutage(t *testing.T) {
	d := Direction{Delay: 5 * time.Millisecond, Outage: Outage{Every: 10 * time.Millisecond, For: 3 * time.Millisecond}}
	l, out := drive(d, 35, 1, time.Millisecond)
	var got []int
	for _, a := range out {
		if a.due != int64(a.id+5)*int64(time.Millisecond) {
			t.Errorf("segment %d arrives at %v", a.id, time.Duration(a.due))
		}
		got = append(got, a.id)
	}
	want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 15, 16, 17, 18, 19, 23, 24, 25, 26, 27, 28, 29, 33, 34}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("arrived:", diff)
	}
	if s := l.stats(); s.Drops.Outage != 9 || s.Drops.Total() != 9 {
		t.Errorf("%d dropped in an outage, %d in all, want 9", s.Drops.Outage, s.Drops.Total())
	}
}

func TestBlackHole(t *testing.T) {
	for size, want := range map[BlackHole]uint64{999: 0, 1000: 2, 1001: 2} { // segments of 1000 bytes
		l, _ := drive(Direction{BlackHoleAbove: size}, 1, 2, 0)
		if s := l.stats(); s.SegmentsOut != want || s.Drops.BlackHole != 2-want {
			t.Errorf("above %d: %d got through, %d vanished", size, s.SegmentsOut, s.Drops.BlackHole)
		}
	}
}
