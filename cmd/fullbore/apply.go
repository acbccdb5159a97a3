package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
)

type applyCmd struct {
	Plan          string        `arg:"" help:"Plan as 'fullbore plan --json' wrote it; - for standard input."`
	Host          string        `placeholder:"NAME" help:"Apply the changes meant for this host name (default: this host's own)."`
	ConfirmWithin time.Duration `default:"60s" help:"Revert unless 'fullbore confirm' comes in time."`
	JSON          bool          `help:"One JSON document on stdout."`
}

// maxPlan bounds what is read of a plan file: the largest catalogue fits many times.
const maxPlan = 1 << 20

func (c *applyCmd) Run(app *app) error {
	p, err := c.read(app)
	if err != nil {
		return err
	}
	facts, err := host.Collect(app.ctx)
	if err != nil {
		return fmt.Errorf("collect facts of this host: %w", err)
	}
	if c.Host == "" {
		c.Host = facts.Name
	}
	settings, err := c.settings(p, facts)
	if err != nil {
		return err
	}
	if !facts.CanChange {
		return &hinted{err: fmt.Errorf("change this host: %s", facts.WhyNot), code: exitRefused}
	}
	changes, err := localChanges()
	if err != nil {
		return err
	}
	changes.StartWatchdog = change.StartDetachedWatchdog // this process ends long before the deadline
	id, err := changes.Begin(app.ctx, "apply "+filepath.Base(c.Plan), c.ConfirmWithin)
	if err != nil {
		return changeError(err)
	}
	err = changes.Apply(app.ctx, id, settings)
	if err == nil && app.ctx.Err() != nil { // Ctrl-C came while it was applied: nobody learned its ID
		err = errors.New("interrupted: nothing of the plan is kept")
	}
	if err != nil {
		if _, undo := changes.Revert(app.ctx, id); undo != nil {
			err = fmt.Errorf("%w; and %w", err, undo)
		}
		return changeError(err)
	}
	set, err := newest(app.ctx, changes, "of that id", func(s *change.Set) bool { return s.ID == id })
	if err != nil {
		return err
	}
	return showSets(app.stdout, c.JSON, *set)
}

func (c *applyCmd) read(app *app) (*planDocument, error) {
	source := app.stdin
	if c.Plan != "-" {
		file, err := os.Open(c.Plan)
		if err != nil {
			return nil, fmt.Errorf("read plan: %w", err)
		}
		defer file.Close()
		source = file
	}
	decoder := json.NewDecoder(io.LimitReader(source, maxPlan))
	decoder.DisallowUnknownFields()
	p := &planDocument{}
	if err := decoder.Decode(p); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return nil, &hinted{err: fmt.Errorf("read plan %s: %w", c.Plan, err), hint: "write one with: fullbore plan HOST --json", code: exitUsage}
	}
	if p.Schema != planSchema {
		return nil, &hinted{err: fmt.Errorf("read plan %s: schema is %q, not %q", c.Plan, p.Schema, planSchema), hint: "write one with: fullbore plan HOST --json", code: exitUsage}
	}
	return p, nil
}

// settings are what the plan has for this host.
func (c *applyCmd) settings(p *planDocument, facts *host.Facts) ([]change.Setting, error) {
	changes, err := p.Of(c.Host, facts)
	switch {
	case errors.Is(err, plan.ErrStale):
		return nil, &hinted{err: err, hint: "make the plan again, on this host", code: exitRefused}
	case errors.Is(err, plan.ErrElsewhere):
		return nil, &hinted{err: err, hint: "if one of them is this host: fullbore apply --host NAME", code: exitUsage}
	case err != nil:
		return nil, &hinted{err: err, hint: "write one with: fullbore plan HOST --json", code: exitUsage}
	}
	var all []change.Setting
	for _, ch := range changes {
		all = append(all, change.Setting{Tunable: ch.Tunable, Value: ch.To})
	}
	return all, nil
}
