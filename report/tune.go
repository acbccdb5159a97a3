package report

import (
	"fmt"
	"io"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

// Tune writes the result of a tuning: before, after, cause, what was kept and
// why, what to run to undo it.
func Tune(w io.Writer, r *tune.Result) {
	t := &sheet{w: w}
	t.entry("path", fmt.Sprintf("%s to %s%s", r.From, r.To, describePath(r)))
	if len(r.Before.Runs) > 0 {
		t.entry("before", describeFigure(r.Before, r.Latency.Before))
	}
	switch {
	case r.NotUndone != "":
		t.entry("after", "interrupted: "+r.NotUndone)
	case r.Interrupted != "":
		t.entry("after", "interrupted, everything was put back: "+r.Interrupted)
	case len(r.Kept) == 0:
		t.entry("after", "unchanged: nothing was kept")
	default:
		t.entry("after", describeFigure(r.After, r.Latency.After))
		t.entry("gain", fmt.Sprintf("%s  (95 %% confidence: %s to %s)", unit.Factor(r.Gain), unit.Factor(r.GainCI95[0]), unit.Factor(r.GainCI95[1])))
	}
	if r.Verdict.Cause != "" {
		t.entry("cause", examine.Sure(&r.Verdict))
		t.text(r.Verdict.Says)
	}
	kept := "kept"
	if r.Apply == tune.ApplyNone {
		kept = "helps"
	}
	for i, o := range r.Kept {
		t.entry(first(i, kept), fmt.Sprintf("%s on %s: %s -> %s", o.Tunable, o.Host, o.From, o.To))
		t.text("why: " + o.Why)
		t.text("effect: " + o.Effect)
		t.text("source: " + o.Source)
	}
	for i, o := range r.PutBack {
		t.entry(first(i, "put back"), fmt.Sprintf("%s on %s: %s stays (%s was tried)", o.Tunable, o.Host, o.From, o.To))
		t.text(o.Effect)
	}
	if r.Remaining != nil {
		t.entry("limit now", r.Remaining.Cause)
		t.text(r.Remaining.Says)
	}
	for i, a := range r.Advice {
		says := a.Says
		if a.Host != "" {
			says = "on " + a.Host + ": " + says
		}
		t.entry(first(i, "advice"), says)
		for _, command := range a.Commands {
			t.line("", "    "+printable.Line(command))
		}
	}
	for i, s := range r.ChangeSets {
		t.entry(first(i, "undo"), fmt.Sprintf("on %s: %s", s.Host, s.Undo))
	}
	if r.Apply == tune.ApplyNone && len(r.Kept) > 0 {
		t.entry("now", "both hosts are as they were: all was put back, as asked")
	}
	t.entry("traffic", fmt.Sprintf("%.0f s of transfers, %s", r.TestSeconds, unit.Size(r.TestBytes)))
}

func describePath(r *tune.Result) string {
	if r.Path == nil {
		return ""
	}
	way := r.Path.Way(r.Direction == bulk.Reverse)
	return fmt.Sprintf(": RTT %s, capacity %s", unit.Milliseconds(r.Path.RTT.Min), way.Capacity)
}

func describeFigure(f tune.Figure, latency float64) string {
	return fmt.Sprintf("%-10s (%s; latency under load %s, %.2g %% sent again)", f.Goodput, unit.Count(len(f.Runs), "run"), unit.Milliseconds(time.Duration(latency*float64(time.Millisecond))), 100*f.Retrans)
}
