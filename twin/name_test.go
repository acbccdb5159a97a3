package twin

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/record"
)

// A twin's name is one that a scenario may have, and gives the end of the identifier of
// its run back.
func TestNames(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`) // as the lab has it
	rapid.Check(t, func(t *rapid.T) {
		h := record.Header{ID: record.NewID(), From: rapid.String().Draw(t, "from"), To: rapid.String().Draw(t, "to"), Scenario: rapid.SampledFrom([]string{"", "clean-wan"}).Draw(t, "scenario")}
		name := Name(&h)
		if !valid.MatchString(name) {
			t.Fatalf("%q", name)
		}
		if id, ok := Origin(name); !ok || id != h.ID[len(h.ID)-8:] {
			t.Fatalf("%q comes from %q, %v, want the end of %s", name, id, ok, h.ID)
		}
		if OfPath(&h)+h.ID[len(h.ID)-8:] != name {
			t.Fatalf("twins of the path begin with %q, and one is %q", OfPath(&h), name)
		}
	})
	for _, name := range []string{"", "clean-wan", "twin-of-", "twin-of-a-to-b", "twin-of-a-to-b-0123456z"} {
		if id, ok := Origin(name); ok {
			t.Errorf("%q is no twin's name, and gives %q", name, id)
		}
	}
}

// A tuning in a twin tells of tunings on its path that come later, and of no others.
func TestTries(t *testing.T) {
	began := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	path := record.Header{ID: record.NewID(), Kind: record.Diagnose, State: record.Done, From: "alpha", To: "beta", Started: began}
	tried := record.Header{ID: record.NewID(), Kind: record.Tune, State: record.Done, From: "a", To: "b", Scenario: Name(&path), Started: began.Add(time.Hour)}
	later := record.Header{ID: record.NewID(), Kind: record.Tune, State: record.Done, From: "alpha", To: "beta", Started: began.Add(2 * time.Hour)}
	for name, test := range map[string]struct {
		change func(twin, run *record.Header)
		want   bool
	}{
		"the path, later":        {func(_, _ *record.Header) {}, true},
		"the path, before":       {func(_, run *record.Header) { run.Started = began }, false},
		"another path":           {func(_, run *record.Header) { run.To = "gamma" }, false},
		"the other way":          {func(_, run *record.Header) { run.From, run.To = run.To, run.From }, false},
		"in the lab":             {func(_, run *record.Header) { run.Scenario = "clean-wan" }, false},
		"the twin itself, again": {func(twin, run *record.Header) { run.Scenario = twin.Scenario }, false},
		"only diagnosed there":   {func(twin, _ *record.Header) { twin.Kind = record.Diagnose }, false},
		"interrupted there":      {func(twin, _ *record.Header) { twin.State = record.Interrupted }, false},
		"in another scenario":    {func(twin, _ *record.Header) { twin.Scenario = "clean-wan" }, false},
	} {
		twin, run := tried, later
		test.change(&twin, &run)
		if got := Tries(&twin, &run); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A prediction is what the tuning in the twin printed, with the intervals of its runs.
func TestPredict(t *testing.T) {
	run := &record.Run{Header: record.Header{ID: "019aa9c1-5a1b-7000-8000-0123456789ab", Kind: record.Tune}}
	run.Document = json.RawMessage(`{"before":{"goodput_bps":100,"runs_bps":[90,100,110,95,105,99]},"after":{"goodput_bps":300,"runs_bps":[300]},"gain":3,"gain_ci95":[2.8,3.2],"verdict":{"cause":"policer"},"kept":[{},{}]}`)
	p, err := Predict(run)
	if err != nil {
		t.Fatal(err)
	}
	if p.Run != run.ID || p.Verdict != "policer" || p.Gain != 3 || p.GainCI95 != [2]float64{2.8, 3.2} || p.Kept != 2 || p.After != (record.Expected{Goodput: 300}) {
		t.Errorf("%+v", p)
	}
	if b := p.Before; b.Goodput != 100 || !(b.Low > 80 && b.Low < 100 && b.High > 100 && b.High < 120) {
		t.Errorf("before is %+v", b)
	}
	for _, document := range []string{"", "[]", "{"} {
		run.Document = json.RawMessage(document)
		if p, err := Predict(run); err == nil {
			t.Errorf("%q predicts %+v", document, p)
		}
	}
}
