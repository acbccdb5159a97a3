package mounted

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Edit is a change of a line that is to be made by hand.
type Edit struct {
	File     string
	Line     int // the first one is 1
	Old, New string
}

// Diff is the change as patch(1) takes it.
func (e *Edit) Diff() string {
	return fmt.Sprintf("--- %[1]s\n+++ %[1]s\n@@ -%[2]d +%[2]d @@\n-%[3]s\n+%[4]s\n", e.File, e.Line, e.Old, e.New)
}

// Keeps finds what mounts the place at boot below root (/), in /etc/fstab or a unit of systemd in
// /etc/systemd/system, and gives how its line is to read with an option; nil: nothing there
// mounts it, or it has that option already.
func (p *Place) Keeps(root, option, value string) *Edit {
	if e := edit(root, "/etc/fstab", func(line string) (string, bool) { return p.fstab(line, option, value) }); e != nil {
		return e
	}
	units, _ := filepath.Glob(filepath.Join(root, "etc/systemd/system/*.mount")) // the pattern is a good one
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil || !slices.ContainsFunc(strings.Split(string(text), "\n"), p.where) {
			continue
		}
		e := edit(root, strings.TrimPrefix(unit, strings.TrimSuffix(root, "/")), func(line string) (string, bool) {
			options, ok := strings.CutPrefix(line, "Options=")
			return "Options=" + withOption(options, option, value), ok
		})
		if e != nil {
			return e
		}
	}
	return nil
}

// where says whether a line of a unit names the place (systemd.mount(5), Where=).
func (p *Place) where(line string) bool {
	key, value, _ := strings.Cut(line, "=")
	return strings.TrimSpace(key) == "Where" && strings.TrimSpace(value) == p.Point
}

// edit is the first line of a file that is to read otherwise.
func edit(root, file string, change func(string) (string, bool)) *Edit {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil || len(text) > mostBytes {
		return nil
	}
	for i, line := range strings.Split(string(text), "\n") {
		if to, ok := change(line); ok && to != line {
			return &Edit{file, i + 1, line, to}
		}
	}
	return nil
}

// mostBytes of a file that people write.
const mostBytes = 1 << 20

// fstab is a line of fstab(5) with an option, if it mounts the place.
func (p *Place) fstab(line, option, value string) (string, bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || strings.HasPrefix(fields[0], "#") || fields[1] != escaped.Replace(p.Point) || !strings.HasPrefix(fields[2], "nfs") {
		return line, false
	}
	at := 0 // of the fourth field
	for range 3 {
		at += len(line[at:]) - len(strings.TrimLeft(line[at:], " \t"))
		at += strings.IndexAny(line[at:], " \t")
	}
	at += len(line[at:]) - len(strings.TrimLeft(line[at:], " \t"))
	return line[:at] + withOption(fields[3], option, value) + line[at+len(fields[3]):], true
}

// escaped are the characters that fstab(5) writes as three octal digits.
var escaped = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// withOption is a list of options with one of them at a value.
func withOption(options, name, value string) string {
	list := slices.DeleteFunc(strings.Split(options, ","), func(o string) bool {
		key, _, _ := strings.Cut(o, "=")
		return key == name || o == ""
	})
	return strings.Join(append(list, name+"="+value), ",")
}
