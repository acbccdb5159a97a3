package html

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// predictedRun is a tuning that was tried in the path's twin before.
func predictedRun(t testing.TB) *record.Run {
	run := tuned(t)
	run.Predicted = &record.Prediction{
		Run: "019aa0f1-3c00-7000-8000-0000000000aa", Started: began.Add(-3600e9), Verdict: run.Verdict, Kept: 1,
		Before: record.Expected{Goodput: 2.81 * unit.Mbps, Low: 2.75 * unit.Mbps, High: 2.86 * unit.Mbps},
		After:  record.Expected{Goodput: 150 * unit.Mbps, Low: 149 * unit.Mbps, High: 152 * unit.Mbps},
		Gain:   53, GainCI95: [2]float64{50, 56},
	}
	return run
}

// A report of a tuning that was tried in the path's twin first says what that predicted:
// verdict, goodput before and after, the gain, and whether intervals overlap.
func TestReportSaysWhatTheTwinPredicted(t *testing.T) {
	run := predictedRun(t)
	var ticket bytes.Buffer
	if err := Markdown(&ticket, []*record.Run{run}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "predicted.md", ticket.Bytes())
	page := written(t, run)
	audit(t, page)
	_, section, found := strings.Cut(string(page), "What its twin predicted")
	if !found {
		t.Fatal("no such section")
	}
	section, _, _ = strings.Cut(section, "</table>")
	for _, want := range []string{
		"<tr><td>verdict</td><td>receiver-buffer</td><td>receiver-buffer</td><td>the same</td></tr>",
		"<td>2.81 Mb/s (2.75 Mb/s to 2.86 Mb/s)</td>", "the intervals overlap, -1 %", "the intervals do not overlap, &#43;29 %", "x 53 (x 50 to x 56)",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("%q is not in %s", want, section)
		}
	}
	again, err := Read(bytes.NewReader(page))
	if err != nil || len(again) != 1 || again[0].Predicted == nil || *again[0].Predicted != *run.Predicted {
		t.Errorf("read back from the page: %+v, %v", again, err)
	}
}

// Nothing of a twin is said where there was none, nor of a run that is no tuning.
func TestReportWithoutATwin(t *testing.T) {
	run := diagnosed(t, "lossy-wan")
	run.Predicted = predictedRun(t).Predicted
	for _, run := range []*record.Run{tuned(t), run} {
		if page := written(t, run); bytes.Contains(page, []byte("twin predicted")) {
			t.Error("it says what a twin predicted")
		}
	}
}

// What a prediction says comes from a file, and is only text; where the verdict was
// another one or nothing arrived, that is said.
func TestOddPredictions(t *testing.T) {
	run := predictedRun(t)
	run.Predicted = &record.Prediction{Run: "<script>\u202e", Verdict: "<b>policer", Gain: -1e300, GainCI95: [2]float64{1e308, -1e308}, Before: record.Expected{Goodput: -1, High: 1e308}}
	page := written(t, run)
	audit(t, page)
	if !bytes.Contains(page, []byte("another one")) {
		t.Error("the verdicts differ, and it is not said")
	}
}
