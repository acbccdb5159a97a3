package html

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

// began is when the runs of tests began.
var began = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// evidence is what diagnose wrote of a real transfer in the lab.
func evidence(t testing.TB, name string) *examine.Examination {
	t.Helper()
	x, err := examine.Read(filepath.Join("..", "testdata", "diagnosis", name+".evidence.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// diagnosed is the kept run of such a diagnosis.
func diagnosed(t testing.TB, name string) *record.Run {
	t.Helper()
	x := evidence(t, name)
	document, err := os.ReadFile(filepath.Join("..", "testdata", "diagnosis", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	e := &x.Evidence
	run := &record.Run{
		Header: record.Header{
			Schema: record.Schema, ID: "019aa0f1-3c00-7000-8000-000000000001", Kind: record.Diagnose, State: record.Done,
			Started: began, Ended: began.Add(12 * time.Second), Command: []string{"diagnose", "--lab", name}, Version: "0.9.0", Scenario: name,
			From: "a", To: "b", Goodput: e.Transfer.Goodput(e.Direction), Verdict: x.Diagnosis.Verdict.Cause, Tags: []string{"lab"},
		},
		Document: document,
		Events: []record.Event{{Kind: record.Phase, Text: "probe the path"}, {At: time.Second, Kind: record.Phase, Text: "measure a transfer"},
			{At: 8 * time.Second, Kind: record.Result, Text: e.Transfer.Goodput(e.Direction).String()}},
		Transfers: []record.Transfer{{At: time.Second, Phase: "measure a transfer", Result: e.Transfer}},
		Hosts: []record.Host{{Side: record.Near, When: record.Before, At: began, Is: e.SenderHost}, {Side: record.Far, When: record.Before, At: began, Is: e.ReceiverHost},
			{Side: record.Near, When: record.After, At: began, Is: e.SenderHost}},
	}
	for _, trial := range e.Trials {
		run.Transfers = append(run.Transfers, record.Transfer{At: 9 * time.Second, Phase: "ask: " + trial.Why, Error: trial.Failed, Result: trial.Result})
	}
	return run
}

// sweptRun is a kept sweep.
func sweptRun(t testing.TB, name string) *record.Run {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return &record.Run{
		Header: record.Header{Schema: record.Schema, ID: "019aa0f1-3c00-7000-8000-000000000004", Kind: record.Sweep, State: record.Done, Started: began, Ended: began.Add(3 * time.Minute),
			Command: []string{"sweep", "x", "--lab", "clean-lan"}, Version: "0.9.0", Scenario: "clean-lan", From: "a", To: "b", Tags: []string{}},
		Document: document,
	}
}

// testedRun is a kept test, repeated three times; of A and B in turns it is a comparison.
func testedRun(t testing.TB, variants ...string) *record.Run {
	t.Helper()
	run := &record.Run{Header: record.Header{Schema: record.Schema, ID: "019aa0f1-3c00-7000-8000-000000000005", Kind: record.Test, State: record.Done, Started: began, Ended: began.Add(20 * time.Second),
		Command: []string{"test", "198.51.100.7", "--repeat", "3"}, Version: "0.9.0", From: "a", To: "b", Tags: []string{}}}
	lossy, clean := evidence(t, "lossy-wan").Evidence, evidence(t, "clean-wan").Evidence
	var all, a, b []experiment.Run
	add := func(variant string, result *bulk.Result) experiment.Run {
		of := experiment.NewRun(began, result)
		of.Variant = variant
		of.Goodput *= unit.Rate(1 + float64(len(all)%3)/100)
		all = append(all, of)
		phase := fmt.Sprintf("run %d", len(all))
		if variant != "" {
			phase = fmt.Sprintf("round %d, %s: -C cubic", (len(all)+1)/2, variant)
		}
		run.Transfers = append(run.Transfers, record.Transfer{At: time.Duration(len(all)) * 4 * time.Second, Phase: phase, Result: result})
		return of
	}
	var document any
	if len(variants) == 0 {
		for range 3 {
			add("", clean.Transfer)
		}
		document = map[string]any{"end": map[string]any{}, "fullbore": map[string]any{"spec": clean.Transfer.Spec, "client": clean.Transfer.Client, "runs": all, "repeat": experiment.Repetition{Times: 3}.Repeat(all)}}
	} else {
		run.Kind, run.Command = record.Compare, []string{"compare", "--ab", variants[0], variants[1], "198.51.100.7"}
		for range 3 {
			a, b = append(a, add("A", lossy.Transfer)), append(b, add("B", lossy.Trials[0].Result))
		}
		comparison := experiment.Compare(a, b, 0.03)
		document = experiment.ABDocument{Schema: "fullbore/compare/1", Seed: 7, Order: "ABABAB", Rounds: 3, Smallest: 0.03, Comparison: &comparison, Runs: all,
			A: experiment.ABSide{Args: variants[0], Summary: &comparison.A}, B: experiment.ABSide{Args: variants[1], Summary: &comparison.B}}
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	run.Document, run.Goodput = text, all[len(all)-1].Goodput
	return run
}

// tuned is the kept run of a tuning: its transfers are real ones, of the path with a
// small receive buffer and of one without.
func tuned(t testing.TB) *record.Run {
	t.Helper()
	before, after := evidence(t, "california-uk"), evidence(t, "clean-wan")
	found, left := before.Evidence.Transfer, after.Evidence.Transfer
	from, to := found.Goodput(bulk.Forward), left.Goodput(bulk.Forward)
	around := func(r unit.Rate) []unit.Rate { return []unit.Rate{r * 0.99, r, r * 1.008, r * 0.995} }
	result := tune.Result{
		Schema: tune.ResultSchema, Direction: bulk.Forward, From: "a", To: "b", Path: before.Evidence.Path, Apply: tune.ApplyLive,
		Before: tune.Figure{Goodput: from, Runs: around(from)}, After: tune.Figure{Goodput: to, Runs: around(to), Retrans: 0.0004},
		Gain: float64(to / from), GainCI95: [2]float64{float64(to/from) * 0.98, float64(to/from) * 1.02}, Proof: &tune.Proof{Pairs: 4, Gain: float64(to / from)},
		Verdict: before.Diagnosis.Verdict, Remaining: &diagnose.Finding{Cause: diagnose.Healthy, Confidence: 0.97, Says: "The path is full."},
		Kept: []tune.Outcome{{Host: "b", Tunable: "net.ipv4.tcp_rmem", From: "4096 65536 87380", To: "4096 65536 67108864",
			Effect: to.String() + " with it, " + from.String() + " without", Why: "the path holds 17.9 MiB", Source: "Linux ip-sysctl, https://docs.kernel.org/networking/ip-sysctl.html"}},
		PutBack: []tune.Outcome{{Host: "a", Tunable: "net.ipv4.tcp_wmem", From: "4096 16384 4194304", To: "4096 16384 67108864", Effect: "no difference that can be measured"}},
		Advice: []tune.Advice{{Host: "b", Says: "to use larger rings, its administrator should run (the link goes down for a moment)", Commands: []string{"ethtool -G eth0 rx 4096"}},
			{Says: "bufferbloat: the queue before the narrowest link is 4 times the path's bandwidth-delay product"}},
		Latency: tune.LatencyPair{Before: 150, After: 171}, TestSeconds: 68.2, TestBytes: 2 << 30,
		ChangeSets: []tune.ChangeSet{{Host: "b", ID: "20261120-093214-f03da3", Undo: "fullbore revert 20261120-093214-f03da3"}},
	}
	stands := func(r unit.Rate, runs int) tune.Figure {
		return tune.Figure{Goodput: r, Runs: slices.Repeat([]unit.Rate{r}, runs)}
	}
	result.Steps = []tune.Step{
		{Idea: "larger receive buffers", Changes: []tune.Setting{{Host: "b", Tunable: "net.ipv4.tcp_rmem", To: "4096 65536 67108864"}}, Before: stands(from, 2), After: stands(to, 2), Effect: tune.Helps, Says: "helps"},
		{Idea: "larger send buffers", Changes: []tune.Setting{{Host: "a", Tunable: "net.ipv4.tcp_wmem", To: "4096 16384 67108864"}}, Before: stands(to, 2), After: stands(to, 4), Effect: tune.None, Says: "no difference"},
	}
	document, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	as, try, proof := "measure as it is now", "try: larger receive buffers (b net.ipv4.tcp_rmem = 4096 65536 67108864)", "measure before and after again, alternately, until the gain is certain"
	useless := "try: larger send buffers (a net.ipv4.tcp_wmem = 4096 16384 67108864)"
	run := &record.Run{
		Header: record.Header{
			Schema: record.Schema, ID: "019aa0f1-3c00-7000-8000-000000000002", Kind: record.Tune, State: record.Done, Started: began, Ended: began.Add(95 * time.Second),
			Command: []string{"tune", "--lab", "california-uk"}, Version: "0.9.0", Scenario: "california-uk", From: "a", To: "b", Goodput: to, Verdict: result.Verdict.Cause, Tags: []string{},
		},
		Document: document,
	}
	after2 := *after.Evidence.ReceiverHost
	after2.Tunables = maps.Clone(before.Evidence.ReceiverHost.Tunables)
	after2.Tunables["net.ipv4.tcp_rmem"] = "4096 65536 67108864"
	run.Hosts = []record.Host{
		{Side: record.Near, When: record.Before, At: began, Is: before.Evidence.SenderHost}, {Side: record.Far, When: record.Before, At: began, Is: before.Evidence.ReceiverHost},
		{Side: record.Far, When: record.After, At: began, Is: &after2},
	}
	at := time.Duration(0)
	phase := func(name, came string, transfers ...*bulk.Result) {
		run.Events = append(run.Events, record.Event{At: at, Kind: record.Phase, Text: name})
		for _, r := range transfers {
			run.Transfers = append(run.Transfers, record.Transfer{At: at, Phase: name, Result: r})
			at += 4 * time.Second
		}
		run.Events = append(run.Events, record.Event{At: at, Kind: record.Result, Text: came})
	}
	phase(as, from.String()+"; the limit is receiver-buffer", found)
	phase(try, "helps: "+from.String()+" -> "+to.String()+" (x 66)", found, left, left, found)
	phase(useless, "no difference that can be measured: "+to.String()+" -> "+to.String(), left, left, left, left)
	phase(proof, "certain", found, left, found, left)
	return run
}
