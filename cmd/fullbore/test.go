package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/peer/iperf3/document"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// testCmd has iperf3's flags where the meaning is the same.
type testCmd struct {
	Endpoint
	transferFlags
	outputFlags
	recordFlags
	repeatFlags
}

// repeatFlags say how often something is measured.
type repeatFlags struct {
	Repeat  int    `placeholder:"N" xor:"repeat" help:"Run this many times, and report the median and its 95 % interval."`
	UntilCI string `name:"until-ci" placeholder:"SHARE" xor:"repeat" help:"Repeat (3 to 30 times) until the rate is known to within this share, such as 2%; exit code 4 if it is not."`
}

func (c *testCmd) Run(app *app) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	note := ""
	if c.UDP && c.Rate == "" {
		note = fmt.Sprintf("UDP at %s for each flow, as iperf3 does unless --bitrate is given", udpRate)
	}
	out, err := c.form(app, c.Title, note)
	if err != nil {
		return err
	}
	repeats, err := c.repeats()
	if err != nil {
		return err
	}
	if err := c.checkTags(); err != nil {
		return err
	}
	if c.From != "" {
		return c.runThere(app, c.Host, c.Token)
	}
	if c.Lab != "" {
		return inLab(app, c.Lab)
	}
	far, err := c.open(app, &c.transferFlags, spec)
	if usage, ok := errors.AsType[*hinted](err); ok && usage.code == exitUsage {
		return err
	}
	if err != nil { // programs that wait for a document get one
		own, unreached := &own{Schema: ownSchema}, newAsked(c.Host, &c.transferFlags, spec)
		record := unreached.blank()
		record.Result, record.Failed, record.FullBore = nil, err, own
		out.begin("", record)
		return cmp.Or(err, out.end(&record, own))
	}
	defer far.Close()
	kept := c.keep(app, record.Test, spec.Direction, greeting(far))
	return c.series(app, &keptEnd{far, kept}, &keptForm{out, kept}, repeats)
}

func (c *repeatFlags) repeats() (experiment.Repetition, error) {
	switch {
	case c.Repeat < 0 || c.Repeat > maxRepeat:
		return experiment.Repetition{}, usageError("--repeat %d: use 1 to %d", c.Repeat, maxRepeat)
	case c.UntilCI == "":
		return experiment.Repetition{Times: max(1, c.Repeat)}, nil
	}
	share, err := parseShare(c.UntilCI)
	if err != nil {
		return experiment.Repetition{}, usageError("--until-ci: %w", err)
	}
	return experiment.Repetition{UntilCI: share}, nil
}

// maxRepeat bounds what one document holds.
const maxRepeat = 1000

// parseShare reads "2%" or "0.02".
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.ReplaceAll(text, " ", ""), "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0.001 && share < 1) {
		return 0, fmt.Errorf("%q is not a share from 0.1%% to 99%%", text)
	}
	return share, nil
}

const ownSchema = "fullbore/test/1"

// own is what the document has under "fullbore".
type own struct {
	Schema string `json:"schema"` // ownSchema
	*bulk.Result
	Figures []bulk.Figures     `json:"figures,omitempty"` // of each direction
	Runs    []experiment.Run   `json:"runs,omitempty"`    // if there were several; the rest is of the last
	Repeat  *experiment.Repeat `json:"repeat,omitempty"`
}

// series runs the transfer as often as the plan says.
func (c *testCmd) series(app *app, far farEnd, out form, p experiment.Repetition) error {
	var runs []experiment.Run
	for {
		name := ""
		if p.Several() {
			name = fmt.Sprintf("run %d", len(runs)+1)
		}
		record, err := oneRun(app.ctx, far, seconds(c.Interval), name, out)
		document := &own{Schema: ownSchema, Result: record.Result}
		if record.Result != nil {
			document.Figures = experiment.Figures(record.Result)
		}
		if err != nil {
			document.Runs, document.Repeat = runs, p.Repeat(runs)
			record.FullBore = document
			return cmp.Or(err, out.end(record, document)) // err is often why there is no writing any more
		}
		if p.Several() {
			runs = append(runs, experiment.NewRun(record.Began, record.Result))
		}
		last := p.Enough(runs)
		if last {
			document.Runs, document.Repeat = runs, p.Repeat(runs)
		}
		record.FullBore = document
		if last {
			if err := out.end(record, document); err != nil {
				return err
			}
			if document.Repeat == nil {
				return nil
			}
			return unsettled("goodput", &document.Repeat.Repeated)
		}
		if err := out.run(record, name, &runs[len(runs)-1]); err != nil {
			return err
		}
	}
}

// oneRun runs the transfer once; its record is never nil.
func oneRun(ctx context.Context, far farEnd, every time.Duration, name string, out form) (*document.Record, error) {
	blank := far.blank()
	rows := document.NewRows(blank.Result.Spec, every)
	blank.Rows = rows
	out.begin(name, blank)
	opened := func(r document.Record) {
		r.Rows = rows
		out.opened(r)
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	record, err := far.test(running, opened, func(p bulk.Progress) {
		if rows.Add(p) {
			if err := out.row(); err != nil {
				stop(err) // a full disk: nobody would see the rest
			}
		}
		out.progress(p)
	})
	record.Rows = rows
	if record.Result != nil && record.Finish() {
		err = cmp.Or(err, out.row())
	}
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted: what was measured until then is reported")
	}
	record.Failed = err
	return record, err
}

// unsettled is the error of runs that did not settle.
func unsettled(what string, r *experiment.Repeated) error {
	if r.Settled == nil || *r.Settled {
		return nil
	}
	return &hinted{
		err:  fmt.Errorf("%s is not known to within %.3g %% after %d runs", what, 100*r.UntilCI, r.Runs),
		hint: "use longer runs (--time), leave out their beginning (--omit), or ask for less", code: exitBelow,
	}
}

// greeting is what a far end has said of itself; of other programs that is its address.
func greeting(far farEnd) peer.Hello {
	if f, ok := far.(*fullboreEnd); ok {
		return f.client.Hello()
	}
	return peer.Hello{Host: far.blank().Host}
}

// keptEnd is a far end whose transfers are kept.
type keptEnd struct {
	farEnd
	keeper *keeper
}

func (f *keptEnd) test(ctx context.Context, opened func(document.Record), watch func(bulk.Progress)) (*document.Record, error) {
	began := time.Now()
	r, err := f.farEnd.test(ctx, opened, f.keeper.progress(watch))
	f.keeper.transfer(began, r.Result, err)
	return r, err
}

// keptForm writes the output of transfers, and then keeps the run.
type keptForm struct {
	form
	keeper *keeper
}

func (f *keptForm) end(r *document.Record, o *own) error {
	err := f.form.end(r, o)
	kept, short := *r, *o
	short.Result = record.WithoutSamples(o.Result)
	kept.FullBore = &short
	var outcome record.Outcome
	switch {
	case o.Repeat != nil:
		outcome.Goodput = unit.Rate(o.Repeat.Goodput.Median)
	case o.Result != nil:
		for _, d := range o.Spec.Directions() {
			outcome.Goodput += o.Goodput(d)
		}
	}
	f.keeper.end(outcome, document.New(kept), r.Failed)
	return err
}
