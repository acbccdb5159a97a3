package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/report"
)

type confirmCmd struct {
	ID      string `arg:"" optional:"" help:"Change set (default: the newest that is not confirmed)."`
	Persist bool   `help:"Keep it over a reboot too."`
	JSON    bool   `help:"One JSON document on stdout."`
}

func (c *confirmCmd) Run(app *app) error {
	manager, err := localChanges()
	if err != nil {
		return err
	}
	if c.ID == "" {
		set, err := newest(app.ctx, manager, "to confirm", c.waits)
		if err != nil {
			return err
		}
		c.ID = set.ID
	}
	if err := manager.Confirm(app.ctx, c.ID, c.Persist); err != nil {
		return changeError(meant(app.ctx, manager, c.ID, err))
	}
	set, err := newest(app.ctx, manager, "of that id", func(s *change.Set) bool { return s.ID == c.ID })
	if err != nil {
		return err
	}
	if err := showSets(app.stdout, c.JSON, *set); err != nil {
		return err
	}
	if set.State != change.Confirmed { // the set's note says why
		return exitCode(exitRefused)
	}
	return nil
}

// waits reports whether the set is one to confirm from here, or to persist that
// was confirmed before.
func (c *confirmCmd) waits(s *change.Set) bool {
	later := c.Persist && s.State == change.Confirmed && (!s.Persist || s.Mendable())
	return (s.Open() || later) && !s.Elsewhere
}

type revertCmd struct {
	ID   string `arg:"" optional:"" help:"Change set (default: the newest that is not reverted yet)."`
	All  bool   `help:"Revert every change set of this host, the newest first."`
	JSON bool   `help:"One JSON document on stdout."`
}

func (c *revertCmd) Run(app *app) error {
	if c.All && c.ID != "" {
		return usageError("revert %s or --all, not both", c.ID)
	}
	manager, err := localChanges()
	if err != nil {
		return err
	}
	undo, failed := c.choose(app.ctx, manager)
	var done []change.Set
	for _, id := range undo {
		set, err := manager.Revert(app.ctx, id)
		if err != nil {
			failed = errors.Join(failed, meant(app.ctx, manager, id, err))
			continue
		}
		done = append(done, *set)
	}
	if c.JSON || failed == nil || len(done) > 0 {
		if err := showSets(app.stdout, c.JSON, done...); err != nil {
			return err
		}
	}
	return changeError(failed)
}

// choose gives the ids of the sets to revert, newest first. With all, an
// error names what is in trouble; the others are given all the same.
func (c *revertCmd) choose(ctx context.Context, manager *change.Manager) ([]string, error) {
	switch {
	case c.ID != "":
		return []string{c.ID}, nil
	case c.All:
		sets, err := manager.List(ctx)
		if err != nil {
			return nil, err
		}
		var ids []string
		var unreadable []change.Set
		for i := range sets {
			if undoable(&sets[i]) {
				ids = append(ids, sets[i].ID)
			} else {
				unreadable = append(unreadable, sets[i])
			}
		}
		return ids, troubles(unreadable)
	default:
		set, err := newest(ctx, manager, "to revert", undoable)
		if err != nil {
			return nil, err
		}
		return []string{set.ID}, nil
	}
}

// undoable reports whether there is something to revert, and from here.
func undoable(s *change.Set) bool { return s.Kept() && !s.Elsewhere }

type statusCmd struct {
	JSON bool `help:"One JSON document on stdout."`
}

func (c *statusCmd) Run(app *app) error {
	manager, err := localChanges()
	if err != nil {
		return err
	}
	sets, err := manager.List(app.ctx)
	if err != nil {
		return changeError(err)
	}
	if c.JSON {
		err = showSets(app.stdout, true, sets...)
	} else {
		err = report.RecentChangeSets(app.stdout, sets, time.Now())
	}
	if err != nil {
		return err
	}
	if troubles(sets) != nil { // shown with its set
		return exitCode(exitFailed)
	}
	return nil
}

// troubles makes an error of what is wrong with single sets.
func troubles(sets []change.Set) error {
	var all []error
	for _, set := range sets {
		if set.Trouble != "" {
			all = append(all, errors.New(set.Trouble))
		}
	}
	return errors.Join(all...)
}

type watchdogCmd struct {
	Dir   string `required:"" help:"Where the journals are."`
	Owned bool   `help:"Standard input ends with the process that owns the change set."`
	ID    string `arg:""`
}

func (c *watchdogCmd) Run(app *app) error {
	manager, err := change.NewManager(c.Dir, change.Kernel{})
	if err != nil {
		return err
	}
	var owner io.Reader
	if c.Owned {
		owner = app.stdin
	}
	return manager.Watch(app.ctx, c.ID, owner, app.stdout)
}

// localChanges gives this host's change sets.
func localChanges() (*change.Manager, error) {
	return change.NewManager(change.DefaultDir(), change.Kernel{})
}

// newest finds the newest set that will do.
func newest(ctx context.Context, manager *change.Manager, what string, will func(*change.Set) bool) (*change.Set, error) {
	sets, err := manager.List(ctx)
	if err != nil {
		return nil, changeError(err)
	}
	for i := range sets {
		if will(&sets[i]) {
			return &sets[i], nil
		}
	}
	if err := troubles(sets); err != nil { // it may be one of these
		return nil, err
	}
	return nil, &hinted{err: fmt.Errorf("there is no change set %s", what), hint: "see what there is with: fullbore status", code: exitFailed}
}

// meant adds to an error about an unknown id which one may have been meant.
func meant(ctx context.Context, manager *change.Manager, id string, err error) error {
	if !errors.Is(err, change.ErrUnknown) {
		return err
	}
	sets, _ := manager.List(ctx)
	var ids []string
	for i := range sets {
		if sets[i].Kept() {
			ids = append(ids, sets[i].ID)
		}
	}
	return fmt.Errorf("%w%s", err, near.DidYouMean(id, ids))
}

// changeError adds what to do, and the exit code, to an error of change.
func changeError(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &hinted{err: err, hint: "changing this host needs root: run it with sudo", code: exitFailed}
	case errors.Is(err, change.ErrUnknown):
		return &hinted{err: err, hint: "see their ids with: fullbore status", code: exitFailed}
	case errors.Is(err, change.ErrClosed):
		return &hinted{err: err, hint: "apply the plan again", code: exitRefused}
	case errors.Is(err, change.ErrRefused):
		return &hinted{err: err, code: exitRefused}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &hinted{err: err, hint: "make room there and try again; what is not confirmed reverts all the same", code: exitFailed}
	case errors.Is(err, syscall.EROFS):
		return &hinted{err: err, hint: "make that file system writable and try again; what is not confirmed reverts all the same", code: exitFailed}
	}
	return err
}

// setsDocument is what confirm, revert and status print with --json.
type setsDocument struct {
	Schema string       `json:"schema"` // "fullbore/changes/1"
	Sets   []change.Set `json:"sets"`
}

func showSets(w io.Writer, asJSON bool, sets ...change.Set) error {
	if asJSON {
		return printJSON(w, setsDocument{Schema: "fullbore/changes/1", Sets: append([]change.Set{}, sets...)})
	}
	return report.ChangeSets(w, sets, time.Now())
}
