package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/diagnose"
)

var about = cmpopts.EquateApprox(0, 5e-4)

// TestWilson has the values of R's prop.test(k, n, correct = FALSE).
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.2775}, {5, 10, 0.2366, 0.7634}, {10, 10, 0.7225, 1}, {95, 100, 0.8882, 0.9785}, {0, 0, 0, 1},
	} {
		_, low, high := wilson(c.k, c.n)
		if d := cmp.Diff([]float64{c.low, c.high}, []float64{low, high}, about); d != "" {
			t.Errorf("%d of %d (-want +got):\n%s", c.k, c.n, d)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10_000).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		share, low, high := wilson(k, n)
		if !(0 <= low && low <= share+1e-12 && share <= high+1e-12 && high <= 1) {
			t.Fatalf("%d of %d: %v is not within %v and %v", k, n, share, low, high)
		}
	})
}

// some outcomes, of each kind one.
func some() []outcome {
	return []outcome{
		{Scenario: "h1", Half: tuning, Expect: "healthy", Cause: "healthy", Confidence: 0.96, RTT: time.Millisecond, Traffic: 2 * time.Second, Goodput: 1e6},
		{Scenario: "h2", Half: tuning, Expect: "healthy", Cause: "policer", Confidence: 0.8, RTT: time.Millisecond, Traffic: 3 * time.Second, Goodput: 1e6},
		{Scenario: "h3", Half: tuning, Expect: "healthy", Cause: "unknown", Goodput: 1e6},
		{Scenario: "p1", Half: tuning, Expect: "policer", Cause: "policer", Confidence: 0.98, RTT: 150 * time.Millisecond, Traffic: 9 * time.Second, Goodput: 1e6, Predicted: 1.8, Healed: 2e6},
		{Scenario: "p2", Half: tuning, Expect: "policer", Cause: "random-loss", Confidence: 0.6, RTT: 300 * time.Millisecond, Traffic: 9 * time.Second, Goodput: 1e6, Predicted: 9, Healed: 2e6},
		{Scenario: "p3", Half: tuning, Expect: "policer", Problem: "it did not begin"},
		{Scenario: "p4", Half: tuning, Expect: "policer", Cause: "policer", Confidence: 1, Invalid: true},
		{Scenario: "s1", Half: heldOut, Expect: "small-mss", Cause: "small-mss", Confidence: 1, Goodput: 1e6},
	}
}

func TestScore(t *testing.T) {
	want := score{Runs: 6, Right: 2, Unknown: 1, Failed: 1, Wrong: 2, Invalid: 1, Healthy: 3, FalseAlarms: 1}
	want.Share, want.Low, want.High = wilson(2, 6)
	if d := cmp.Diff(want, scoreOf(some()[:7])); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMatrix(t *testing.T) {
	want := matrix{
		Causes: []string{"healthy", "random-loss", "policer", "unknown", failed},
		Counts: map[string]map[string]int{
			"healthy": {"healthy": 1, "policer": 1, "unknown": 1},
			"policer": {"policer": 1, "random-loss": 1, failed: 1},
		},
	}
	if d := cmp.Diff(want, matrixOf(some()[:7])); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestCalibration: a verdict of the confidence c that is right costs (1-c)^2,
// one that is wrong c^2; who does not know claims nothing.
func TestCalibration(t *testing.T) {
	c := calibrate(some())
	brier := (0.04*0.04 + 0.8*0.8 + 0.02*0.02 + 0.6*0.6 + 0) / 5
	if math.Abs(c.Brier-brier) > 1e-12 || c.Verdicts != 5 {
		t.Errorf("%d verdicts, Brier %v; want 5, %v", c.Verdicts, c.Brier, brier)
	}
	last := c.Bins[len(c.Bins)-1]
	if last.Verdicts != 3 || last.Right != 1 || last.Below != 1 {
		t.Errorf("the surest: %+v", last)
	}
}

// TestGains: only a right verdict's prediction counts.
func TestGains(t *testing.T) {
	want := []gains{{Cause: "policer", Runs: 1, Low: 0.1, Mid: 0.1, High: 0.1}, {Cause: "all", Runs: 1, Low: 0.1, Mid: 0.1, High: 0.1}}
	if d := cmp.Diff(want, gainsOf(some()), about); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTimings(t *testing.T) {
	want := []timing{
		{"LAN, RTT up to 1 ms", 2, 2500 * time.Millisecond, 3 * time.Second, "h2"},
		{"RTT up to 150 ms", 1, 9 * time.Second, 9 * time.Second, "p1"},
		{"RTT above 150 ms", 1, 9 * time.Second, 9 * time.Second, "p2"},
	}
	if d := cmp.Diff(want, timings(some())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestFold: a full path is a healthy one.
func TestFold(t *testing.T) {
	o := outcome{Expect: fold(diagnose.Healthy)}
	o.judged(&diagnose.Diagnosis{Verdict: diagnose.Finding{Cause: diagnose.PathCapacity, Confidence: 0.9}}, 1e6)
	if !o.right() || o.said() != "ok" {
		t.Errorf("%+v", o)
	}
}

// TestReport: both forms name every half and every cause.
func TestReport(t *testing.T) {
	s := summarise(some())
	for _, f := range []form{plainText, markdown} {
		var text bytes.Buffer
		if err := s.write(&text, f); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"tuning: 2 of 6", "held-out: 1 of 1", "random-loss", "failed", "1 of 3", "Brier", "150 ms", "10.0 %"} {
			if !strings.Contains(text.String(), part) {
				t.Errorf("%q is missing in\n%s", part, &text)
			}
		}
	}
}
