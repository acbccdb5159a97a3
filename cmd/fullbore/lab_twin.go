package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/twin"
)

// labTwinCmd makes a scenario of a path that was measured.
type labTwinCmd struct {
	Of        string        `arg:"" placeholder:"RUN|HOST" help:"A run of diagnose or tune by the first or last characters of its identifier, last, a file with it (a report, an export); or a far end, which is diagnosed first."`
	Output    string        `short:"o" type:"path" placeholder:"FILE" help:"Write the scenario to FILE, for --lab FILE (default: stdout)."`
	Token     string        `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"Of a far end: what its 'serve' printed, as its settings are part of a twin."`
	Direction string        `enum:"forward,reverse" default:"forward" help:"Of a far end: which way data flows, forward (this host sends) or reverse."`
	Budget    time.Duration `placeholder:"TIME" help:"Of a far end: test traffic to spend at most, as diagnose has it."`
	JSON      bool          `help:"One JSON document on stdout: every value with how it is known."`
}

func (c *labTwinCmd) Run(app *app) error {
	run, err := c.run(app)
	if err != nil {
		return err
	}
	made, err := twin.Make(run)
	if err != nil {
		return &hinted{err: fmt.Errorf("make a twin of run %s: %w", run.ID, err), hint: "fullbore history lists the runs; fullbore diagnose HOST --token TOKEN makes one", code: exitFailed}
	}
	if c.Output != "" {
		if err := writeFile(c.Output, made.YAML()); err != nil {
			return fmt.Errorf("write the scenario: %w", err)
		}
	}
	switch {
	case c.JSON:
		return printJSON(app.stdout, made)
	case c.Output == "":
		_, err := fmt.Fprint(app.stdout, made.YAML())
		return err
	}
	report.Twin(app.stdout, made)
	_, err = fmt.Fprintf(app.stdout, "\nTry changes in it: fullbore tune --lab %s\n", c.Output)
	return err
}

// run is the run that was named, or the one that a diagnosis of the far end made.
func (c *labTwinCmd) run(app *app) (*record.Run, error) {
	if _, err := os.Stat(c.Of); err == nil || errors.Is(err, fs.ErrNotExist) && isRunName(c.Of) {
		runs, err := findRuns(app, []string{c.Of})
		switch {
		case err == nil && len(runs) > 1:
			return nil, usageError("%s has %d runs: a twin is made from one", c.Of, len(runs))
		case err == nil:
			return runs[0], nil
		case c.Of == record.Latest || !errors.Is(err, record.ErrNoRun) || c.Token == "":
			return nil, err
		} // a host may have such a name, too
	}
	return c.measure(app)
}

// isRunName says whether a word can be the beginning or the end of a run's identifier.
func isRunName(word string) bool {
	return word == record.Latest || len(word) >= 4 && strings.Trim(strings.ToLower(word), "0123456789abcdef-") == ""
}

// measure diagnoses the path to a far end, and keeps that as a run.
func (c *labTwinCmd) measure(app *app) (*record.Run, error) {
	if c.Token == "" {
		return nil, usageError("%s is no run of this host; as a far end it needs --token, which its 'fullbore serve' printed: its settings are half of a twin", c.Of)
	}
	store, err := openRecord(app.ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	to := optionalTarget{Host: c.Of, Token: c.Token}
	direction := bulk.Direction(c.Direction)
	x, kept, err := examineFar(app, &to, &recordFlags{}, report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr)), examine.Options{Direction: direction, Streams: 1, Budget: c.Budget})
	if x == nil {
		kept.end(record.Outcome{}, nil, err)
		return nil, err
	}
	kept.end(record.Outcome{Goodput: x.Evidence.Transfer.Goodput(direction), Verdict: x.Diagnosis.Verdict.Cause}, newDiagnosisDocument(x, err), err)
	if err != nil {
		return nil, err
	}
	if kept.recorder == nil {
		return nil, errors.New("runs are not kept here: a twin is made from a run that is")
	}
	return store.Load(app.ctx, kept.recorder.ID())
}
