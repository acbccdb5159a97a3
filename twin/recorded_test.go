package twin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/record"
)

// suite is where scenarios of a known cause are, and what was measured in them.
const suite = "../accuracy"

// recorded are the names of scenarios of the accuracy suite of which evidence is kept.
func recorded(t testing.TB) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(suite, "testdata/recorded/*.1.json.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded evidence", err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".1.json.gz"))
	}
	return names
}

// runOf is the run that diagnose would have kept of the recorded evidence.
func runOf(t testing.TB, name string) *record.Run {
	t.Helper()
	x, err := examine.Read(filepath.Join(suite, "testdata/recorded", name+".1.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return keptOf(t, x, name)
}

func keptOf(t testing.TB, x *examine.Examination, scenario string) *record.Run {
	t.Helper()
	e := &x.Evidence
	document, err := json.Marshal(struct {
		Direction bulk.Direction `json:"direction"`
		Path      any            `json:"path"`
		Goodput   float64        `json:"goodput_bps"`
		diagnose.Diagnosis
	}{e.Direction, e.Path, float64(e.Transfer.Goodput(e.Direction)), x.Diagnosis})
	if err != nil {
		t.Fatal(err)
	}
	run := &record.Run{
		Header: record.Header{
			Schema: record.Schema, ID: "019aa9c1-5a1b-7000-8000-0123456789ab", Kind: record.Diagnose, State: record.Done,
			From: "a", To: "b", Scenario: scenario, Verdict: x.Diagnosis.Verdict.Cause,
		},
		Document:  document,
		Transfers: []record.Transfer{{Phase: "measure a transfer", Result: e.Transfer}},
		Hosts:     []record.Host{{Side: record.Near, When: record.Before, Is: e.SenderHost}, {Side: record.Far, When: record.Before, Is: e.ReceiverHost}},
	}
	for _, trial := range e.Trials {
		if trial.Result != nil {
			run.Transfers = append(run.Transfers, record.Transfer{Phase: "ask: " + trial.Why, Result: trial.Result})
		}
	}
	return run
}

// original is the scenario that was measured.
func original(t testing.TB, name string) *lab.Scenario {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(suite, "scenarios/*", name+".yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("scenario %s: %v %v", name, files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	s, err := lab.Parse(files[0], data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestShow(t *testing.T) {
	for _, name := range recorded(t) {
		tw, err := Make(runOf(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			if tw == nil {
				continue
			}
		}
		o := original(t, name)
		t.Logf("==== %s\n%+v\n%+v\n%+v", name, o.Path.AToB, *o.Path.BToA, o.Traffic)
		t.Logf("\n%s", tw.YAML())
	}
}
