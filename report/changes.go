package report

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/fullbore/fullbore/change"
)

// ChangeSets writes change sets as they are now.
func ChangeSets(w io.Writer, sets []change.Set, now time.Time) error {
	if len(sets) == 0 {
		_, err := fmt.Fprintln(w, "no change sets")
		return err
	}
	for i := range sets {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := changeSet(w, &sets[i], now); err != nil {
			return err
		}
	}
	return nil
}

// RecentChangeSets writes what ChangeSets does, but of the sets that are over only
// the newest few, and how many more there are.
func RecentChangeSets(w io.Writer, sets []change.Set, now time.Time) error {
	shown, older := recent(sets)
	if err := ChangeSets(w, shown, now); err != nil || older == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d older, which are over: see them with: fullbore status --json\n", older)
	return err
}

// endedShown is how many sets of the past status shows people.
const endedShown = 3

// recent leaves out sets that are over, except the newest few, and says how
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

// changeSet writes one change set as a person wants to see it.
func changeSet(w io.Writer, set *change.Set, now time.Time) error {
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
	if set.Mendable() {
		_, err = fmt.Fprintf(w, "  restore it: fullbore confirm %s --persist\n", set.ID)
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
