package change

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// dropIn is the file that settings which outlive a boot are kept in. Files of
// sysctl.d(5) are read in the order of their names, and this one comes after
// 99-sysctl.conf, which is the administrator's /etc/sysctl.conf.
const dropIn = "etc/sysctl.d/99-zz-fullbore.conf"

// publish makes the drop-in say what all confirmed and persisted sets say. The
// result puts the file back as it was.
func (l *ledger) publish() (restore func() error, err error) {
	path := filepath.Join(l.root, dropIn)
	former, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err == nil && !bytes.HasPrefix(former, []byte(l.heading())) {
		return nil, fmt.Errorf("%w: %s is not made from the change sets in %s: move it away, or use the FULLBORE_STATE that it was made with", ErrRefused, path, l.dir)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make directory for settings: %w", err)
	}
	if err := l.replace(path, l.settings()); err != nil {
		return nil, err
	}
	return func() error { return l.replace(path, former) }, nil
}

// withdraw takes out of the drop-in what no confirmed and persisted set says
// any more. A drop-in of other change sets is left alone.
func (l *ledger) withdraw() error {
	path := filepath.Join(l.root, dropIn)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	want := l.settings()
	if !bytes.HasPrefix(text, []byte(l.heading())) || bytes.Equal(text, want) {
		return nil
	}
	if l.bad != nil { // what it says may be in there
		return fmt.Errorf("cannot tell what is to stay in %s: %w", path, l.bad)
	}
	return l.replace(path, want)
}

// replace writes the file, or removes it when there is nothing to write.
func (l *ledger) replace(path string, text []byte) error {
	if len(text) > 0 {
		if err := l.write(path, text); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // it says "remove" and the path
	}
	return syncDir(filepath.Dir(path))
}

// heading begins every drop-in made from this directory's change sets.
func (l *ledger) heading() string {
	return fmt.Sprintf("# Written by fullbore from the change sets in %s.\n", l.dir)
}

// settings is the text of the drop-in; nothing when no set is persisted. Where
// several sets have the same tunable, the newest counts.
func (l *ledger) settings() []byte {
	newest := map[string]*Set{}
	for _, set := range l.sets {
		for _, v := range set.persisted() {
			newest[v.Tunable] = set
		}
	}
	if len(newest) == 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString(l.heading())
	text.WriteString("# Changes by hand are lost. To undo one: fullbore revert ID\n")
	for _, set := range l.sets {
		heading := fmt.Sprintf("\n# %s, begun %s: %s\n", set.ID, set.Created.UTC().Format(time.DateTime+" UTC"), set.Reason)
		for _, v := range set.persisted() {
			if newest[v.Tunable] != set {
				continue
			}
			text.WriteString(heading)
			heading = ""
			fmt.Fprintf(&text, "%s = %s\n", v.Tunable, v.New)
		}
	}
	return []byte(text.String())
}

// persisted gives the values that are to be set at every boot.
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
