package twin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// OfPath is how the names of all twins of a run's path begin.
func OfPath(run *record.Header) string {
	name := Name(&record.Header{ID: strings.Repeat("0", shortID), From: run.From, To: run.To, Scenario: run.Scenario})
	return name[:len(name)-shortID]
}

// Tries says whether a run was made in a twin of the path of another one, which came
// later: its tuning is a prediction of that one's.
func Tries(twin, run *record.Header) bool {
	id, ok := Origin(twin.Scenario)
	return ok && twin.Kind == record.Tune && twin.State == record.Done && twin.Started.Before(run.Started) &&
		twin.Scenario == OfPath(run)+id && !strings.HasPrefix(run.Scenario, prefix)
}

// Predict is what a tuning in a twin came to, for the report of what came on the path.
func Predict(run *record.Run) (*record.Prediction, error) {
	type figure struct {
		Goodput unit.Rate   `json:"goodput_bps"`
		Runs    []unit.Rate `json:"runs_bps"`
	}
	var d struct {
		Before  figure                 `json:"before"`
		After   figure                 `json:"after"`
		Gain    float64                `json:"gain"`
		CI      [2]float64             `json:"gain_ci95"`
		Verdict struct{ Cause string } `json:"verdict"`
		Kept    []json.RawMessage      `json:"kept"`
	}
	if run.Kind != record.Tune || len(run.Document) == 0 {
		return nil, errors.New("only a tuning in a twin predicts one on the path")
	}
	if err := json.Unmarshal(run.Document, &d); err != nil {
		return nil, fmt.Errorf("what the tuning in the twin printed cannot be read: %w", err)
	}
	expected := func(f figure) record.Expected {
		e := record.Expected{Goodput: f.Goodput}
		if len(f.Runs) > 1 {
			var all []float64
			for _, r := range f.Runs {
				all = append(all, float64(r))
			}
			i := stat.Typical(all)
			e.Low, e.High = unit.Rate(i.Low), unit.Rate(i.High)
		}
		return e
	}
	return &record.Prediction{
		Run: run.ID, Started: run.Started, Before: expected(d.Before), After: expected(d.After),
		Gain: d.Gain, GainCI95: d.CI, Verdict: d.Verdict.Cause, Kept: len(d.Kept),
	}, nil
}
