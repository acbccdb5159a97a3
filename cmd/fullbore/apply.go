package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

type applyCmd struct {
	Plan          string        `arg:"" help:"Plan as 'fullbore plan --json' wrote it; - for standard input."`
	Host          string        `placeholder:"NAME" help:"Apply the changes meant for this host name (default: this host's own)."`
	ConfirmWithin time.Duration `default:"60s" help:"Revert unless 'fullbore confirm' comes in time."`
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
		return &hinted{err: fmt.Errorf("change this host: %s", facts.WhyNot), hint: "sudo fullbore apply " + c.Plan, code: exitRefused}
	}
	changes, err := localChanges()
	if err != nil {
		return err
	}
	changes.StartWatchdog = change.StartDetachedWatchdog // this process ends long before the deadline
	if err := changes.Expire(app.ctx); err != nil {
		return err
	}
	id, err := changes.Begin(app.ctx, "apply "+c.Plan, c.ConfirmWithin)
	if err != nil {
		return err
	}
	if err := changes.Apply(app.ctx, id, settings); err != nil {
		if _, undo := changes.Revert(app.ctx, id); undo != nil {
			return fmt.Errorf("%w; and revert: %w", err, undo)
		}
		return err
	}
	_, err = fmt.Fprintf(app.stdout, "change set %s is live; it reverts in %v unless confirmed\n  keep it: fullbore confirm %s\n  undo it: fullbore revert %s\n",
		id, c.ConfirmWithin, id, id)
	return err
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
		return nil, &hinted{err: fmt.Errorf("read plan %s: %w", c.Plan, err), hint: "write one with: fullbore plan HOST --json", code: exitUsage}
	}
	if p.Schema != planSchema {
		return nil, &hinted{err: fmt.Errorf("read plan %s: schema is %q, not %q", c.Plan, p.Schema, planSchema), hint: "write one with: fullbore plan HOST --json", code: exitUsage}
	}
	return p, nil
}

// settings picks this host's changes, and refuses to lower anything.
func (c *applyCmd) settings(p *planDocument, facts *host.Facts) ([]change.Setting, error) {
	var out []change.Setting
	others := 0
	for _, step := range p.Steps {
		for _, ch := range step.Changes {
			if ch.Host != c.Host {
				others++
				continue
			}
			knob, ok := tunable.Lookup(facts.OS, ch.Tunable)
			if !ok {
				return nil, usageError("plan sets %s, which the catalogue for %s does not have", ch.Tunable, facts.OS)
			}
			if err := knob.Check(ch.To); err != nil {
				return nil, usageError("plan sets %s: %w", ch.Tunable, err)
			}
			if raised, _ := knob.Raise(facts.Tunables[ch.Tunable], ch.To); raised != tunable.Normalise(ch.To) {
				return nil, &hinted{code: exitRefused,
					err:  fmt.Errorf("%s = %s would lower the present %s", ch.Tunable, ch.To, facts.Tunables[ch.Tunable]),
					hint: "make the plan again: the host has changed since"}
			}
			out = append(out, change.Setting{Tunable: ch.Tunable, Value: ch.To})
		}
	}
	if len(out) == 0 {
		return nil, &hinted{err: fmt.Errorf("the plan has nothing for %s (%d changes for other hosts)", c.Host, others), hint: "choose a host with --host", code: exitUsage}
	}
	return out, nil
}
