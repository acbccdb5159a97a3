package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

// summary is what a run comes to: page and ticket are written from it. All text in it
// is clean.
type summary struct {
	ID, Kind, From, To, Started, Took, State string

	Headline string // the verdict in a few words
	Says     string // and in a sentence or two
	Tone     string // "bad": something limits that need not, "good": nothing does; empty: not judged

	Before, After string // goodput; After is empty if nothing was changed
	Gain          string // with its interval
	Note          string // how the figures were come by

	Warnings []string
	Facts    []fact
	Kept     []outcome
	KeptWord string
	PutBack  []outcome
	Undo     []command
	Action   string // what to do about the verdict
	Limits   []limitRow
	Advice   []advice
	Left     int // entries that are not shown

	Predicted *predicted // nil: by nobody
}

// fact is a label with what is known.
type fact struct{ Label, Value string }

// outcome is a change and what came of it.
type outcome struct{ Host, Tunable, From, To, Effect, Why, Source string }

// command is to be run on a host.
type command struct{ Host, Line, Note string }

// advice is what tuning cannot fix, or did not.
type advice struct {
	Host, Says string
	Commands   []string
}

// summarise reads a run.
func summarise(run *record.Run, l limits) *summary {
	clean := func(text string) string { return clean(text, l.text) }
	s := &summary{
		ID: clean(run.ID), Kind: clean(run.Kind.Verb()), From: clean(cmp.Or(run.From, "?")), To: clean(cmp.Or(run.To, "?")),
		Started: started(run), State: clean(string(run.State)),
	}
	if took := run.Ended.Sub(run.Started); !run.Ended.IsZero() && took > 0 {
		s.Took = took.Round(time.Second).String()
	}
	switch run.State {
	case record.Failed:
		s.warn(clean("It failed: " + cmp.Or(run.Error, "why is not recorded") + ". What was measured until then stands."))
	case record.Interrupted:
		s.warn(clean(strings.TrimSuffix("It was interrupted: "+run.Error, ": ") + ". What was measured until then stands."))
	case record.Running:
		s.warn("It has not ended: this is what was measured so far.")
	}
	if run.Goodput > 0 {
		s.Before = run.Goodput.String()
	}
	if run.IOPS > 0 {
		s.Before = figureText(climb.Figure{IOPS: run.IOPS, Goodput: run.Goodput})
	}
	docs := read(run)
	switch {
	case docs.tune != nil:
		s.tune(docs.tune, l, clean)
	case docs.diagnosis != nil:
		s.diagnosis(docs.diagnosis, l, clean)
	case docs.test != nil:
		s.test(docs.test, clean)
	case docs.compare != nil:
		s.compare(docs.compare, clean)
	case docs.sweep != nil:
		s.sweep(docs.sweep, clean)
	case docs.requests != nil:
		s.requests(docs.requests, clean)
	case docs.limits != nil:
		s.limits(docs.limits, l, clean)
	case docs.raised != nil:
		s.raised(docs.raised, l, clean)
	case docs.fleet != nil:
		s.fleet(docs.fleet, run.Shifts, l, clean)
	case docs.err != nil:
		s.warn(clean(docs.err.Error()))
	}
	if s.Headline == "" {
		s.Headline = cmp.Or(clean(run.Verdict), s.Before, "Nothing was measured")
		if s.Headline == s.Before {
			s.Before = ""
		}
	}
	s.Predicted = predictedBy(run, &docs, clean)
	s.transfer(run)
	return s
}

// started is when a run began, empty if that is not known.
func started(run *record.Run) string {
	if run.Started.IsZero() {
		return ""
	}
	return run.Started.UTC().Format("2006-01-02 15:04:05 UTC")
}

func (s *summary) warn(text string) {
	if text != "" && !slices.Contains(s.Warnings, text) {
		s.Warnings = append(s.Warnings, text)
	}
}

func (s *summary) fact(label, value string) {
	if value != "" {
		s.Facts = append(s.Facts, fact{label, value})
	}
}

