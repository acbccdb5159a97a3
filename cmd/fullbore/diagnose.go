package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/unit"
)

type diagnoseCmd struct {
	optionalTarget
	fromFlag
	recordFlags
	Direction string        `enum:"forward,reverse" default:"forward" help:"Which way data flows: forward (this host sends) or reverse."`
	Parallel  int           `short:"P" default:"1" help:"TCP connections of the transfer."`
	Budget    time.Duration `placeholder:"TIME" help:"Test traffic to spend at most, in time (default: 8s on a LAN, 20s at 150 ms of RTT, in proportion between)."`
	Quick     bool          `help:"One transfer only, and no trials that would make the verdict surer."`
	Evidence  string        `type:"path" placeholder:"FILE" help:"Write everything that the verdict rests on to FILE, compressed if it ends in .gz. Names, addresses and settings of both hosts are in it."`
	Replay    string        `type:"path" placeholder:"FILE" help:"Diagnose what --evidence wrote, without any traffic."`
	Explain   explainFlag   `help:"Explain a cause instead: --explain CAUSE, or all; without one, list them."`
	JSON      bool          `help:"One JSON document on stdout."`
}

// AfterApply is called by kong once the command line is read.
func (c *diagnoseCmd) AfterApply() error {
	switch {
	case c.Explain.asked:
		return nil
	case c.Replay == "" && c.Budget < 0:
		return fmt.Errorf("--budget %v: must not be negative", c.Budget)
	case c.Replay == "":
		return errors.Join(oneTarget(c.Host, c.Lab), c.checkFrom(c.Lab), connections(c.Parallel), c.checkTags())
	case c.Budget != 0 || c.Quick:
		return errors.New("--replay diagnoses what was measured: --budget and --quick are for measuring")
	case c.Host != "" || c.Lab != "" || c.From != "":
		return errors.New("--replay diagnoses a file: name no far end and no scenario beside it")
	case c.Evidence != "":
		return errors.New("--replay and --evidence were given: what would be written is there already")
	}
	return nil
}

func (c *diagnoseCmd) Run(app *app) error {
	if c.Explain.asked {
		return c.explain(app)
	}
	if c.Replay != "" {
		x, err := examine.Read(c.Replay)
		if err != nil {
			return err
		}
		return c.show(app, x, nil)
	}
	if c.Evidence != "" {
		if err := examine.Writable(c.Evidence); err != nil {
			return usageError("%w", err)
		}
	}
	if c.From != "" {
		return c.runThere(app, c.Host, c.Token)
	}
	if c.Lab != "" {
		return inLab(app, c.Lab)
	}
	watch := report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr))
	x, kept, err := examineFar(app, &c.optionalTarget, &c.recordFlags, watch, examine.Options{
		Direction: bulk.Direction(c.Direction), Streams: c.Parallel, Budget: c.Budget, Quick: c.Quick,
	})
	if x == nil {
		kept.end(record.Outcome{}, nil, err)
		return err
	}
	defer kept.end(record.Outcome{Goodput: x.Evidence.Transfer.Goodput(x.Evidence.Direction), Verdict: x.Diagnosis.Verdict.Cause}, newDiagnosisDocument(x, err), err)
	if c.Evidence != "" {
		err = errors.Join(err, examine.Write(c.Evidence, x))
	}
	return c.show(app, x, err)
}

// examineFar measures and diagnoses: what diagnose and plan begin with. With an
// error there may be an examination too, of what was measured until then. The
// keeper, which is never nil, waits for the run's end.
func examineFar(app *app, to *optionalTarget, flags *recordFlags, watch report.Monitor, o examine.Options) (*examine.Examination, *keeper, error) {
	far, err := to.dial(app)
	if err != nil {
		return nil, &keeper{}, err
	}
	defer far.Close()
	kept := flags.keep(app, record.Diagnose, o.Direction, far.Hello())
	watch = kept.watching(watch)
	o.Watch = watch
	x, err := examine.Run(app.ctx, kept.near, kept.far(far), o)
	watch.End()
	switch {
	case errors.Is(err, examine.ErrBudget):
		err = &hinted{err: err, hint: "leave --budget out: the path decides then", code: exitUsage}
	case err != nil && app.ctx.Err() != nil:
		err = errors.New("interrupted: what is said rests on what was measured until then")
		if x == nil {
			err = errors.New("interrupted before anything was measured")
		}
	}
	return x, kept, err
}

// show writes what was found, also of an examination that ended early. A failed
// transfer that left no evidence is a failure of diagnose as well.
func (c *diagnoseCmd) show(app *app, x *examine.Examination, err error) error {
	if failed := x.Evidence.Failed; failed != "" && err == nil && x.Diagnosis.Verdict.Cause == diagnose.Unknown {
		err = fmt.Errorf("the transfer ended early, and why is not known: %s", printable.Line(failed))
	}
	if c.JSON {
		return errors.Join(printJSON(app.stdout, newDiagnosisDocument(x, err)), err)
	}
	report.Diagnosis(app.stdout, x, style(app))
	return err
}

// diagnosisDocument is the JSON contract of diagnose (docs/json.md).
type diagnosisDocument struct {
	Schema    string         `json:"schema"` // "fullbore/diagnose/1"
	Direction bulk.Direction `json:"direction"`
	Path      *path.Estimate `json:"path"`
	Goodput   float64        `json:"goodput_bps"`
	diagnose.Diagnosis
	Failed      string     `json:"failed,omitempty"`
	Trials      []trialRow `json:"trials"`
	Untried     *trialRow  `json:"untried,omitempty"`
	TestSeconds float64    `json:"test_seconds"`
	TestBytes   int64      `json:"test_bytes"`
	Error       string     `json:"error,omitempty"`
}

// trialRow is a trial without all that it recorded.
type trialRow struct {
	Kind     diagnose.TrialKind     `json:"kind"`
	Why      string                 `json:"why"`
	Expects  []diagnose.Expectation `json:"expects"`
	Goodput  unit.Rate              `json:"goodput_bps"`
	Repeated float64                `json:"retransmitted_share"`
	Failed   string                 `json:"failed,omitempty"`
}

func newTrialRow(t *diagnose.Trial) trialRow {
	return trialRow{
		Kind: t.Kind, Why: t.Why, Expects: append([]diagnose.Expectation{}, t.Expects...),
		Goodput: examine.Goodput(t), Repeated: examine.Repeated(t.Result, t.Spec.Direction), Failed: t.Failed,
	}
}

func newDiagnosisDocument(x *examine.Examination, err error) diagnosisDocument {
	d := diagnosisDocument{
		Schema: "fullbore/diagnose/1", Direction: x.Evidence.Direction, Path: x.Evidence.Path,
		Goodput: float64(x.Evidence.Transfer.Goodput(x.Evidence.Direction)), Diagnosis: x.Diagnosis, Failed: x.Evidence.Failed,
		Trials: []trialRow{}, TestSeconds: x.Spent.Time.Seconds(), TestBytes: x.Spent.Bytes,
	}
	for i := range x.Evidence.Trials {
		d.Trials = append(d.Trials, newTrialRow(&x.Evidence.Trials[i]))
	}
	if next := x.Untried(); next != nil {
		row := newTrialRow(next)
		d.Untried = &row
	}
	if err != nil {
		d.Error = err.Error()
	}
	return d
}
