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
		{1, 0.99, 63.657}, {5, 0.99, 4.032}, {4, 0.90, 2.132}, {1e6, 0.95, 1.960},
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
		{"a lone run says nothing of its scatter", []float64{100, 110}, []float64{104.88088481701516}, Effect{1, 1e-6, 1e6}},
		{"nor does one before", []float64{104.88088481701516}, []float64{100, 110}, Effect{1, 1e-6, 1e6}},
		{"steady runs say nothing of a lone one's", []float64{100, 100}, []float64{103}, Effect{1.03, 1e-6, 1e6}},
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
		{"surely less, but too little to matter", []float64{1000, 1001, 1000}, []float64{990, 991, 990}, Same},
		{"surely more, but perhaps too little", []float64{100, 100, 100, 100, 100}, []float64{102, 103, 104, 101, 102}, Undecided},
		{"140 times as much", []float64{4.0, 4.1}, []float64{530, 560}, Better},
		{"half", []float64{100, 101, 99}, []float64{50, 51, 52}, Worse},
		{"the same", []float64{940, 941, 939}, []float64{940, 941, 940}, Same},
		{"sure but too small to matter", []float64{1000, 1001, 1000}, []float64{1010, 1011, 1010}, Same},
		{"noisy, but every run is faster", []float64{350, 352, 349, 351, 350}, []float64{924, 420, 985, 450, 1000}, Better},
		{"the same with too few runs", []float64{350, 352, 349}, []float64{924, 420, 985}, Undecided},
		{"noisy, but every run is slower", []float64{924, 420, 985, 450, 1000}, []float64{350, 352, 349, 351, 350}, Worse},
		{"too noisy to tell", []float64{100, 150}, []float64{120, 180}, Undecided},
		{"a lone run after steady ones", []float64{100, 100}, []float64{200}, Undecided},
		{"measured once", []float64{100}, []float64{200}, Undecided},
		{"not measured", nil, nil, Undecided},
	} {
		if got, effect := Decide(c.before, c.after, 0.03, 0.02); got != c.want {
			t.Errorf("%s: %s (%+v), want %s", c.name, got, effect, c.want)
		}
	}
}

// The gain counts from the smallest effect on that matters, in either direction.
func TestDecideReachesTheSmallestEffect(t *testing.T) {
	tried := 0
	for rate := 51.0; rate < 100; rate++ {
		before, after := []float64{rate, rate}, []float64{100, 100}
		_, e := Decide(before, after, 0, 0.02)
		margin := e.Gain - 1
		if d, _ := Decide(before, after, margin, 0.02); d != Better {
			t.Errorf("%v times as much, and from there on it matters: %s", e.Gain, d)
		}
		if d, _ := Decide(before, after, margin+1e-9, 0.02); d == Better {
			t.Errorf("%v times as much, and from a little more on it matters: %s", e.Gain, d)
		}
		_, e = Decide(after, before, 0, 0.02)
		if margin = 1/e.Gain - 1; 1/(1+margin) != e.Gain {
			continue // rounded
		}
		tried++
		if d, _ := Decide(after, before, margin, 0.02); d != Worse {
			t.Errorf("%v times as much, and from there on it matters: %s", e.Gain, d)
		}
	}
	if tried == 0 {
		t.Error("no loss has a factor that can be written without rounding")
	}
}

// Where any effect matters, however small, runs that do not differ at all are neither
// better nor worse, and no number of them shows that they are the same.
func TestDecideNoDifference(t *testing.T) {
	for n := 1; n <= 6; n++ {
		runs := slices.Repeat([]float64{100}, n)
		if d, e := Decide(runs, runs, 0, 0.05); d != Undecided {
			t.Errorf("%d runs a side: %s (%+v)", n, d, e)
		}
	}
}

