package law_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/law"
	"github.com/fullbore/fullbore/unit"
)

func near(a, b, share float64) bool { return math.Abs(a-b) <= share*math.Abs(b) }

// TestWindow: the windows and round trips of the articles, by hand.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		capacity unit.Rate
		window   unit.Size
		rtt      time.Duration
		want     unit.Rate
	}{
		{10e9, 48 << 10, time.Millisecond, 393.216e6},      // the NFS article: 48 KB and 1 ms are about 50 MB/s
		{10e9, 1 << 20, time.Millisecond, 8388.608e6},      // 1 MB: about 1 GB/s
		{1e9, 18_750, 150 * time.Microsecond, 1e9},         // the GigaSwift article: 1 Gb/s x 150 us
		{1e9, 65_535, 150 * time.Millisecond, 3_495_200},   // without window scale, across an ocean
		{100e6, 1_875_000, 150 * time.Millisecond, 100e6},  // as much as the path holds
		{100e6, 10_000_000, 150 * time.Millisecond, 100e6}, // and more than that
		{100e6, 1, 0, 100e6},                               // no round-trip time is known
	} {
		if got := law.Window(c.capacity, c.window, c.rtt); !near(float64(got), float64(c.want), 1e-9) {
			t.Errorf("%v in %v on %v: %v, want %v", c.window, c.rtt, c.capacity, got, c.want)
		}
	}
}

// TestLoss: Reno's and CUBIC's windows, against the table of RFC 9438, section 5.1
// (RTT 0.1 s), and a formula worked out by hand.
func TestLoss(t *testing.T) {
	for _, c := range []struct{ p, reno, cubic float64 }{
		{1e-2, 12, 12}, {1e-3, 38, 38}, {1e-4, 120, 187}, {1e-5, 379, 1054}, {1e-6, 1200, 5927}, {1e-7, 3795, 33325}, {1e-8, 12000, 187396},
	} {
		if got := law.Reno(c.p); !near(got, c.reno, 0.03) { // the RFC has 1.2, Mathis 1.22
			t.Errorf("Reno at %g: %.1f, want %.1f", c.p, got, c.reno)
		}
		if got := law.CUBIC(c.p, 100*time.Millisecond); !near(got, c.cubic, 0.03) {
			t.Errorf("CUBIC at %g: %.1f, want %.1f", c.p, got, c.cubic)
		}
	}
	if law.Reno(0) != math.Inf(1) || law.CUBIC(0, time.Second) != math.Inf(1) {
		t.Error("loss limits a path without loss")
	}
	// 12.2 packets of 1448 bytes in 10 ms are 14.13 Mb/s.
	if got := law.Packets(1e9, law.Reno(0.01), 1448, 10*time.Millisecond); !near(float64(got), 14_132_480, 1e-9) {
		t.Errorf("%v", got)
	}
	if got := law.Packets(5e6, law.Reno(0.01), 1448, 10*time.Millisecond); got != 5e6 {
		t.Errorf("%v is more than the path carries", got)
	}
}

// TestScalability by hand: a tenth of the work is one's at a time, and pairs cost a
// hundredth.
func TestScalability(t *testing.T) {
	s := law.Scalability{One: 100, Contention: 0.1, Coherency: 0.01}
	for n, want := range map[float64]float64{1: 100, 2: 200 / 1.12, 10: 1000 / 2.8} {
		if got := s.At(n); !near(got, want, 1e-12) {
			t.Errorf("%g: %g, want %g", n, got, want)
		}
	}
	if got := s.Peak(); !near(got, math.Sqrt(90), 1e-12) {
		t.Errorf("peak at %g", got)
	}
	if peak := (law.Scalability{One: 1, Contention: 0.5}).Peak(); !math.IsInf(peak, 1) {
		t.Errorf("Amdahl's law has a peak at %g", peak)
	}
}

