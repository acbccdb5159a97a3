// Package report writes results for people: plain text that is understood at
// first reading, with a unit behind every number.
package report

import (
	"fmt"
	"io"
	"strings"
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
	t := &table{w: w}
	t.row("path", fmt.Sprintf("%s to %s%s", r.From, r.To, describePath(r)))
	if len(r.Before.Runs) > 0 {
		t.row("before", describeFigure(r.Before, r.Latency.Before))
	}
	switch {
	case r.NotUndone != "":
		t.row("after", "interrupted: "+r.NotUndone)
	case r.Interrupted != "":
		t.row("after", "interrupted, everything was put back: "+r.Interrupted)
	case len(r.Kept) == 0:
		t.row("after", "unchanged: nothing was kept")
	default:
		t.row("after", describeFigure(r.After, r.Latency.After))
		t.row("gain", fmt.Sprintf("%s  (95 %% confidence: %s to %s)", unit.Factor(r.Gain), unit.Factor(r.GainCI95[0]), unit.Factor(r.GainCI95[1])))
	}
	if r.Verdict.Cause != "" {
		t.row("cause", examine.Sure(&r.Verdict))
		t.text(r.Verdict.Says)
	}
	kept := "kept"
	if r.Apply == tune.ApplyNone {
		kept = "helps"
	}
	for i, o := range r.Kept {
		t.row(first(i, kept), fmt.Sprintf("%s on %s: %s -> %s", o.Tunable, o.Host, o.From, o.To))
		t.text("why: " + o.Why)
		t.text("effect: " + o.Effect)
		t.text("source: " + o.Source)
	}
	for i, o := range r.PutBack {
		t.row(first(i, "put back"), fmt.Sprintf("%s on %s: %s stays (%s was tried)", o.Tunable, o.Host, o.From, o.To))
		t.text(o.Effect)
	}
	if r.Remaining != nil {
		t.row("limit now", r.Remaining.Cause)
		t.text(r.Remaining.Says)
	}
	for i, a := range r.Advice {
		says := a.Says
		if a.Host != "" {
			says = "on " + a.Host + ": " + says
		}
		t.row(first(i, "advice"), says)
		for _, command := range a.Commands {
			t.text("  " + command)
		}
	}
	for i, s := range r.ChangeSets {
		t.row(first(i, "undo"), fmt.Sprintf("on %s: %s", s.Host, s.Undo))
	}
	if r.Apply == tune.ApplyNone && len(r.Kept) > 0 {
		t.row("now", "both hosts are as they were: all was put back, as asked")
	}
	t.row("traffic", fmt.Sprintf("%.0f s of transfers, %s", r.TestSeconds, unit.Size(r.TestBytes)))
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

// first gives the label for the first row of a group only.
func first(i int, label string) string {
	if i > 0 {
		return ""
	}
	return label
}

// table writes a column of labels and a column of wrapped text.
type table struct{ w io.Writer }

// Columns of the table: labels, then text wrapped for a terminal of 100.
const (
	labelWidth = 11
	textWidth  = 88
)

func (t *table) row(label, text string) { t.wrap(label, text, "") }

func (t *table) text(text string) { t.wrap("", text, "  ") }

func (t *table) wrap(label, text, indent string) {
	// What another host said must not act on this terminal.
	text = printable.Line(text)
	line := indent
	flush := func() {
		fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf("%-*s%s", labelWidth, label, line), " "))
		label = ""
	}
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	line += lead
	for i, word := range strings.Fields(text) {
		if i > 0 && len([]rune(line))+1+len([]rune(word)) > textWidth {
			flush()
			line = indent + lead + "  " + word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	flush()
}
