package change

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// udevRule is the rule that gives the interface its value when it appears; ""
// if the catalogue has none, or the interface no hardware address. The
// catalogue's rules find the interface by its name; ours by its hardware address,
// since names are given anew at every boot.
func udevRule(v *Value) string {
	known, ok := lookup(v.Tunable)
	if !ok || known.Home.Kind != tunable.InUdev || v.Device == nil || v.Device.MAC == "" {
		return ""
	}
	// A dollar is udev's own sign (udev(7), "Substitutions"), unless there are two.
	action := strings.ReplaceAll(strings.ReplaceAll(known.Home.Line, "$$", "$"), "$", "$$")
	action = tunable.Fill(action, v.Tunable, v.New, "$name")
	// Devices with a driver only: bonds, bridges and VLANs bear the address of
	// the interface below them.
	return fmt.Sprintf(`ACTION=="add", SUBSYSTEM=="net", DRIVERS=="?*", ATTR{address}=="%s", %s`, v.Device.MAC, action)
}

// udevServes reports, as an error, why a rule would not set the value at boot.
func (l *ledger) udevServes(v *Value) error {
	_, name := tunable.Split(v.Tunable)
	rule := udevRule(v)
	under := func(path string) bool {
		_, err := os.Stat(filepath.Join(l.root, path))
		return err == nil
	}
	var why string
	switch {
	case rule == "":
		why = name + " has no hardware address to recognise it by"
	case !under("sys/class/net/" + name + "/device/driver"):
		why = name + " is created by software, which has to set it too"
	case !under("usr/lib/udev") && !under("lib/udev"):
		why = "this host has no udev"
	default:
		// The rule names the program with its path, as udev wants it.
		if _, run, ok := strings.Cut(rule, `RUN+="`); ok {
			if program, _, _ := strings.Cut(run, " "); !under(program) {
				why = fmt.Sprintf("%s, which would set it at boot, is not there: install it, or", program)
			}
		}
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("%w: %s cannot be kept over a reboot: %s; without --persist it is kept until the next boot", ErrRefused, v.Tunable, why)
}