func (s *summary) finding(f *diagnose.Finding, l limits, clean func(string) string) {
	s.Headline, s.Says = clean(examine.Sure(f)), clean(f.Says)
	s.Tone = "bad"
	if f.Cause == diagnose.Healthy {
		s.Tone = "good"
	}
	shown, left := first(f.Evidence, l.list)
	for _, e := range shown {
		s.fact(clean(strings.ReplaceAll(e.Name, "_", " ")), clean(e.Says))
	}
	s.Left += left
}

func (s *summary) tune(r *tune.Result, l limits, clean func(string) string) {
	s.finding(&r.Verdict, l, clean)
	s.Before = ""
	if len(r.Before.Runs) > 0 {
		s.Before = r.Before.Goodput.String()
	}
	s.KeptWord = "What was changed"
	switch {
	case r.NotUndone != "":
		s.warn(clean("It was interrupted: " + r.NotUndone))
	case r.Interrupted != "":
		s.warn(clean("It was interrupted, and everything was put back: " + r.Interrupted))
	case len(r.Kept) == 0:
		s.Note = "Nothing was changed: nothing that was tried helped, or nothing was to be tried."
	default:
		s.After = r.After.Goodput.String()
		s.Gain = fmt.Sprintf("%s (95 %%: %s to %s)", unit.Factor(r.Gain), unit.Factor(r.GainCI95[0]), unit.Factor(r.GainCI95[1]))
		if r.Proof != nil {
			s.Note = fmt.Sprintf("Medians of %s; the gain is of %s, one as found and one changed, made for nothing but the proof.",
				unit.Count(len(r.After.Runs), "run"), unit.Count(r.Proof.Pairs, "pair"))
		}
	}
	if r.Apply == tune.ApplyNone && len(r.Kept) > 0 {
		s.KeptWord = "What helps (all was put back, as asked)"
	}
	outcomes := func(all []tune.Outcome) (shown []outcome) {
		some, left := first(all, l.list)
		s.Left += left
		for _, o := range some {
			shown = append(shown, outcome{clean(o.Host), clean(o.Tunable), clean(o.From), clean(o.To), clean(o.Effect), clean(o.Why), clean(o.Source)})
		}
		return shown
	}
	s.Kept, s.PutBack = outcomes(r.Kept), outcomes(r.PutBack)
	sets, left := first(r.ChangeSets, l.list)
	s.Left += left
	for _, set := range sets {
		note := "until the next boot"
		if set.Persisted {
			note = "outlives a boot"
		}
		s.Undo = append(s.Undo, command{clean(set.Host), clean(set.Undo), note})
	}
	some, left := first(r.Advice, l.list)
	s.Left += left
	for _, a := range some {
		told := advice{Host: clean(a.Host), Says: clean(a.Says)}
		if told.Host == "" {
			told.Says = sentence(told.Says)
		}
		commands, left := first(a.Commands, 10)
		s.Left += left
		for _, c := range commands {
			told.Commands = append(told.Commands, clean(c))
		}
		s.Advice = append(s.Advice, told)
	}
	if r.Remaining != nil {
		s.fact("limit now", clean(r.Remaining.Cause+": "+r.Remaining.Says))
	}
	s.path(r.Path, r.Direction == bulk.Reverse)
	latency := func(ms float64) string {
		if ms <= 0 || ms > 1e7 {
			return "not known"
		}
		return unit.Milliseconds(time.Duration(ms * float64(time.Millisecond)))
	}
	s.fact("latency under load", fmt.Sprintf("%s before, %s after", latency(r.Latency.Before), latency(r.Latency.After)))
	s.fact("sent again", fmt.Sprintf("%s before, %s after", unit.Percent(r.Before.Retrans), unit.Percent(r.After.Retrans)))
	s.fact("traffic", fmt.Sprintf("%.0f s of transfers, %s", r.TestSeconds, unit.Size(r.TestBytes)))
}