// Every run of one side above every run of the other counts when chance does that as
// rarely as is allowed: with three a side in 2 of 20 cases.
func TestDecideApart(t *testing.T) {
	before, after := []float64{350, 352, 349}, []float64{420, 2000, 9000}
	for allowed, want := range map[float64]Decision{0.1: Better, 0.0999: Undecided} {
		if d, e := Decide(before, after, 0.03, allowed); d != want || e.Low > 1 {
			t.Errorf("an error of %v is allowed: %s (%+v), want %s", allowed, d, e, want)
		}
	}
	if d, _ := Decide(after, before, 0.03, 0.1); d != Worse {
		t.Errorf("the other way round: %s", d)
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
			for look := range looks {
				before = append(before, runs(rng, 1, 100, 0.05)...)
				after = append(after, runs(rng, 1, 100*gain, 0.05)...)
				if d, _ := Decide(before, after, 0, Spend(0.05, look+1, looks)); d != Undecided {
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
		d, _ := Decide(before, after, 0.03, 0.05)
		r, _ := Decide(after, before, 0.03, 0.05)
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

// What is spent at all looks together is what is allowed, and no look gets nothing.
func TestSpend(t *testing.T) {
	for looks := 1; looks <= 12; looks++ {
		sum := 0.0
		for look := 1; look <= looks; look++ {
			part := Spend(0.05, look, looks)
			if part < 0.05/float64(3*looks) {
				t.Errorf("look %d of %d gets %v", look, looks, part)
			}
			sum += part
		}
		if math.Abs(sum-0.05) > 1e-12 {
			t.Errorf("%d looks spend %v", looks, sum)
		}
	}
	// 0.05 ln(1 + (e-1)/2), as the article has it
	if got := Spend(0.05, 1, 2); math.Abs(got-0.0310057) > 1e-6 {
		t.Errorf("the first of two looks gets %v", got)
	}
}

// Yuen's and Tukey's figures, worked out by hand.
func TestTrimmed(t *testing.T) {
	exp := func(logs ...float64) []float64 {
		out := make([]float64, len(logs))
		for i, x := range logs {
			out[i] = math.Exp(x)
		}
		return out
	}
	// Middle four of (0, 1, 2, 3, 4, 50) are 1 to 4: mean 2.5; winsorised (1, 1, 2, 3, 4, 4): squares 9.5
	// about 2.5; variance of the mean 9.5 / (4 * 3) = 0.79167; t(3) = 3.1824: half 2.8316.
	m := average([]float64{50, 0, 3, 1, 4, 2}, 1)
	if diff := cmp.Diff([]float64{2.5, 9.5 / 12, 3}, []float64{m.value, m.variance, m.df}, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Error(diff)
	}
	got := PairedAt(0.95, exp(1, 1, 1, 1, 1, 1), exp(1, 1.1, 1.2, 1.3, 1.4, 6))
	half := 3.1824 * math.Sqrt(0.095/12)
	if diff := cmp.Diff(Effect{math.Exp(0.25), math.Exp(0.25 - half), math.Exp(0.25 + half)}, got, cmpopts.EquateApprox(1e-4, 0)); diff != "" {
		t.Error(diff)
	}
	for n, want := range map[int]int{0: 0, 5: 0, 6: 1, 9: 1, 10: 2, 14: 2, 15: 3, 30: 6} {
		if got := trimmed(n); got != want {
			t.Errorf("of %d runs %d are left out at each end, want %d", n, got, want)
		}
	}
	// One outlier of six runs does not hide a gain.
	steady, oneSlow := exp(0, 0.01, 0.02, 0.01, 0, 0.02), exp(0.1, 0.11, 0.12, -2, 0.11, 0.1)
	if RatioAt(0.95, steady, oneSlow).Low > 1 || TrimmedRatioAt(0.95, steady, oneSlow).Low <= 1 {
		t.Error("what is trimmed must not be hidden by one run, what is not must")
	}
}

// Pairs need two, drop what drifts, and leave out what has no partner.
func TestPairedAt(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []float64
		want          Effect
	}{
		{"nothing", nil, []float64{1}, noIdea},
		{"nothing moved", []float64{0, 0}, []float64{0, 0}, noIdea},
		{"one pair", []float64{4}, []float64{8}, Effect{2, 1e-6, 1e6}},
		{"drift", []float64{4, 8, 16}, []float64{8, 16, 32}, Effect{2, 2, 2}},
		{"a run without a partner", []float64{4, 4, 400}, []float64{8, 8}, Effect{2, 2, 2}},
		// differences log 2 and log 4: mean 1.0397, sd/sqrt(2) 0.34657, t(1) 12.706
		{"two pairs", []float64{1, 1}, []float64{2, 4}, Effect{math.Exp(1.03972), math.Exp(1.03972 - 4.40357), math.Exp(1.03972 + 4.40357)}},
	} {
		if diff := cmp.Diff(c.want, PairedAt(0.95, c.before, c.after), cmpopts.EquateApprox(1e-3, 1e-9)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// The interval of pairs holds the truth as often as it says, whatever the scatters,
// and also where one run in twenty is an outlier.
func TestPairedCoverage(t *testing.T) {
	const trials, gain = 3000, 1.2
	rng := rand.New(rand.NewPCG(5, 6))
	withOutliers := func(x []float64, share float64) []float64 {
		for i := range x {
			if rng.Float64() < share {
				x[i] *= 0.2 + 0.6*rng.Float64()
			}
		}
		return x
	}
	for _, n := range []int{2, 4, 6, 12} {
		for _, share := range []float64{0, 0.05} {
			held := 0
			for range trials {
				e := PairedAt(0.95, withOutliers(runs(rng, n, 100, 0.02), share), withOutliers(runs(rng, n, 100*gain, 0.1), share))
				if e.Low <= gain && gain <= e.High {
					held++
				}
			}
			// Monte Carlo error is 0.004; few runs with one outlier have an interval too wide.
			if got := float64(held) / trials; got < 0.935 || got > 0.975 || share == 0 && got > 0.965 {
				t.Errorf("%d pairs, %v outliers: the interval contains the true gain in %.3f of cases", n, share, got)
			}
		}
	}
}

// The chances of a rank sum are those of the printed tables.
func TestRanked(t *testing.T) {
	for _, c := range []struct {
		before, after []float64
		want          float64
	}{
		{nil, []float64{1}, 1},
		{[]float64{1}, nil, 1},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 1.0 / 20},
		{[]float64{1, 2, 4}, []float64{3, 5, 6}, 2.0 / 20},
		{[]float64{4, 5, 6}, []float64{1, 2, 3}, 1},
		{[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 1.0 / 70},
		{[]float64{98, 99, 100, 40}, []float64{111, 110, 60, 112}, 7.0 / 70}, // U = 13
		{[]float64{1, 2}, []float64{3, 4, 5, 6}, 1.0 / 15},
		{[]float64{1, 1}, []float64{1, 1}, 1},
	} {
		if got := Ranked(c.before, c.after); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v and %v: %v, want %v", c.before, c.after, got, c.want)
		}
	}
}

// Only a slowest run that is far off the others is left out.
func TestGathered(t *testing.T) {
	for _, c := range []struct {
		runs []float64
		want int
	}{
		{[]float64{100, 10}, 2},
		{[]float64{100, 101, 50}, 2},
		{[]float64{100, 110, 90}, 3},
		{[]float64{100, 101, 300}, 3}, // outliers are slow runs
		{[]float64{0, 100, 101}, 3},   // nothing moved: that is no matter of chance
		{[]float64{0, 0, 100}, 3},
		{[]float64{100, 100, 100}, 3},
		{[]float64{100, 104, 98, 60, 101}, 4},
		{[]float64{100, 104, 98, 95, 101}, 5},
		{[]float64{1, 100, 101, 102, 103, 104, 105, 106, 107, 108}, 9},
		{[]float64{1, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109}, 11},
	} {
		got := Gathered(c.runs)
		if len(got) != c.want || len(got) < len(c.runs) && slices.Contains(got, slices.Min(c.runs)) {
			t.Errorf("of %v %v is left", c.runs, got)
		}
	}
}

func TestPairsFor(t *testing.T) {
	for _, c := range []struct {
		gain, scatter float64
		want          int
	}{
		{math.Log(300), 0.15, 2}, // 12.706 * 0.15 = 1.906 <= 3.42
		{math.Log(2), 0.15, 4},   // 3.182 * 0.15 / sqrt(2) = 0.337 <= 0.416, with three 0.527
		{math.Log(0.5), 0.15, 4},
		{math.Log(1.1), 0.001, 2},
		{math.Log(1.1), 0.3, 8},
		{0, 0.1, 8},
		{0, 0, 2}, // no gain, and surely so
	} {
		if got := PairsFor(c.gain, c.scatter, 0.95, 2, 8); got != c.want {
			t.Errorf("gain %v, scatter %v: %d pairs, want %d", c.gain, c.scatter, got, c.want)
		}
	}
}

// The scatter of several configurations is that within each of them.
func TestScatterWithin(t *testing.T) {
	squares, free := Within([]float64{1, math.E}, 0, 0) // 0 and 1: squares 0.5
	squares, free = Within([]float64{100}, squares, free)
	squares, free = Within([]float64{0, 0}, squares, free)
	squares, free = Within([]float64{1, math.E, math.E * math.E}, squares, free) // squares 2
	if math.Abs(squares-2.5) > 1e-12 || free != 3 {
		t.Errorf("squares %v, free %v", squares, free)
	}
}
