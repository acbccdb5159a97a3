package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/near"
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
	later := c.Persist && s.State == change.Confirmed && (!s.Persist || mendable(s))
	return (s.Open() || later) && !s.Elsewhere
}

// mendable reports whether the host has all that the set wants, and only the next
// boot will not.
func mendable(s *change.Set) bool {
	drifted := false
	for _, v := range s.Values {
		if v.State != change.Live {
			continue
		}
		if v.Now != v.New {
			return false
		}
		drifted = drifted || v.Drift != ""
	}
	return drifted && s.Persist && !s.Elsewhere
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

// choose gives the ids of what is to be reverted, newest first. With all, an
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

// endedShown is how many sets of the past status shows people.
const endedShown = 3

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
	older := 0
	if !c.JSON {
		sets, older = recent(sets)
	}
	if shown := showSets(app.stdout, c.JSON, sets...); shown != nil {
		return shown
	}
	if older > 0 {
		fmt.Fprintf(app.stdout, "\n%d older, which are over: see them with: fullbore status --json\n", older)
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

// recent leaves out sets that are over, but for the newest few, and says how
// many more have changed something.
func recent(sets []change.Set) (shown []change.Set, older int) {
	ended := 0
	for _, set := range sets {
		switch {
		case set.Kept(), set.Trouble != "":
		case len(set.Values) == 0: // it was refused, and touched nothing
			continue
		default:
			ended++
		}
		if !set.Kept() && set.Trouble == "" && ended > endedShown {
			older++
			continue
		}
		shown = append(shown, set)
	}
	return shown, older
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
	if len(sets) == 0 {
		_, err := fmt.Fprintln(w, "no change sets")
		return err
	}
	for i := range sets {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := showSet(w, &sets[i], time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// showSet prints one change set as a person wants to see it.
func showSet(w io.Writer, set *change.Set, now time.Time) error {
	state := string(set.State)
	if set.Elsewhere {
		state += " in another network namespace"
	}
	switch {
	case set.State == change.Lost:
		state = "reverted, except what someone else has changed"
	case set.State == change.Confirmed && set.Persist:
		state += ", also after a reboot"
	case set.State == change.Confirmed:
		state += ", until the next reboot"
	case set.Open() && !set.Deadline.After(now):
		state += ", to be reverted at once"
	case set.State == change.Live:
		state += fmt.Sprintf(", reverts in %v unless confirmed", set.Deadline.Sub(now).Round(time.Second))
	case set.Open(): // cut short, or still at it: there is nothing to confirm
		state += fmt.Sprintf(", reverts in %v", set.Deadline.Sub(now).Round(time.Second))
	}
	reason := ""
	if set.Reason != "" {
		reason = ": " + set.Reason
	}
	fmt.Fprintf(w, "%s  %s, %s old%s\n", set.ID, state, age(now.Sub(set.Created)), reason)
	if set.Note != "" {
		fmt.Fprintf(w, "  note: %s\n", set.Note)
	}
	if set.Trouble != "" {
		fmt.Fprintf(w, "  trouble: %s\n", set.Trouble)
	}
	if set.Booted && !set.Elsewhere {
		fmt.Fprintf(w, "  the host was booted since: %s\n", cameBack(set))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range set.Values {
		fmt.Fprintf(table, "  %s\t%s\t-> %s\t%s%s\n", v.Tunable, v.Old, v.New, drift(&v), bootedWith(&v))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var err error
	where := ""
	if set.Elsewhere {
		where = " there"
	}
	if set.State == change.Live && set.Deadline.After(now) {
		_, err = fmt.Fprintf(w, "  keep it%s: fullbore confirm %s\n", where, set.ID)
	}
	if mendable(set) {
		_, err = fmt.Fprintf(w, "  mend it: fullbore confirm %s --persist\n", set.ID)
	}
	if set.Kept() {
		_, err = fmt.Fprintf(w, "  undo it%s: fullbore revert %s\n", where, set.ID)
	}
	return err
}

// drift says how a value stands to what the set gave it.
func drift(v *change.Value) string {
	switch {
	case v.State == change.Applying && v.Now != "":
		return "cut short, now " + v.Now
	case v.State == change.Lost:
		return "left alone"
	case v.State != change.Live:
		return string(v.State)
	case v.Drift != "":
		return v.Drift
	case v.Now == "":
		return "now unknown"
	case v.Now == v.New:
		return "as set"
	default:
		return "now " + v.Now
	}
}

// bootedWith says what set the tunable at every boot before the set, if that is
// known and was something.
func bootedWith(v *change.Value) string {
	if v.AtBoot == nil || v.AtBoot.File == "" {
		return ""
	}
	return fmt.Sprintf("\tat boot before: %s (%s:%d)", v.AtBoot.Value, v.AtBoot.File, v.AtBoot.Line)
}

// cameBack says which of the values that were to outlive a boot did.
func cameBack(set *change.Set) string {
	kept, back := 0, 0
	for _, v := range set.Values {
		if v.State != change.Live {
			continue
		}
		kept++
		if v.Now == v.New {
			back++
		}
	}
	if back == kept {
		return "every value came back"
	}
	return fmt.Sprintf("%d of %d values came back", back, kept)
}

// age writes a duration in its largest unit: "3 days".
func age(d time.Duration) string {
	for _, unit := range []struct {
		name string
		long time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		switch n := d / unit.long; {
		case n == 1:
			return "1 " + unit.name
		case n > 1:
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return "0 seconds"
}
