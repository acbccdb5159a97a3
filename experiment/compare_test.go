package experiment

import (
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// runsOf have the given goodputs in Mb/s, and cost as many CPU-s/GB as told.
func runsOf(perGB float64, goodputs ...float64) []Run {
	runs := []Run{{Goodput: 1, WarmUp: true}}
	for _, g := range goodputs {
		cost := perGB * g / goodputs[0]
		runs = append(runs, Run{Goodput: unit.Rate(g * 1e6), ClientCPU: &bulk.Cost{ProcessPerGB: &cost}})
	}
	return runs
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name     string
		a, b     []Run
		decision Decision
		says     string
	}{
		{"faster", runsOf(1, 100, 101, 99, 100), runsOf(1, 110, 111, 109, 110), More, "B is 10 % faster (95 %: 8.5 % to 11 %)"},
		{"slower", runsOf(1, 110, 111, 109, 110), runsOf(1, 100, 101, 99, 100), Less, "B is 9.1 % slower (95 %: 7.9 % to 10 %)"},
		{"much faster", runsOf(1, 100, 101, 99, 100), runsOf(1, 300, 303, 297, 300), More, "B is 3 times as fast (95 %: 2.96 to 3.04 times)"},
		{"the same", runsOf(1, 100, 101, 99, 100), runsOf(1, 100, 100, 100, 101), Same, "no difference above 3 % was found (95 %: -0.98 % to +1.5 %)"},
		{"sure, but perhaps too small", runsOf(1, 1000, 1001, 999, 1000), runsOf(1, 1026, 1034, 1024, 1030), Undecided,
			"undecided, there is a difference, perhaps below 3 % (95 %: 2.2 % to 3.5 %)"},
		{"noise", runsOf(1, 100, 150, 60), runsOf(1, 120, 70, 160), Undecided, "undecided, the runs scatter too much (95 %: -58 % to +211 %)"},
	} {
		c := Compare(test.a, test.b, 0.03)
		if c.Goodput.Decision != test.decision || c.Goodput.Says != test.says {
			t.Errorf("%s: %s, %q, want %s, %q", test.name, c.Goodput.Decision, c.Goodput.Says, test.decision, test.says)
		}
		if len(c.Processor) != 1 {
			t.Errorf("%s: CPU time is known of one end's process, and compared %d times", test.name, len(c.Processor))
		}
	}
}
