package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

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
	transfer := testedTransfer()
	tried := trialRow{
		Kind: diagnose.TrialPaced, Why: "Does loss remain below the rate that was reached?", Goodput: 11.8e6, Repeated: 0.0004, Failed: "refused",
		Expects: []diagnose.Expectation{{Cause: diagnose.RandomLoss, Goodput: 12e6, Says: "as much as before"}},
	}
	run := experiment.NewRun(time.Unix(1_800_000_000, 0).UTC(), transfer)
	settled := true
	middle := experiment.Middle{Median: 2, Interval: &stat.Interval{Typical: 2, Low: 1.5, High: 2.5}}
	summary := experiment.Summary{Goodput: middle, ClientProcess: &middle, ClientHost: &middle, ServerProcess: &middle, ServerHost: &middle}
	difference := experiment.Difference{Ratio: stat.Effect{Gain: 1.5, Low: 1.25, High: 1.75}, Decision: experiment.More, Says: "B is 50 % faster (95 %: 25 % to 75 %)"}
	comparison := experiment.Comparison{A: summary, B: summary, Goodput: difference, Processor: []experiment.CPUChange{{Measure: experiment.Measure{End: "client", Of: "process"}, Difference: difference}}}
	repeated := &experiment.RequestsRepeat{Repeated: experiment.Repeated{Runs: 3, UntilCI: 0.02, Settled: &settled}, IOPS: middle, Goodput: &middle}
	repeated.Latency.P50, repeated.Latency.P99 = middle, middle
	for name, document := range map[string]any{
		"test.json": own{
			Schema: ownSchema, Result: transfer, Figures: experiment.Figures(transfer), Runs: []experiment.Run{run},
			Repeat: &experiment.Repeat{Repeated: experiment.Repeated{Runs: 3, UntilCI: 0.02, Settled: &settled}, Summary: summary},
		},
		"compare.json": experiment.ABDocument{
			Schema: "fullbore/compare/1", Seed: 7, Order: "AB", Rounds: 3, Smallest: 0.03, UntilCI: 0.02, Settled: &settled,
			A: experiment.ABSide{Args: "-P 1", Spec: transfer.Spec, Summary: &summary}, B: experiment.ABSide{Args: "-P 2", Spec: transfer.Spec, Summary: &summary},
			Comparison: &comparison, Runs: []experiment.Run{{Variant: "A", WarmUp: true}}, Error: "it ended early",
		},
		"tune.json": tune.Result{
			Schema: tune.ResultSchema, Direction: "forward", From: "a", To: "b", Path: estimate, Before: figure, After: figure,
			Gain: 328, GainCI95: [2]float64{324, 333}, Proof: &tune.Proof{Pairs: 2, Gain: 328, GainCI95: [2]float64{324, 333}}, Verdict: finding, Remaining: &finding, Apply: tune.ApplyLive,
			Steps: []tune.Step{{Idea: "let the window grow", Changes: []tune.Setting{{Host: "b", Tunable: "net.ipv4.tcp_rmem", To: "4096 131072 67108864"}},
				Before: figure, After: figure, Effect: tune.Helps, Says: "helps: 2.94 Mb/s -> 964 Mb/s"}},
			Kept: []tune.Outcome{outcome}, PutBack: []tune.Outcome{outcome},
			Advice:  []tune.Advice{{Host: "b", Says: "its administrator should run", Commands: []string{"sysctl"}}},
			Latency: tune.LatencyPair{Before: 150, After: 244}, TestSeconds: 68.1, TestBytes: 2 << 30,
			ChangeSets:  []tune.ChangeSet{{Host: "b", ID: "1", Undo: "fullbore revert 1", Persisted: true}},
			Interrupted: "stopped by a signal",
		},
		"diagnose.json": diagnosisDocument{
			Schema: "fullbore/diagnose/1", Direction: "forward", Path: estimate, Goodput: 2.94e6,
			Diagnosis: diagnose.Diagnosis{Verdict: finding, Findings: []diagnose.Finding{finding}},
			Failed:    "nothing arrived for 3s", Trials: []trialRow{tried}, Untried: &tried, TestSeconds: 7.45, TestBytes: 2 << 20, Error: "interrupted",
		},
		"nfs-test.json": experiment.RequestsDocument{Document: &nfs.Document{
			Schema: nfs.Schema, Target: "nfs://b/export/file", Version: "4.1", FileBytes: 1 << 30, MaxRead: 1 << 20, MaxWrite: 1 << 20, Slots: 64,
			Op: "read", Size: 4096, Random: true, WriteShare: 0.3, Connections: 1, Depth: 64, Seconds: 10, Requests: 640_000, IOPS: 64_000, Goodput: 64_000 * 4096 * 8,
			Latency: nfs.LatencySummary{Mean: 1, P50: 0.99, P95: 1.1, P99: 1.2, P999: 2, Max: 9}, InFlight: 64, CPU: 2.5, Delays: 1,
			Shares:       []nfs.ShareSummary{{Requests: 640_000, Goodput: 64_000 * 4096 * 8, TCP: &nfs.TCPSummary{RTT: 1.1, LeastRTT: 1, ReceiveWindow: 65536, SendWindow: 65536, Congestion: 14480, Repeated: 1}}},
			Distribution: []nfs.LatencyShare{{Share: 0.5, Up: 0.99}, {Share: 1, Up: 9}}, Each: []nfs.StretchRate{{Until: 1, IOPS: 64_000, Goodput: 64_000 * 4096 * 8}},
		}, Runs: []experiment.Requests{{Began: run.Began, IOPS: 64_000, Goodput: 2e9, Latency: nfs.LatencySummary{Mean: 1, P50: 1, P95: 1, P99: 1, P999: 1, Max: 1}, CPU: 2.5}}, Repeat: repeated, Error: "interrupted"},
		"nfs-diagnose.json": nfsDiagnosis{
			Schema: "fullbore/nfs-diagnose/1", Target: "nfs://b/export/file", Verdict: limit.Finding{Cause: limit.OneReader, Says: "Who waits.", Action: "read in more than one place", Share: 0.98, Predicted: 64_000},
			Findings: []limit.Finding{{Cause: limit.OneReader, Says: "Who waits.", Action: "read in more than one place", Share: 0.98, Predicted: 64_000}},
			Evidence: &limit.Evidence{
				Connections: 1, Depth: 1, Slots: 64, Size: 4096, Path: 1e10, Idle: limit.Beside{Handshake: time.Millisecond, Null: time.Millisecond},
				Now: limit.Look{IOPS: 980, Mean: time.Millisecond, Window: 65536, RTT: time.Millisecond, Wire: 4300},
			},
		},
		"nfs-tune.json": climb.Result{
			Schema: climb.Schema, Target: "nfs://b/export/file", Before: climb.Figure{IOPS: 980, Goodput: 32e6, Runs: []float64{975, 985}}, After: climb.Figure{IOPS: 98_000, Goodput: 3.2e9, Runs: []float64{97_000, 99_000}},
			Gain: 100, GainCI95: [2]float64{95, 105}, Verdict: climb.Verdict{Cause: limit.OneReader, Says: "Who waits."},
			Steps:   []climb.Step{{Setting: string(climb.Depth), From: "1", To: "2", IOPS: 1960, Goodput: 64e6, Was: []float64{980}, Runs: []float64{1960}, Helps: true, Says: "helps"}},
			Kept:    []climb.Outcome{{Setting: string(climb.Depth), From: "1", To: "128", Effect: "x 100 by it"}},
			PutBack: []climb.Outcome{{Setting: string(climb.Connections), From: "1", To: "2", Effect: "as fast without it"}},
			Advice:  []string{"mount with nconnect=2"},
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
		golden.Check(t, name, got.Bytes())
	}
}

