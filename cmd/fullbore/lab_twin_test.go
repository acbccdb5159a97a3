package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/twin"
	"github.com/fullbore/fullbore/unit"
)

// measuredRun is a diagnosis of a real transfer, as it would be kept.
func measuredRun(t *testing.T) *record.Run {
	t.Helper()
	x, err := examine.Read("../../report/testdata/diagnosis/lossy-wan.evidence.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(newDiagnosisDocument(x, nil))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	e := &x.Evidence
	run := &record.Run{
		Header: record.Header{
			Schema: record.Schema, ID: "019aa0f1-3c00-7000-8000-0000abcd1234", Kind: record.Diagnose, State: record.Done, Started: began, Ended: began.Add(time.Minute),
			Command: []string{"diagnose", "beta"}, From: "alpha", To: "beta", Tags: []string{}, Goodput: e.Transfer.Goodput(e.Direction), Verdict: x.Diagnosis.Verdict.Cause,
		},
		Document:  document,
		Transfers: []record.Transfer{{Phase: "measure a transfer", Result: e.Transfer}},
		Hosts:     []record.Host{{Side: record.Near, When: record.Before, At: began, Is: e.SenderHost}, {Side: record.Far, When: record.Before, At: began, Is: e.ReceiverHost}},
	}
	for _, trial := range e.Trials {
		run.Transfers = append(run.Transfers, record.Transfer{Phase: "ask: " + trial.Why, Result: trial.Result})
	}
	return run
}

// tunedRun is a tuning that came later.
func tunedRun(t *testing.T, of *record.Run, id, scenario string, after time.Duration, goodput unit.Rate) *record.Run {
	t.Helper()
	run := &record.Run{Header: of.Header}
	run.ID, run.Kind, run.Started, run.Ended = id, record.Tune, of.Started.Add(after), of.Started.Add(after+time.Minute)
	if run.Scenario = scenario; scenario != "" {
		run.From, run.To = "a", "b"
	}
	document, err := json.Marshal(map[string]any{
		"schema": "fullbore/tune/1", "direction": "forward", "verdict": map[string]any{"cause": "random-loss", "confidence": 0.9},
		"before": map[string]any{"goodput_bps": 58 * unit.Mbps, "runs_bps": []unit.Rate{58 * unit.Mbps}},
		"after":  map[string]any{"goodput_bps": goodput, "runs_bps": []unit.Rate{goodput, goodput * 1.01, goodput * 0.99}},
		"gain":   3.2, "gain_ci95": []float64{3, 3.4}, "kept": []map[string]string{{"host": "alpha", "tunable": "route.congctl@beta", "to": "bbr"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run.Document = document
	return run
}

// A kept run becomes a scenario, which the lab takes; a tuning in it stands as a
// prediction beside the one that follows on the path.
func TestLabTwin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place, exported, file := filepath.Join(dir, "record.db"), filepath.Join(dir, "runs"), filepath.Join(dir, "path.yaml")
	export := func(runs ...*record.Run) {
		t.Helper()
		var text []byte
		for _, run := range runs {
			line, err := json.Marshal(run)
			if err != nil {
				t.Fatal(err)
			}
			text = append(append(text, line...), '\n')
		}
		if err := os.WriteFile(exported, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := func(args ...string) string {
		t.Helper()
		out, stderr, code := keeping(t, place, args...)
		if code != exitDone {
			t.Fatalf("%q: exit code %d: %s%s", args, code, out, stderr)
		}
		return out
	}
	run := measuredRun(t)
	name := twin.Name(&run.Header)
	other := *run
	other.ID, other.To, other.Kind = "019aa0f1-3c00-7000-8000-0000abcd9999", "gamma", record.Test
	export(run, &other)
	good("history", "import", exported)

	out := good("lab", "twin", "abcd1234", "-o", file)
	for _, want := range []string{name + " is the twin of alpha > beta", "a_to_b.loss", "measured, ", "fullbore tune --lab " + file} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out := good("lab", "show", file); !strings.HasPrefix(out, name+": ") || !strings.Contains(out, "loses 0.06") {
		t.Errorf("the lab reads it as\n%s", out)
	}
	export(run)
	if out, written := good("lab", "twin", exported), good("lab", "twin", run.ID); out != written || !strings.Contains(out, "\nname: "+name+"\n") {
		t.Errorf("from a file:\n%s\nfrom the record:\n%s", out, written)
	}
	var document twin.Twin
	if err := json.Unmarshal([]byte(good("lab", "twin", run.ID, "--json")), &document); err != nil || document.Run != run.ID || len(document.Keys) < 10 || document.Schema != twin.Schema {
		t.Errorf("%v: %+v", err, document)
	}

	tried := tunedRun(t, run, "019aa0f1-3c00-7000-8000-0000abcd5555", name, time.Hour, 190*unit.Mbps)
	came := tunedRun(t, run, "019aa0f1-3c00-7000-8000-0000abcd6666", "", 2*time.Hour, 180*unit.Mbps)
	export(tried, came)
	good("history", "import", exported)
	if out := good("report", came.ID, "--format", "md"); !strings.Contains(out, "What its twin predicted") || !strings.Contains(out, "| after | 190 Mb/s (") {
		t.Errorf("%s", out)
	}
	if out := good("report", tried.ID, "--format", "md"); strings.Contains(out, "twin predicted") {
		t.Errorf("a twin's own report has a prediction:\n%s", out)
	}

	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"lab", "twin"}, exitUsage, "expected"},
		{[]string{"lab", "twin", "abcd9999"}, exitFailed, "a run of test: a twin is made from a run of diagnose or tune"},
		{[]string{"lab", "twin", "ffffffff"}, exitFailed, "fullbore history lists the runs"},
		{[]string{"lab", "twin", "some.host"}, exitUsage, "some.host is no run of this host; as a far end it needs --token"},
		{[]string{"lab", "twin", exported}, exitUsage, "has 2 runs"},
		{[]string{"lab", "twin", "abcd1234", "-o", filepath.Join(dir, "no", "x.yaml")}, exitFailed, "write the scenario: "},
	} {
		if out, stderr, code := keeping(t, place, test.args...); code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit code %d: %s%s, want %d: %s", test.args, code, out, stderr, test.code, test.want)
		}
	}
}
