package figure

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A long line keeps, of every column that a screen can show, its least and its most:
// a dip of one sample in a million is still to be seen. It never has more than
// 2,000 points, and none that was not measured.
func TestThinKeepsExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 6000).Draw(t, "points")
		seed := rapid.Uint64().Draw(t, "seed")
		points := make([]Point, n)
		for i := range points {
			seed = seed*6364136223846793005 + 1442695040888963407
			points[i] = Point{X: float64(i), Y: float64(seed>>40) / 1e3}
			if seed>>33&63 == 0 {
				points[i].Y = math.NaN()
			}
		}
		columns := rapid.IntRange(1, Columns).Draw(t, "columns")
		at := func(p Point) float64 { return p.X / float64(max(1, n-1)) }
		kept := thin(points, columns, at)
		if len(kept) > 2000 {
			t.Fatalf("%d points", len(kept))
		}
		type ends struct{ least, most float64 }
		of := func(points []Point) map[int]ends {
			found := map[int]ends{}
			for _, p := range points {
				if math.IsNaN(p.Y) {
					continue
				}
				c := min(columns-1, int(at(p)*float64(columns)))
				e, ok := found[c]
				if !ok {
					e = ends{p.Y, p.Y}
				}
				found[c] = ends{min(e.least, p.Y), max(e.most, p.Y)}
			}
			return found
		}
		all, left := of(points), of(kept)
		if len(all) != len(left) {
			t.Fatalf("%d columns have points, %d are left", len(all), len(left))
		}
		for c, e := range all {
			if left[c] != e {
				t.Fatalf("column %d goes from %g to %g, and is left from %g to %g", c, e.least, e.most, left[c].least, left[c].most)
			}
		}
		for i, p := range kept {
			if !math.IsNaN(p.Y) && points[int(p.X)] != p {
				t.Fatalf("point %v was never measured", p)
			}
			if i > 0 && p.X < kept[i-1].X {
				t.Fatalf("point %v comes behind %v", p, kept[i-1])
			}
		}
	})
}

// The share of a distribution never falls, and ends with all.
func TestDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e3), 1, 1000).Draw(t, "values")
		points := Distribution(values)
		for i, p := range points {
			if i > 0 && (p.Y < points[i-1].Y || p.X < points[i-1].X) {
				t.Fatalf("%v comes behind %v", p, points[i-1])
			}
		}
		if last := points[len(points)-1]; last.Y != 1 || len(points) > distributionSteps+1 {
			t.Fatalf("%d points that end with %v", len(points), last)
		}
	})
	if Distribution([]float64{math.NaN(), math.Inf(1)}) != nil {
		t.Error("a distribution of nothing")
	}
}
