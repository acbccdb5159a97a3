package main

import (
	"testing"

	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/tune"
)

// BenchmarkTune tunes every built-in scenario once and reports what docs/lab.md
// shows: goodput before and after, and the test traffic it took.
func BenchmarkTune(b *testing.B) {
	for _, s := range lab.Builtin() {
		b.Run(s.Name, func(b *testing.B) {
			for b.Loop() {
				var r tune.Result
				runJSON(b, &r, "tune", "--lab", s.Name, "--json")
				b.ReportMetric(float64(r.Before.Goodput)/1e6, "before-Mb/s")
				b.ReportMetric(float64(r.After.Goodput)/1e6, "after-Mb/s")
				b.ReportMetric(100*float64(r.After.Goodput)/float64(s.Path.Goodput(&s.Path.AToB)), "%-of-path")
				b.ReportMetric(float64(len(r.Kept)), "kept")
				b.ReportMetric(r.TestSeconds, "traffic-s")
				b.ReportMetric(0, "ns/op") // the time of a tuning is not the point
				b.Logf("%s: verdict %s (%.2f), gain %.3g (%.3g to %.3g), latency under load %.3g -> %.3g ms", s.Name,
					r.Verdict.Cause, r.Verdict.Confidence, r.Gain, r.GainCI95[0], r.GainCI95[1], r.Latency.Before, r.Latency.After)
			}
		})
	}
}