// testedTransfer has something in every figure.
func testedTransfer() *bulk.Result {
	sample := func(n uint32) bulk.Sample {
		return bulk.Sample{At: time.Duration(n) * time.Second, Omitted: n == 0, Bytes: int64(n) * 1e8, TCP: bulk.TCPInfo{
			Length: 248, RTT: 21_000, MinRTT: 20_000, PMTU: 1500, Reordering: 3, DataSegsOut: 1000 * n, SegsIn: 500 * n, DataSegsIn: 1000 * n, SegsOut: 500 * n,
			TotalRetrans: n, BytesRetrans: 1448 * uint64(n), BytesSent: 1448_000 * uint64(n), BusyTime: 900_000 * uint64(n), RwndLimited: 300_000 * uint64(n),
			RcvOooPack: n, RcvRTT: 21_000, RcvSpace: 65536, RcvWnd: 131072,
		}}
	}
	stream := func(sender bool) bulk.Stream {
		return bulk.Stream{ID: 1, Sender: sender, Local: "198.18.0.1:40000", Remote: "198.18.0.2:5201", Congestion: "cubic", MSS: 1448,
			Bytes: 1e8, Elapsed: time.Second, Samples: []bulk.Sample{sample(0), sample(1)}}
	}
	from, to := stream(true), stream(false)
	from.SendPath, from.ZeroCopied, from.Copied, from.CPUs, from.PathNote = bulk.SendZeroCopy, 10, 1, []int{0}, "a note"
	to.RecvPath, to.CPUs = bulk.RecvCopy, []int{1}
	to.Datagrams = &bulk.Datagrams{Packets: 100, Lost: 1, OutOfOrder: 1, Jitter: 1e-6}
	cpu := bulk.CPU{Elapsed: time.Second, User: 125 * time.Millisecond, System: 125 * time.Millisecond, Cores: []bulk.Core{{Busy: 0.5, SoftIRQ: 0.25}}}
	return &bulk.Result{
		Spec:      bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Second},
		Client:    bulk.End{Host: "a", Streams: []bulk.Stream{from}, CPU: cpu},
		Server:    bulk.End{Host: "b", Streams: []bulk.Stream{to}, CPU: cpu},
		SmallFlow: []bulk.Latency{{At: -1, RTT: 20e6}, {At: 5e8, RTT: 22e6}, {At: 6e8}},
	}
}
