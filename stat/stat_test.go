package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestQuantiles(t *testing.T) {
	// R: quantile(x, type = 7)
	for _, c := range []struct {
		x    []float64
		want [3]float64
	}{
		{[]float64{5}, [3]float64{5, 5, 5}},
		{[]float64{2, 1}, [3]float64{1.25, 1.5, 1.75}},
		{[]float64{4, 1, 3, 2}, [3]float64{1.75, 2.5, 3.25}},
		{[]float64{9, 1, 5, 3, 7}, [3]float64{3, 5, 7}},
	} {
		low, median, high := Quartiles(c.x)
		if diff := cmp.Diff(c.want, [3]float64{low, median, high}); diff != "" {
			t.Errorf("quartiles of %v: %s", c.x, diff)
		}
	}
	if !math.IsNaN(Median(nil)) || !math.IsNaN(Mean(nil)) {
		t.Error("the median and mean of nothing must be NaN")
	}
}

func TestStudentT(t *testing.T) {
	// Two-sided values of the printed tables.
	for _, c := range []struct{ df, probability, want float64 }{
		{1, 0.95, 12.706}, {2, 0.95, 4.303}, {3, 0.95, 3.182}, {4, 0.95, 2.776},
		{10, 0.95, 2.228}, {30, 0.95, 2.042}, {1000, 0.95, 1.962},
		{1, 0.99, 63.657}, {5, 0.99, 4.032}, {4, 0.90, 2.132},
	} {
		if got := studentT(c.df, c.probability); math.Abs(got-c.want) > 0.002*c.want {
			t.Errorf("t(%v, %v) = %.4f, want %.3f", c.df, c.probability, got, c.want)
		}
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []float64
		want          Effect
	}{
		{"nothing measured", nil, []float64{1}, Effect{1, 1e-6, 1e6}},
		{"only zeros", []float64{0, 0}, []float64{0}, Effect{1, 1e-6, 1e6}},
		{"one run each", []float64{4}, []float64{8}, Effect{2, 1e-6, 1e6}},
		{"no scatter", []float64{4, 4}, []float64{8, 8}, Effect{2, 2, 2}},
		{"it stopped working", []float64{4, 4}, []float64{0, 0}, Effect{1e-6, 1e-6, 1e-6}},
		// log 1.1 / 2 scatter on one side, t(1) = 12.706: exp(-12.706 * 0.04766) = 0.5458
		{"scatter on one side", []float64{100, 110}, []float64{104.88088481701516, 104.88088481701516}, Effect{1, 0.5458, 1.8323}},
		// variance of (log 100, log 110) is 0.004542, times 1+1/2, t(1): half 1.0488
		{"a single run borrows the scatter", []float64{100, 110}, []float64{104.88088481701516}, Effect{1, 0.3504, 2.854}},
	} {
		got := Ratio(c.before, c.after)
		if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(1e-3, 1e-9)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []float64
		want          Decision
	}{
		{"140 times as much", []float64{4.0, 4.1}, []float64{530, 560}, Better},
		{"half", []float64{100, 101, 99}, []float64{50, 51, 52}, Worse},
		{"the same", []float64{940, 941, 939}, []float64{940, 941, 940}, Same},
		{"sure but too small to matter", []float64{1000, 1001, 1000}, []float64{1010, 1011, 1010}, Same},
		{"noisy, but every run is faster", []float64{350, 352, 349, 351, 350}, []float64{924, 420, 985, 450, 1000}, Better},
		{"the same with too few runs", []float64{350, 352, 349}, []float64{924, 420, 985}, Undecided},
		{"noisy, but every run is slower", []float64{924, 420, 985, 450, 1000}, []float64{350, 352, 349, 351, 350}, Worse},
		{"too noisy to tell", []float64{100, 150}, []float64{120, 180}, Undecided},
		{"measured once", []float64{100}, []float64{200}, Undecided},
		{"not measured", nil, nil, Undecided},
	} {
		if got, effect := Decide(c.before, c.after, 0.03, 3); got != c.want {
			t.Errorf("%s: %s (%+v), want %s", c.name, got, effect, c.want)
		}
	}
}

func TestChanceApart(t *testing.T) {
	// Two of C(n+m, n) ways to deal.
	for _, c := range []struct {
		n, m int
		want float64
	}{{0, 3, 1}, {1, 1, 1}, {3, 3, 0.1}, {5, 5, 2.0 / 252}, {3, 4, 2.0 / 35}, {2, 8, 2.0 / 45}} {
		if got := chanceApart(c.n, c.m); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d and %d: %v, want %v", c.n, c.m, got, c.want)
		}
	}
}

