package change

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/sysctld"
	"github.com/fullbore/fullbore/tunable"
)

// The files that values which outlive a boot are kept in. Files of both kinds
// are read in the order of their names, and sysctl's comes after 99-sysctl.conf,
// which is the administrator's /etc/sysctl.conf.
const (
	sysctlFile = "etc/sysctl.d/99-zz-fullbore.conf"
	udevFile   = "etc/udev/rules.d/99-zz-fullbore.rules"
)

// dropIn is one of our files.
type dropIn struct {
	path string
	line func(*Value) string      // "": the value is kept in another file
	form func(line string) string // in which lines that say the same are the same; "": says nothing
}

// dropIns are all of them, in the order in which they are written.
var dropIns = []dropIn{
	{sysctlFile, sysctlLine, sysctlForm},
	{udevFile, udevRule, udevForm},
}

func sysctlLine(v *Value) string {
	if homeOf(v.Tunable) != tunable.InSysctl {
		return ""
	}
	return v.Tunable + " = " + v.New
}

func sysctlForm(line string) string {
	for _, a := range sysctld.Parse("", line) {
		return fmt.Sprint(a.Key, " ", a.Negative, " ", a.Value)
	}
	return ""
}

func udevForm(line string) string {
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
		return ""
	}
	return line
}

// render gives our files as they should be when extra, if it is not nil, stands
// in for the set of its id; by their paths under the root.
func (l *ledger) render(extra *Set) (map[string][]byte, error) {
	sets := slices.Clone(l.sets)
	for i, set := range sets {
		if extra != nil && set.ID == extra.ID {
			sets[i] = extra
		}
	}
	files := map[string][]byte{}
	for _, d := range dropIns {
		former, err := l.former(d)
		if err != nil {
			return nil, err
		}
		files[d.path] = d.text(l.heading(), sets, d.foreign(former, l.sets))
	}
	return files, nil
}

// former is what a file of ours says; nil if it is not there. One that is not
// made from these change sets is an error.
func (l *ledger) former(d dropIn) ([]byte, error) {
	path := filepath.Join(l.root, d.path)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, sysctld.MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if len(text) > sysctld.MaxText { // what is not read would be lost
		return nil, fmt.Errorf("%s is longer than %d bytes: move lines of your own into a file of your own", path, sysctld.MaxText)
	}
	if !bytes.HasPrefix(text, []byte(l.heading())) {
		return nil, fmt.Errorf("%w: %s is not made from the change sets in %s: move it away, or use the FULLBORE_STATE that it was made with", ErrRefused, path, l.dir)
	}
	return text, nil
}

// publish makes our files say what all confirmed and persisted sets say. The
// result puts them back as they were.
func (l *ledger) publish() (restore func() error, err error) {
	files, err := l.render(nil)
	if err != nil {
		return nil, err
	}
	former := map[string][]byte{}
	restore = func() error {
		var failed []error
		for _, d := range slices.Backward(dropIns) {
			was, ok := former[d.path]
			if now, err := l.former(d); !ok || err == nil && bytes.Equal(now, was) {
				continue
			}
			failed = append(failed, l.replace(d.path, was))
		}
		return errors.Join(failed...)
	}
	for _, d := range dropIns {
		was, err := l.former(d)
		if err != nil {
			return nil, errors.Join(err, restore())
		}
		if bytes.Equal(was, files[d.path]) {
			continue
		}
		former[d.path] = was
		if err := l.replace(d.path, files[d.path]); err != nil {
			return nil, errors.Join(err, restore())
		}
	}
	return restore, nil
}

// withdraw takes out of our files what no confirmed and persisted set says any
// more. Files of other change sets are left alone. What a set says whose journal
// cannot be read stays, as lines of someone else do.
func (l *ledger) withdraw() error {
	for _, d := range dropIns {
		text, err := l.former(d)
		if errors.Is(err, ErrRefused) || err == nil && text == nil {
			continue
		}
		if err != nil {
			return err
		}
		want := d.text(l.heading(), l.sets, d.foreign(text, l.sets))
		if bytes.Equal(text, want) {
			continue
		}
		if err := l.replace(d.path, want); err != nil {
			return err
		}
	}
	return nil
}

// published reports whether our files have a line of the set. Of one that is not
// persisted they have it where confirm --persist was cut short.
func (l *ledger) published(set *Set) bool {
	for _, d := range dropIns {
		text, err := l.former(d)
		for i := range set.Values {
			if line := d.line(&set.Values[i]); err == nil && line != "" && d.says(text, line) {
				return true
			}
		}
	}
	return false
}

// replace writes a file under the root, or removes it when there is nothing to
// write.
func (l *ledger) replace(name string, text []byte) error {
	path := filepath.Join(l.root, name)
	if len(text) > 0 {
		if err := makeDir(filepath.Dir(path)); err != nil {
			return fmt.Errorf("make directory for settings: %w", err)
		}
		if err := l.write(path, text); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		return nil
	}
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err // it says "remove" and the path
	}
	return syncDir(filepath.Dir(path))
}

// heading begins every file made from this directory's change sets.
func (l *ledger) heading() string {
	return fmt.Sprintf("# Written by fullbore from the change sets in %s.\n", l.dir)
}

// text is what the file is to say; nothing when no set is persisted. Where
// several sets have the same tunable, the newest counts. Lines of someone else
// stay, and after ours, as if they stood in a file of their own.
func (d dropIn) text(heading string, sets []*Set, foreign []string) []byte {
	newest := map[string]*Set{}
	for _, set := range sets {
		for _, v := range set.persisted() {
			if d.line(&v) != "" {
				newest[v.Tunable] = set
			}
		}
	}
	if len(newest) == 0 && len(foreign) == 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString(heading)
	text.WriteString("# To undo a change: fullbore revert ID. Lines of your own belong into a file of your own.\n")
	for _, set := range sets {
		heading := fmt.Sprintf("\n# %s, begun %s: %s\n", set.ID, set.Created.UTC().Format(time.DateTime+" UTC"), set.Reason)
		for _, v := range set.persisted() {
			if newest[v.Tunable] != set {
				continue
			}
			text.WriteString(heading)
			heading = ""
			text.WriteString(d.line(&v) + "\n")
		}
	}
	if len(foreign) > 0 {
		text.WriteString("\n# Of no change set: someone wrote this here, and it stays.\n")
		text.WriteString(strings.Join(foreign, "\n") + "\n")
	}
	return []byte(text.String())
}

// foreign gives the lines of a file that say what none of the sets that are
// kept, or were just cut short, has ever wanted.
func (d dropIn) foreign(text []byte, sets []*Set) []string {
	ours := map[string]bool{}
	for _, set := range sets {
		for _, v := range set.Values {
			if line := d.line(&v); line != "" && set.Kept() {
				ours[d.form(line)] = true
			}
		}
	}
	var foreign []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if form := d.form(line); line != "" && form != "" && !ours[form] {
			foreign = append(foreign, line)
		}
	}
	return foreign
}

// persisted gives the values to set at every boot.
func (s *Set) persisted() []Value {
	if s.State != Confirmed || !s.Persist {
		return nil
	}
	var values []Value
	for _, v := range s.Values {
		if v.State == Live {
			values = append(values, v)
		}
	}
	return values
}

// says reports whether the file's text has a line that says the same.
func (d dropIn) says(text []byte, line string) bool {
	for other := range strings.Lines(string(text)) {
		if d.form(other) == d.form(line) {
			return true
		}
	}
	return false
}
