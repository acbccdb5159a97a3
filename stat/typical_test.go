package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestTypical(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []float64
		want Interval
	}{
		{"nothing measured", nil, Interval{}},
		{"nothing moved", []float64{0, 0}, Interval{}},
		{"one run", []float64{100}, Interval{100, 100e-6, 100e6}},
		{"no scatter", []float64{7, 7, 7}, Interval{7, 7, 7}},
		// sd of log 100, log 110 is 0.06739, / sqrt 2 * t(1) = 12.706: exp(±0.6055)
		{"two runs", []float64{100, 110}, Interval{104.881, 57.245, 192.155}},
		{"one run without a number", []float64{100, math.NaN()}, Interval{0.1, 0.1e-6, 0.1e6}},
	} {
		if diff := cmp.Diff(c.want, Typical(c.runs), cmpopts.EquateApprox(1e-3, 1e-9)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		runs  []float64
		share float64
		want  bool
	}{
		{[]float64{100, 100.1, 99.9}, 0.02, true},
		{[]float64{100, 103, 97}, 0.02, false},
		{[]float64{100}, 0.5, false},
		{nil, 0.5, false},
	} {
		if got := Typical(c.runs).Within(c.share); got != c.want {
			t.Errorf("%v within %v: %v", c.runs, c.share, got)
		}
	}
	for interval, want := range map[Interval]bool{
		{100, 50, 150}: true, {100, 49, 150}: false, {100, 50, 151}: false, {0, 0, 0}: false,
	} {
		if got := interval.Within(0.5); got != want {
			t.Errorf("%v within a half: %v", interval, got)
		}
	}
}

// The interval must hold the truth as often as it says.
func TestTypicalCoverage(t *testing.T) {
	const trials = 2000
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{2, 3, 5, 10, 30} {
		for _, scatter := range []float64{0.01, 0.2} {
			held := 0
			for range trials {
				if i := Typical(runs(rng, n, 100, scatter)); i.Low <= 100 && 100 <= i.High {
					held++
				}
			}
			share := float64(held) / trials
			t.Logf("%2d runs, scatter %4.2f: coverage %.3f", n, scatter, share)
			// Monte Carlo error of a share near 0.95 with 2000 trials is 0.005.
			if share < 0.93 || share > 0.97 {
				t.Errorf("%d runs, scatter %v: the interval holds the truth in %.3f of cases, want 0.95", n, scatter, share)
			}
		}
	}
}

// Repeating until runs agree must keep its promise although runs that happen to
// lie close together end it.
func TestSettled(t *testing.T) {
	const trials, promised = 500, 0.02
	rng := rand.New(rand.NewPCG(7, 8))
	for _, scatter := range []float64{0.005, 0.01, 0.02, 0.03, 0.04, 0.2} {
		kept, reached, count := 0, 0, 0
		for range trials {
			x := runs(rng, 1, 100, scatter)
			for !Settled(x, promised) && len(x) < MostRuns {
				x = append(x, runs(rng, 1, 100, scatter)...)
			}
			if Settled(x, promised) {
				reached++
				if math.Abs(Typical(x).Typical-100) <= promised*100 {
					kept++
				}
			}
			count += len(x)
		}
		t.Logf("scatter %.3f: %4.1f runs, settled in %.2f of cases, within ±2 %% of the truth in %.3f of those",
			scatter, float64(count)/trials, float64(reached)/trials, float64(kept)/float64(max(reached, 1)))
		if scatter == 0.2 {
			if reached > 0 {
				t.Errorf("%d of %d settled with a scatter that 30 runs cannot settle", reached, trials)
			}
			continue
		}
		// Monte Carlo error of a share near 0.95 with 500 trials is 0.01.
		if share := float64(kept) / float64(reached); share < 0.93 {
			t.Errorf("scatter %v: the promise was kept in %.3f of cases, want 0.95", scatter, share)
		}
	}
	if Settled([]float64{100, 100}, promised) || SettledRatio([]float64{1, 1, 1}, []float64{2, 2}, promised) {
		t.Error("two runs settled something")
	}
	if !Settled([]float64{100, 100, 100}, promised) {
		t.Error("three runs that agree are not settled")
	}
	if !SettledRatio([]float64{1, 1.001, 1}, []float64{2, 2.001, 2}, promised) {
		t.Error("a ratio without scatter is not settled")
	}
}

func TestTypicalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0, 1e11), 0, 12).Draw(t, "runs")
		i := Typical(x)
		if !(i.Low >= 0 && i.Low <= i.Typical*(1+1e-12) && i.Typical <= i.High*(1+1e-12) && !math.IsInf(i.High, 0)) {
			t.Fatalf("interval out of order: %+v", i)
		}
	})
}
