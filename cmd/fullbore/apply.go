package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/tunable"
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
	if err == nil && app.ctx.Err() != nil { // Ctrl-C came amid it: nobody is told of the set
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

// settings picks this host's changes, and refuses to lower anything.
func (c *applyCmd) settings(p *planDocument, facts *host.Facts) ([]change.Setting, error) {
	var out []change.Setting
	var others []string
	for _, step := range p.Steps {
		for _, ch := range step.Changes {
			if ch.Host != c.Host {
				if !slices.Contains(others, ch.Host) {
					others = append(others, ch.Host)
				}
				continue
			}
			knob, ok := tunable.Lookup(facts.OS, ch.Tunable)
			if !ok {
				return nil, usageError("plan sets %s, which the catalogue for %s does not have%s",
					ch.Tunable, facts.OS, near.DidYouMean(ch.Tunable, slices.Sorted(maps.Keys(facts.Tunables))))
			}
			if err := knob.Check(ch.To); err != nil {
				return nil, usageError("plan sets %s: %w", ch.Tunable, err)
			}
			if _, ok := facts.Tunables[ch.Tunable]; !ok {
				return nil, &hinted{code: exitRefused, err: fmt.Errorf("this host does not have %s", ch.Tunable), hint: "make the plan again, on this host"}
			}
			if raised, _ := knob.Raise(facts.Tunables[ch.Tunable], ch.To); raised != tunable.Normalise(ch.To) {
				return nil, &hinted{code: exitRefused,
					err:  fmt.Errorf("%s = %s would lower the present %s", ch.Tunable, ch.To, facts.Tunables[ch.Tunable]),
					hint: "make the plan again: the host has changed since"}
			}
			out = append(out, change.Setting{Tunable: ch.Tunable, Value: ch.To})
		}
	}
	if len(out) == 0 && len(others) == 0 {
		return nil, &hinted{err: errors.New("the plan has no changes: there is nothing to apply"), code: exitUsage}
	}
	if len(out) == 0 {
		return nil, &hinted{err: fmt.Errorf("the plan has nothing for %s, only for %q", c.Host, others), hint: "if one of them is this host: fullbore apply --host NAME", code: exitUsage}
	}
	return out, nil
}
