package main

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/tune"
)

// BenchmarkTune tunes every built-in scenario once and reports what docs/lab.md
// shows: goodput before and after, and the test traffic it took.
func BenchmarkTune(b *testing.B) {
	for _, s := range lab.OfTransfers() {
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

// BenchmarkNFSScenarios diagnoses and tunes every built-in scenario of NFS once, and reports
// what docs/nfs.md shows. Each must be diagnosed as it says of itself.
func BenchmarkNFSScenarios(b *testing.B) {
	for _, s := range lab.Builtin() {
		if s.NFS == nil {
			continue
		}
		b.Run(s.Name, func(b *testing.B) {
			for b.Loop() {
				var d nfsDiagnosis
				runJSON(b, &d, "nfs", "diagnose", "--lab", s.Name, "--json")
				if d.Verdict.Cause != s.Expect.Cause {
					b.Errorf("diagnosed as %s: %s %+v", d.Verdict.Cause, d.Verdict.Says, d.Evidence)
				}
				var r climb.Result
				runJSON(b, &r, "nfs", "tune", "--lab", s.Name, "--json")
				b.ReportMetric(r.Before.IOPS, "before/s")
				b.ReportMetric(r.After.IOPS, "after/s")
				b.ReportMetric(d.Verdict.Predicted, "predicted/s")
				b.ReportMetric(0, "ns/op") // the time of a tuning is not the point
				b.Logf("%s: diagnosed %s, predicted %.0f; tuned %s, x %.3g (%.3g to %.3g), kept %v; advice: %s", s.Name,
					d.Verdict.Cause, d.Verdict.Predicted, r.Verdict.Cause, r.Gain, r.GainCI95[0], r.GainCI95[1], r.Kept, strings.Join(r.Advice, " | "))
			}
		})
	}
}
