package change

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// home is the kind of file that keeps a tunable over a boot.
type home int

// The homes.
const (
	nowhere  home = iota // fullbore keeps it nowhere
	inSysctl             // sysctl.d(5)
	inUdev               // udev(7), when the device appears
)

// homeOf reads in the catalogue which of our files keeps the tunable.
func homeOf(name string) home {
	known, ok := lookup(name)
	switch {
	case !ok:
		return nowhere
	case strings.Contains(known.Persist, "/"+sysctlFile):
		return inSysctl
	case strings.Contains(known.Persist, "/"+udevFile):
		return inUdev
	}
	return nowhere
}

// persistable reports, as an error, why the set's values would not be there
// after a boot although our files said so. Nothing is touched.
func (l *ledger) persistable(set *Set) error {
	trial := *set
	trial.State, trial.Persist = Confirmed, true
	for _, v := range trial.persisted() {
		var err error
		switch homeOf(v.Tunable) {
		case inSysctl:
		case inUdev:
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
	boot := readBoot(l.root, files)
	for i := range boot {
		l.locate(&boot[i])
	}
	for _, v := range trial.persisted() {
		if homeOf(v.Tunable) != inSysctl {
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
func (l *ledger) locate(a *assignment) {
	if a.file != "/"+sysctlFile {
		return
	}
	for _, now := range parseSettings(a.file, string(readSettings(filepath.Join(l.root, sysctlFile)))) {
		if now.key == a.key && now.value == a.value && now.negative == a.negative {
			a.line = now.line
		}
	}
}

// effective reports, as an error, that a boot would make something else of the
// value than the set.
func (l *ledger) effective(boot bootSettings, v *Value) error {
	const todo = "take that line out and confirm again with --persist, or confirm without it: then the value is kept until the next boot"
	switch a := boot.of(v.Tunable); {
	case a == nil:
		return fmt.Errorf("%w: nothing would set %s at boot, although /%s does", ErrRefused, v.Tunable, sysctlFile)
	case a.negative:
		return fmt.Errorf("%w: %s:%d says that %s is not to be set at boot, after /%s: %s", ErrRefused, a.file, a.line, v.Tunable, sysctlFile, todo)
	case a.value != v.New:
		return fmt.Errorf("%w: %s:%d sets %s to %q at boot, after /%s: %s", ErrRefused, a.file, a.line, v.Tunable, a.value, sysctlFile, todo)
	}
	if l.bootedBySystemd() {
		return nil
	}
	if a := l.conf().of(v.Tunable); a != nil && !a.negative && a.value != v.New {
		return fmt.Errorf("%w: %s:%d sets %s to %q at boot, and without systemd that file is read last: %s", ErrRefused, a.file, a.line, v.Tunable, a.value, todo)
	}
	return nil
}

// byHand says which of the set's values "sysctl --system" sets differently: it
// reads one file more than a boot does.
func (l *ledger) byHand(set *Set) string {
	var notes string
	conf := l.conf()
	for _, v := range set.persisted() {
		if a := conf.of(v.Tunable); homeOf(v.Tunable) == inSysctl && a != nil && !a.negative && a.value != v.New {
			notes = sentence(notes, fmt.Sprintf("%s:%d sets %s to %q when someone runs sysctl --system", a.file, a.line, v.Tunable, a.value))
		}
	}
	return notes
}

// conf is what sysctl.conf alone says.
func (l *ledger) conf() bootSettings {
	var all bootSettings
	for _, a := range parseSettings("/"+sysctlConf, string(readSettings(filepath.Join(l.root, sysctlConf)))) {
		all = all.with(a)
	}
	return all
}

// bootedBySystemd is sd_booted(3).
func (l *ledger) bootedBySystemd() bool {
	info, err := os.Lstat(filepath.Join(l.root, "run/systemd/system"))
	return err == nil && info.IsDir()
}

// homeless says why a tunable cannot be persisted, and who can.
func homeless(v *Value) error {
	do := "confirm without --persist: then it is kept until the next boot"
	if known, ok := lookup(v.Tunable); ok && known.Persist != "" {
		_, instance := tunable.Split(v.Tunable)
		do += "; for good, this is to be done by hand: " + known.Fill(v.Tunable, v.New, instance).Persist
	}
	return fmt.Errorf("%w: fullbore does not keep %s over a reboot; %s", ErrRefused, v.Tunable, do)
}
