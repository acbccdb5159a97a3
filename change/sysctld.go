package change

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// sysctlDirs are where settings for every boot are looked for, the first
// before the others (sysctl.d(5)).
var sysctlDirs = []string{"etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d"}

// maxSettings bounds how much of a settings file is read, in bytes.
const maxSettings = 1 << 20

// overridden says which of the set's values another file sets differently
// after ours, so that they will not be there after a boot.
func (l *ledger) overridden(set *Set) string {
	var notes []string
	last := map[string]setting{}
	for _, file := range settingFiles(l.root) {
		maps.Copy(last, readSettings(file))
	}
	// Not read at boot unless 99-sysctl.conf points to it, but by "sysctl --system".
	byHand := readSettings(filepath.Join(l.root, "etc/sysctl.conf"))
	for _, v := range set.persisted() {
		if at := last[v.Tunable]; at.value != v.New {
			notes = append(notes, fmt.Sprintf("%s sets %s to %q at boot, after ours", at.file, v.Tunable, at.value))
		} else if at, ok := byHand[v.Tunable]; ok && at.value != v.New {
			notes = append(notes, fmt.Sprintf("%s sets %s to %q when someone runs sysctl --system", at.file, v.Tunable, at.value))
		}
	}
	return strings.Join(notes, "; ")
}

// settingFiles gives the files in the order in which a boot reads them: by
// name, whatever their directory; of two with one name, that of the first
// directory counts.
func settingFiles(root string) []string {
	files := map[string]string{}
	for _, dir := range slices.Backward(sysctlDirs) {
		found, _ := filepath.Glob(filepath.Join(root, dir, "*.conf"))
		for _, path := range found {
			files[filepath.Base(path)] = path
		}
	}
	var ordered []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		ordered = append(ordered, files[name])
	}
	return ordered
}

// setting is a value and the file that has it.
type setting struct{ value, file string }

// readSettings reads one file; what it cannot read, a boot cannot either.
// Patterns are left out: a name that is written out comes before them.
func readSettings(path string) map[string]setting {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSettings))
	if err != nil {
		return nil
	}
	settings := map[string]setting{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		name = strings.TrimPrefix(strings.TrimSpace(name), "-") // "may fail"
		settings[dotted(name)] = setting{tunable.Normalise(value), path}
	}
	return settings
}

// dotted writes a name with dots between its parts. Names may be written with
// either separator; the first one met says which (sysctl.d(5)).
func dotted(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		return strings.NewReplacer("/", ".", ".", "/").Replace(name)
	}
	return name
}
