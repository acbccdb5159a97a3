package report

import (
	"bytes"
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/unit"
)

// runsOf have the given goodputs in Mb/s, and cost as many CPU-s/GB as told.
func runsOf(perGB float64, goodputs ...float64) []experiment.Run {
	runs := []experiment.Run{{Goodput: 1, WarmUp: true}}
	for _, g := range goodputs {
		cost := perGB * g / goodputs[0]
		runs = append(runs, experiment.Run{Goodput: unit.Rate(g * 1e6), ClientCPU: &bulk.Cost{ProcessPerGB: &cost}})
	}
	return runs
}

func TestCompared(t *testing.T) {
	c := experiment.Compare(runsOf(0.5, 100, 101, 99, 100), runsOf(0.4, 110, 111, 109, 110), 0.03)
	d := &experiment.ABDocument{Comparison: &c, B: experiment.ABSide{Args: "-C bbr -P 4"}, Order: "ABBABAAB", Seed: 7}
	var out bytes.Buffer
	Compared(&out, d)
	golden.Check(t, "compare.txt", out.Bytes())
}

// What several runs come to, with and without an interval.
func TestRepeated(t *testing.T) {
	for name, runs := range map[string][]experiment.Run{
		"repeat.txt":     runsOf(0.5, 100, 101, 99, 100)[1:],
		"repeat-one.txt": runsOf(0.5, 100)[1:],
	} {
		var out bytes.Buffer
		for i := range runs {
			Run(&out, &runs[i], "run")
		}
		settled := false
		Repeated(&out, &experiment.Repeat{Repeated: experiment.Repeated{Runs: len(runs), UntilCI: 0.001, Settled: &settled}, Summary: experiment.Summarise(runs)})
		golden.Check(t, name, out.Bytes())
	}
}
