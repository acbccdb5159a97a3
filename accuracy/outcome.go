package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// outcome is the result of one run of one scenario.
type outcome struct {
	Scenario   string        `json:"scenario"`
	Half       string        `json:"half"`
	Run        int           `json:"run"` // from 0; each has seeds of its own
	Expect     string        `json:"expect"`
	Also       []string      `json:"expect_also,omitempty"` // causes that limit as much
	RTT        time.Duration `json:"rtt_ns"`
	Cause      string        `json:"cause,omitempty"` // of the verdict; "" if there is none
	Confidence float64       `json:"confidence"`
	Predicted  float64       `json:"predicted_gain,omitempty"`
	Goodput    unit.Rate     `json:"goodput_bps"`
	Traffic    time.Duration `json:"traffic_ns"`            // of the transfer and of all trials
	Healed     unit.Rate     `json:"healed_bps,omitempty"`  // goodput with the fault taken away; 0: not measured
	Wants      string        `json:"wants_trial,omitempty"` // replayed: a trial that was not recorded could change the verdict
	Problem    string        `json:"problem,omitempty"`     // why there is no verdict
	Invalid    bool          `json:"invalid,omitempty"`     // the lab itself failed, twice: the run does not count
}

func newOutcome(e *entry, run int) outcome {
	return outcome{Scenario: e.Name, Half: e.half, Run: run, Expect: fold(e.Expect.Cause), Also: e.also, RTT: e.Path.RTT()}
}

// judged fills in the verdict.
func (o *outcome) judged(d *diagnose.Diagnosis, goodput unit.Rate) {
	o.Cause, o.Confidence, o.Predicted, o.Goodput = fold(d.Verdict.Cause), d.Verdict.Confidence, d.Verdict.Gain, goodput
}

func (o *outcome) right() bool   { return o.Cause == o.Expect || slices.Contains(o.Also, o.Cause) }
func (o *outcome) unknown() bool { return o.Cause == diagnose.Unknown || o.Cause == "" }

// said is one word about the verdict.
func (o *outcome) said() string {
	switch {
	case o.Invalid:
		return "INVALID"
	case o.right():
		return "ok"
	case o.Cause == "":
		return "FAILED"
	case o.Cause == diagnose.Unknown:
		return "unknown"
	}
	return "WRONG"
}

// progress writes a line for each run, from any goroutine.
type progress struct {
	mu  sync.Mutex
	out io.Writer
	n   int
	all int
}

func (p *progress) add(o *outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	fmt.Fprintf(p.out, "%3d/%d %-7s %-52s %-18s %-18s %3.0f %% %10s %4.1fs", p.n, p.all, o.said(), fmt.Sprintf("%s %d", o.Scenario, o.Run+1), o.Expect, o.Cause, 100*o.Confidence, o.Goodput, o.Traffic.Seconds())
	if o.Healed > 0 {
		fmt.Fprintf(p.out, "  gain %.3g, predicted %.3g", o.measuredGain(), o.Predicted)
	}
	if o.Wants != "" {
		fmt.Fprintf(p.out, "  wants trial %s", o.Wants)
	}
	if o.Problem != "" {
		fmt.Fprintf(p.out, "  %s", o.Problem)
	}
	fmt.Fprintln(p.out)
}
