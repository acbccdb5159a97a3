package html

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/figure"
)

// The area below a line of goodput is what was moved, whatever the steps: no look is
// lost between them, and those of all streams together are the transfer's.
func TestGoodputOverTimeAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var streams []bulk.Stream
		var moved int64
		for id := range rapid.IntRange(1, 5).Draw(t, "streams") {
			s := bulk.Stream{ID: id + 1}
			at, bytes := time.Duration(0), int64(0)
			for range rapid.IntRange(10, 60).Draw(t, "samples") {
				s.Samples = append(s.Samples, bulk.Sample{At: at, Bytes: bytes})
				at += rapid.SampledFrom([]time.Duration{100 * time.Millisecond, 101 * time.Millisecond, 200 * time.Millisecond}).Draw(t, "look")
				bytes += rapid.Int64Range(0, 1e7).Draw(t, "bytes")
			}
			moved += s.Samples[len(s.Samples)-1].Bytes
			streams = append(streams, s)
		}
		least := rapid.Float64Range(0, 0.5).Draw(t, "stretch")
		sum := 0.0
		for i := range streams {
			sum += area(goodputRate(&streams[i], least))
		}
		if math.Abs(sum/8-float64(moved)) > 1e-6*float64(moved)+1 {
			t.Fatalf("the lines cover %.0f bytes, %d were moved", sum/8, moved)
		}
		all := area(total(each(streams, func(s *bulk.Stream) []figure.Point { return goodputRate(s, least) })))
		// Ends are brought together by up to a fortieth.
		if math.Abs(all/8-float64(moved)) > 0.4*float64(moved)+1 {
			t.Fatalf("the line of all covers %.0f bytes, %d were moved", all/8, moved)
		}
	})
}

// area is what lies below stairs.
func area(points []figure.Point) float64 {
	sum := 0.0
	for i := 1; i < len(points); i++ {
		sum += (points[i].X - points[i-1].X) * points[i].Y
	}
	return sum
}

// Streams that are closed some milliseconds apart end together: their sum does not
// fall to that of the last one.
func TestSumOfStreamsEndsAtOnce(t *testing.T) {
	line := func(end float64) []figure.Point { return []figure.Point{{X: 0, Y: 5}, {X: 1, Y: 5}, {X: end, Y: 5}} }
	got := total([][]figure.Point{line(2), line(2.01), line(2.02)})
	if last := got[len(got)-1]; last.X != 2.02 || last.Y != 15 {
		t.Errorf("the sum ends with %v", last)
	}
	if got := total([][]figure.Point{line(2), line(4)}); got[len(got)-1].Y != 5 || got[1].Y != 10 {
		t.Errorf("of streams that end at different times the sum is %v", got)
	}
}

// The median of several streams has the least and the most around it.
func TestSpreadOfStreams(t *testing.T) {
	got := spread([][]figure.Point{{{X: 0, Y: 1}, {X: 1, Y: 1}}, {{X: 0, Y: 3}, {X: 1, Y: 7}}, {{X: 0, Y: 2}, {X: 1, Y: math.NaN()}}})
	if got[0] != (figure.Point{X: 0, Y: 2, Low: 1, High: 3}) || got[1] != (figure.Point{X: 1, Y: 7, Low: 1, High: 7}) {
		t.Errorf("%v", got)
	}
}
