package report

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/twin"
)

// People see of a twin what is in it, each value with how it is known, and what is not.
func TestTwin(t *testing.T) {
	x, err := examine.Read(filepath.Join("testdata", "diagnosis", "lossy-wan.evidence.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(struct {
		Direction bulk.Direction `json:"direction"`
		Path      any            `json:"path"`
		Goodput   float64        `json:"goodput_bps"`
		diagnose.Diagnosis
	}{x.Evidence.Direction, x.Evidence.Path, float64(x.Evidence.Transfer.Goodput(x.Evidence.Direction)), x.Diagnosis})
	if err != nil {
		t.Fatal(err)
	}
	run := &record.Run{
		Header:    record.Header{ID: "019aa0f1-3c00-7000-8000-000000000001", Kind: record.Diagnose, State: record.Done, From: "alpha", To: "beta"},
		Document:  document,
		Transfers: []record.Transfer{{Phase: "measure a transfer", Result: x.Evidence.Transfer}},
		Hosts:     []record.Host{{Side: record.Near, When: record.Before, Is: x.Evidence.SenderHost}, {Side: record.Far, When: record.Before, Is: x.Evidence.ReceiverHost}},
	}
	for _, trial := range x.Evidence.Trials {
		run.Transfers = append(run.Transfers, record.Transfer{Phase: "ask: " + trial.Why, Result: trial.Result})
	}
	made, err := twin.Make(run)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	Twin(&out, made)
	golden.Check(t, "twin.txt", out.Bytes())
}
