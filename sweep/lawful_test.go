package sweep

import (
	"testing"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// TestLawOfEachPath: a law is bounded by what the point's own path carries, whatever the
// scenario's was before the experiment set its rate.
func TestLawOfEachPath(t *testing.T) {
	point := func(rate Value, goodput unit.Rate) PointResult {
		return PointResult{Factors: map[string]Value{"path.rate": rate}, Runs: 2, Goodput: goodput, rtt: time.Millisecond, window: unit.MiB, streams: 1}
	}
	d := &Document{Points: []PointResult{point(present, 190e6), point(number(100e6), 96e6), point(number(10e6), 9.9e6)}}
	d.holdBeside(WindowLaw, nil, About{Capacity: 193e6, Share: 0.965})
	for i, want := range []unit.Rate{193e6, 96.5e6, 9.9e6} { // of the last one more was measured than is known
		if got := d.Points[i].Law; got == nil || *got != want {
			t.Errorf("point %d: the law says %v, want %v", i, got, want)
		}
	}
	if d.Law.Capacity != 0 {
		t.Errorf("%v is said to be the capacity of three paths", d.Law.Capacity)
	}
	d = &Document{Points: []PointResult{point(present, 190e6)}}
	if d.holdBeside(WindowLaw, nil, About{Capacity: 193e6}); d.Law.Capacity != 193e6 {
		t.Errorf("of one path the capacity is %v", d.Law.Capacity)
	}
}
