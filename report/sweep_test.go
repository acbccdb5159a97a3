package report

import (
	"math"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/sweep"
	"github.com/fullbore/fullbore/unit"
)

// buffersSwept is a sweep over socket buffers with one connection and ten.
func buffersSwept(t *testing.T) *sweep.Document {
	t.Helper()
	spec, err := sweep.Load("gigaswift-buffers")
	if err != nil {
		t.Fatal(err)
	}
	number := func(v float64) sweep.Value { return sweep.Value{Number: v} }
	word := func(w string) sweep.Value { return sweep.Value{Number: math.NaN(), Word: w} }
	used := 0.42
	d := &sweep.Document{
		Experiment: spec.Name, Factors: spec.Factors, Seed: 7, Spent: sweep.Spent{Transfers: 12, Resumed: 3, Failed: 1, Seconds: 41.3, Bytes: 3 << 30},
		Enough: &sweep.Enough{Factor: "buffers", Value: number(65536), Why: "it carries 99 % of what 1 MiB does"},
		Law:    &sweep.Law{Name: "window", Formula: "min(C, connections x W / RTT)", Says: "the law min(C, connections x W / RTT) is off by 4 % over 3 points"},
		Says:   "For buffers, 64 KiB is enough.",
	}
	for _, p := range []struct {
		buffers     sweep.Value
		connections float64
		goodput     unit.Rate
	}{{word("present"), 1, 960e6}, {number(16384), 1, 310e6}, {number(65536), 10, 955e6}} {
		law := p.goodput * 1.04
		d.Points = append(d.Points, sweep.PointResult{
			Factors: map[string]sweep.Value{"buffers": p.buffers, "connections": number(p.connections), "direction": word("forward")}, Present: p.buffers.Word == "present",
			Runs: 3, Goodput: p.goodput, CI95: &[2]float64{float64(p.goodput) * 0.98, float64(p.goodput) * 1.02}, Gain: &stat.Effect{Gain: float64(p.goodput) / 960e6}, CPUs: sweep.CPUs{Sender: &used}, Law: &law,
		})
	}
	d.Points[1].Notes = []string{"buffers: 4.5 KiB\x1b[31m were taken, not 16 KiB"}
	d.Points = append(d.Points, sweep.PointResult{Factors: d.Points[2].Factors})
	return d
}

// TestSweep: a line a point with its units, then what it means, each thing once.
func TestSweep(t *testing.T) {
	d := buffersSwept(t)
	var out strings.Builder
	Sweep(&out, d)
	golden.Check(t, "sweep.txt", out.String())

	d.Says += " " + d.Enough.Why + "; " + d.Law.Says + "."
	out.Reset()
	Sweep(&out, d)
	for _, once := range []string{d.Enough.Why, d.Law.Formula} {
		if n := strings.Count(out.String(), once); n != 1 {
			t.Errorf("%q is there %d times in\n%s", once, n, out.String())
		}
	}
}