// TestFitGivesBack: a law's own rates give the law back.
func TestFitGivesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := law.Scalability{
			One:        rapid.Float64Range(1e3, 1e11).Draw(t, "one"),
			Contention: rapid.Float64Range(0, 1).Draw(t, "contention"),
			Coherency:  rapid.Float64Range(0, 0.1).Draw(t, "coherency"),
		}
		var n, rates []float64
		for i := range rapid.IntRange(law.FewestForFit, 12).Draw(t, "values") {
			n = append(n, float64(i+1))
			rates = append(rates, want.At(float64(i+1)))
		}
		got, err := law.Fit(n, rates)
		if err != nil {
			t.Fatal(err)
		}
		if !near(got.One, want.One, 1e-6) || math.Abs(got.Contention-want.Contention) > 1e-5 || math.Abs(got.Coherency-want.Coherency) > 1e-5 {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// TestFitIsBest: whatever the rates, no number is negative, and no law near the fit
// is nearer to them.
func TestFitIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.SliceOfN(rapid.Float64Range(1, 100), law.FewestForFit, 9).Draw(t, "rates")
		var n []float64
		for i := range rates {
			n = append(n, float64(int(1)<<i))
		}
		fit, err := law.Fit(n, rates)
		if errors.Is(err, law.ErrNone) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !(fit.One > 0 && fit.Contention >= 0 && fit.Coherency >= 0) {
			t.Fatalf("%+v", fit)
		}
		off := func(s law.Scalability) (sum float64) {
			for i := range n {
				d := rates[i]/s.At(n[i]) - 1
				sum += d * d
			}
			return sum
		}
		best := off(fit)
		for _, step := range []float64{0.99, 0.9999, 1.0001, 1.01} {
			for _, other := range []law.Scalability{
				{fit.One * step, fit.Contention, fit.Coherency}, {fit.One, fit.Contention * step, fit.Coherency}, {fit.One, fit.Contention, fit.Coherency * step},
				{fit.One, fit.Contention + math.Abs(step-1), fit.Coherency}, {fit.One, fit.Contention, fit.Coherency + math.Abs(step-1)},
			} {
				if off(other) < best*(1-1e-9)-1e-12 {
					t.Fatalf("%+v is off by %g, %+v by %g", fit, best, other, off(other))
				}
			}
		}
	})
}

// TestFitRefuses what would fit anything.
func TestFitRefuses(t *testing.T) {
	for name, n := range map[string][]float64{
		"nothing": nil, "three values": {1, 2, 4}, "three values again and again": {1, 2, 4, 4, 2, 1},
		"what is no number of processors": {0, -1, math.NaN(), math.Inf(1), 1, 2, 3},
	} {
		rates := make([]float64, len(n))
		for i := range rates {
			rates[i] = float64(i + 1)
		}
		if got, err := law.Fit(n, rates); !errors.Is(err, law.ErrFew) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestFitRefusesChaos: where one alone would be infinitely fast.
func TestFitRefusesChaos(t *testing.T) {
	if got, err := law.Fit([]float64{1, 2, 4, 8}, []float64{1, 100, 1, 1}); !errors.Is(err, law.ErrNone) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestResidual(t *testing.T) {
	for _, c := range []struct {
		measured, predicted []float64
		want                float64
	}{
		{[]float64{100, 200}, []float64{100, 200}, 0},
		{[]float64{110, 110}, []float64{100, 100}, 0.1},
		{[]float64{100, 100}, []float64{110, 110}, 0.1}, // as far the other way
		{[]float64{110, 5, 0}, []float64{100, 0, 1}, 0.1},
		{[]float64{110, 100, 1e300}, []float64{100, 110, 1e-300}, 0.1}, // what is beyond numbers
	} {
		if got := law.Residual(c.measured, c.predicted); !(math.Abs(got-c.want) <= 1e-12) { // also NaN
			t.Errorf("%v beside %v: %g, want %g", c.measured, c.predicted, got, c.want)
		}
	}
	if got := law.Residual(nil, nil); !math.IsNaN(got) {
		t.Errorf("nothing is off by %g", got)
	}
}
