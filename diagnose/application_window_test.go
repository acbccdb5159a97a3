package diagnose

import (
	"testing"

	"github.com/fullbore/fullbore/unit"
)

// Each application has a name, windows in order, and advice.
func TestApplications(t *testing.T) {
	for _, a := range applications {
		if a.name == "" || a.why == "" || a.action == "" || len(a.windows) == 0 || len(a.ports)+len(a.programs) == 0 {
			t.Errorf("not complete: %+v", a)
		}
		for i := 1; i < len(a.windows); i++ {
			if a.windows[i] <= a.windows[i-1] {
				t.Errorf("%s: windows out of order", a.name)
			}
		}
	}
}

// What is in flight is explained by a window that it fills to three quarters on
// average, or to 85 % at its peak and to two fifths on average.
func TestFits(t *testing.T) {
	windows := []unit.Size{1000, 4000}
	for _, c := range []struct {
		average, peak float64
		want          unit.Size
	}{
		{751, 0, 1000}, {750, 0, 0}, {1149, 0, 1000}, {1150, 0, 0},
		{500, 851, 1000}, {500, 850, 0}, {500, 1099, 1000}, {500, 1100, 0},
		{401, 1000, 1000}, {400, 1000, 0}, {3001, 3100, 4000}, {1700, 4000, 4000},
	} {
		if got, fits := fits(windows, c.average, c.peak); got != c.want || fits != (c.want > 0) {
			t.Errorf("%v on average, %v at the peak: %v, want %v", c.average, c.peak, got, c.want)
		}
	}
}
