package change

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fullbore/fullbore/sysctld"
	"github.com/fullbore/fullbore/tunable"
)

// homeOf gives the kind of home that keeps the tunable over a boot.
func homeOf(name string) tunable.HomeKind {
	known, ok := lookup(name)
	if !ok {
		return tunable.Nowhere
	}
	return known.Home.Kind
}

// persistable reports, as an error, why the set's values would not be there
// after a boot although our files said so. Nothing is touched.
func (l *ledger) persistable(set *Set) error {
	trial := *set
	trial.State, trial.Persist = Confirmed, true
	for _, v := range trial.persisted() {
		var err error
		switch homeOf(v.Tunable) {
		case tunable.InSysctl:
		case tunable.InUdev:
			err = l.udevServes(&v)
		default:
			err = homeless(&v)
		}
		if err != nil {
			return err
		}
	}
	files, err := l.render(&trial)
	if err != nil {
		return err
	}
	boot := sysctld.Read(l.root, files)
	for i := range boot {
		l.locate(&boot[i])
	}
	for _, v := range trial.persisted() {
		if homeOf(v.Tunable) != tunable.InSysctl {
			continue
		}
		if err := l.effective(boot, &v); err != nil {
			return err
		}
	}
	return nil
}

// locate corrects the line number of what someone else wrote into our file: what
// is read is the file as it would be, what people see is the one that is there.
func (l *ledger) locate(a *sysctld.Assignment) {
	if a.File != "/"+sysctlFile {
		return
	}
	for _, now := range sysctld.ReadFile(l.root, sysctlFile) {
		if now.Key == a.Key && now.Value == a.Value && now.Negative == a.Negative {
			a.Line = now.Line
		}
	}
}

// effective reports, as an error, that a boot would make something else of the
// value than the set.
func (l *ledger) effective(boot sysctld.Settings, v *Value) error {
	const todo = "take that line out and confirm with --persist again; without --persist it is kept until the next boot"
	switch a := boot.Of(v.Tunable); {
	case a == nil:
		return fmt.Errorf("%w: nothing would set %s at boot, although /%s does", ErrRefused, v.Tunable, sysctlFile)
	case a.Negative:
		return fmt.Errorf("%w: %s:%d says that %s must not be set at boot, after /%s: %s", ErrRefused, a.File, a.Line, v.Tunable, sysctlFile, todo)
	case a.Value != v.New:
		return fmt.Errorf("%w: %s:%d sets %s to %q at boot, after /%s: %s", ErrRefused, a.File, a.Line, v.Tunable, a.Value, sysctlFile, todo)
	}
	if l.bootedBySystemd() {
		return nil
	}
	if a := l.conf().Of(v.Tunable); a != nil && !a.Negative && a.Value != v.New {
		return fmt.Errorf("%w: %s:%d sets %s to %q at boot, and without systemd that file is read last: %s", ErrRefused, a.File, a.Line, v.Tunable, a.Value, todo)
	}
	return nil
}

// byHand says which of the set's values "sysctl --system" sets differently: it
// reads one file more than a boot does.
func (l *ledger) byHand(set *Set) string {
	var notes string
	conf := l.conf()
	for _, v := range set.persisted() {
		if a := conf.Of(v.Tunable); homeOf(v.Tunable) == tunable.InSysctl && a != nil && !a.Negative && a.Value != v.New {
			notes = sentence(notes, fmt.Sprintf("%s:%d sets %s to %q when someone runs sysctl --system", a.File, a.Line, v.Tunable, a.Value))
		}
	}
	return notes
}

// conf is what sysctl.conf alone says.
func (l *ledger) conf() sysctld.Settings {
	return sysctld.ReadFile(l.root, sysctld.Conf).Merged()
}

// bootedBySystemd is sd_booted(3).
func (l *ledger) bootedBySystemd() bool {
	info, err := os.Lstat(filepath.Join(l.root, "run/systemd/system"))
	return err == nil && info.IsDir()
}

// homeless says why a tunable cannot be persisted, and who can.
func homeless(v *Value) error {
	do := "without --persist it is kept until the next boot"
	if known, ok := lookup(v.Tunable); ok && known.Persist != "" {
		_, instance := tunable.Split(v.Tunable)
		do += "; to keep it for good, do this by hand: " + known.Fill(v.Tunable, v.New, instance).Persist
	}
	return fmt.Errorf("%w: fullbore does not keep %s over a reboot; %s", ErrRefused, v.Tunable, do)
}
