package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestJSONContract holds the documents' keys fixed (docs/json.md).
func TestJSONContract(t *testing.T) {
	way := path.Direction{
		MTU:      path.MTU{Bytes: 1500, Link: 1500, Method: "udp probe"},
		Capacity: path.Capacity{Rate: unit.Gbps, Low: 998e6, High: 1003e6, Method: "packet trains"},
	}
	estimate := &path.Estimate{
		RTT:     path.RTT{Min: 150 * time.Millisecond, Median: 150 * time.Millisecond, Max: 151 * time.Millisecond, Count: 10, Method: "tcp handshake"},
		Forward: way, Reverse: way,
	}
	finding := diagnose.Finding{
		Cause: diagnose.ReceiverBuffer, Confidence: 0.97, Says: "The sender waits for the receiver.",
		Evidence: []diagnose.Fact{{Name: "window", Value: 55193, Unit: "bytes", Says: "window that the receiver offers: 53.9 KiB"}},
		Action:   "raise the third value of net.ipv4.tcp_rmem", Gain: 63, Predicted: 186e6,
	}
	outcome := tune.Outcome{Host: "b", Tunable: "net.ipv4.tcp_rmem", From: "4096 65536 87380", To: "4096 65536 67108864",
		Effect: "965 Mb/s with it, 2.93 Mb/s without", Why: "the path holds 17.9 MiB", Source: "Linux ip-sysctl"}
	figure := tune.Figure{Goodput: 965e6, Runs: []unit.Rate{964e6, 966e6}, Retrans: 0.0049}
	for name, document := range map[string]any{
		"tune.json": tune.Result{
			Schema: tune.ResultSchema, Direction: "forward", From: "a", To: "b", Path: estimate, Before: figure, After: figure,
			Gain: 328, GainCI95: [2]float64{324, 333}, Verdict: finding, Remaining: &finding, Apply: tune.ApplyLive,
			Kept: []tune.Outcome{outcome}, PutBack: []tune.Outcome{outcome},
			Advice:  []tune.Advice{{Host: "b", Says: "its administrator is to run", Commands: []string{"sysctl"}}},
			Latency: tune.LatencyPair{Before: 150, After: 244}, TestSeconds: 68.1, TestBytes: 2 << 30,
			ChangeSets:  []tune.ChangeSet{{Host: "b", ID: "1", Undo: "fullbore revert 1"}},
			Interrupted: "stopped by a signal",
		},
		"diagnose.json": diagnosisDocument{
			Schema: "fullbore/diagnose/1", Direction: "forward", Path: estimate, Goodput: 2.94e6,
			Diagnosis: diagnose.Diagnosis{Verdict: finding, Findings: []diagnose.Finding{finding}},
		},
		"plan.json": planDocument{Schema: planSchema, Plan: plan.Plan{
			Steps: []plan.Step{{Idea: "let the window grow", Predicted: 186e6, Risk: "memory", Changes: []plan.Change{{
				Host: "b", Tunable: "net.ipv4.tcp_rmem", From: "4096 65536 87380", To: "4096 65536 67108864", Why: "BDP", Source: "Linux ip-sysctl"}}}},
			Notes: []string{"net.ipv4.tcp_mem is left alone"},
		}},
	} {
		var got bytes.Buffer
		if err := printJSON(&got, document); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
}