// The interval must hold the truth as often as it says, with few runs a side,
// equal or unequal scatter, and the skew of real rates.
func TestRatioCoverage(t *testing.T) {
	const trials, gain = 2000, 1.2
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 5, 10} {
		for _, scatter := range []float64{0.02, 0.2} {
			held, boot := 0, 0
			for range trials {
				before := runs(rng, n, 100, 0.02)
				after := runs(rng, n, 100*gain, scatter)
				if e := Ratio(before, after); e.Low <= gain && gain <= e.High {
					held++
				}
				if low, high := bootstrap(rng, before, after); low <= gain && gain <= high {
					boot++
				}
			}
			share, naive := float64(held)/trials, float64(boot)/trials
			t.Logf("%2d runs a side, scatter 0.02 and %4.2f: coverage %.3f (bootstrap of the same runs: %.3f)", n, scatter, share, naive)
			// Monte Carlo error of a share near 0.95 with 2000 trials is 0.005.
			if share < 0.915 {
				t.Errorf("%d runs a side, scatter %v: interval holds the truth in %.3f of cases, want 0.95", n, scatter, share)
			}
		}
	}
}

// Looking again and again while runs accumulate must not find differences that
// are not there more often than the error that was allowed.
func TestDecideRepeatedLooks(t *testing.T) {
	const trials, looks = 1000, 5
	rng := rand.New(rand.NewPCG(3, 4))
	wrong, found := 0, 0
	for range trials {
		ask := func(gain float64) Decision {
			before, after := runs(rng, 1, 100, 0.05), runs(rng, 1, 100*gain, 0.05)
			for range looks {
				before = append(before, runs(rng, 1, 100, 0.05)...)
				after = append(after, runs(rng, 1, 100*gain, 0.05)...)
				if d, _ := Decide(before, after, 0, looks); d != Undecided {
					return d
				}
			}
			return Undecided
		}
		if d := ask(1); d == Better || d == Worse {
			wrong++
		}
		if ask(1.3) == Better {
			found++
		}
	}
	falsely, power := float64(wrong)/trials, float64(found)/trials
	t.Logf("differences found: %.3f of cases without one, %.3f of cases with a gain of 1.3", falsely, power)
	if falsely > 0.065 {
		t.Errorf("found a difference in %.3f of cases without one, want at most 0.05", falsely)
	}
	if power < 0.95 {
		t.Errorf("found a gain of 1.3 in only %.3f of cases", power)
	}
}

func TestRatioProperties(t *testing.T) {
	side := rapid.SliceOfN(rapid.Float64Range(0, 1e11), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		before, after := side.Draw(t, "before"), side.Draw(t, "after")
		e := Ratio(before, after)
		if !(e.Low > 0 && e.Low <= e.Gain && e.Gain <= e.High && e.High <= beyond) {
			t.Fatalf("interval out of order: %+v", e)
		}
		back := Ratio(after, before)
		if diff := cmp.Diff(e, Effect{1 / back.Gain, 1 / back.High, 1 / back.Low}, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
			t.Fatalf("swapping the sides must invert the effect: %s", diff)
		}
		d, _ := Decide(before, after, 0.03, 1)
		r, _ := Decide(after, before, 0.03, 1)
		want := map[Decision]Decision{Better: Worse, Worse: Better, Same: Same, Undecided: Undecided}[d]
		if r != want && math.Abs(math.Abs(math.Log(e.Gain))-math.Log(1.03)) > 1e-9 {
			t.Fatalf("%s, but %s with the sides swapped", d, r)
		}
	})
}

// runs draws rates around a typical one, skewed as rates of transfers are.
func runs(rng *rand.Rand, n int, typical, scatter float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = typical * math.Exp(scatter*rng.NormFloat64())
	}
	return x
}

// bootstrap is the percentile interval of the ratio of means, the method that
// Ratio does not use.
func bootstrap(rng *rand.Rand, before, after []float64) (low, high float64) {
	ratios := make([]float64, 100)
	again := func(x []float64) float64 {
		sum := 0.0
		for range x {
			sum += x[rng.IntN(len(x))]
		}
		return sum
	}
	for i := range ratios {
		ratios[i] = again(after) / again(before)
	}
	slices.Sort(ratios)
	return Quantile(ratios, 0.025), Quantile(ratios, 0.975)
}
