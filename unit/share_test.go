package unit

import (
	"math"
	"testing"
)

func TestFactor(t *testing.T) {
	for gain, want := range map[float64]string{
		0.5: "-50.0 %", 1: "+0.0 %", 1.05: "+5.0 %", 1.999: "+99.9 %", 2: "x 2", 2.449: "x 2.45", 99.94: "x 99.9", 100: "x 100", 119.7: "x 120", 9999: "x 9999",
		10_000: "from next to nothing", math.Inf(1): "from next to nothing", math.NaN(): "from next to nothing",
	} {
		if got := Factor(gain); got != want {
			t.Errorf("Factor(%g) = %q, want %q", gain, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 1e-6: "below 0.001 %", 1e-5: "0.001 %", 0.0049: "0.49 %", 0.0999: "10 %", 0.12: "12 %", 1: "100 %"} {
		if got := Percent(share); got != want {
			t.Errorf("Percent(%g) = %q, want %q", share, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 2: "2 runs"} {
		if got := Count(n, "run"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
