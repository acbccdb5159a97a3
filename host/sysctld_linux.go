package host

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/tunable"
)

// SysctlFile is a file with settings for every boot.
type SysctlFile struct {
	Path   string
	Values map[string]string // by the tunable's name, blanks normalised
}

// sysctlDirs are where a boot looks for them, the first before the others
// (sysctl.d(5)).
var sysctlDirs = []string{"etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d"}

// SysctlFiles reads the files under a root directory, in the order in which a
// boot does: by name, whatever their directory; of two with one name, that of the
// first directory counts.
func SysctlFiles(root string) []SysctlFile {
	paths := map[string]string{}
	for _, dir := range slices.Backward(sysctlDirs) {
		found, _ := filepath.Glob(filepath.Join(root, dir, "*.conf"))
		for _, path := range found[:min(len(found), maxFiles)] {
			paths[filepath.Base(path)] = path
		}
	}
	var files []SysctlFile
	for _, name := range sorted(paths) {
		files = append(files, readSysctls(paths[name]))
	}
	return files
}

// readSysctls reads one file; what it cannot read, a boot cannot either. Patterns
// stay as they are: a name that is written out comes before them.
func readSysctls(path string) SysctlFile {
	text, _ := readBounded(path)
	return SysctlFile{path, parseSysctls(text)}
}

func parseSysctls(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		name = strings.TrimPrefix(strings.TrimSpace(name), "-") // "may fail"
		values[dotted(name)] = tunable.Normalise(value)
	}
	return values
}

// dotted writes a name with dots between its parts. Names may be written with
// either separator; the first one met says which (sysctl.d(5)).
func dotted(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		return strings.NewReplacer("/", ".", ".", "/").Replace(name)
	}
	return name
}

// ownFile is what this program keeps its settings in.
const ownFile = "99-zz-fullbore.conf"

// hardening are parts of the names of files that hardening roles write, and
// write again at their next run.
var hardening = []string{"harden", "devsec", "dev-sec", "stig", "cis-", "-cis", "security"}

// sysctlManagers are files with settings that win over ours: those that a boot
// reads later, /etc/sysctl.conf, which "sysctl --system" reads last, and those of
// hardening roles.
func (r root) sysctlManagers() []Manager {
	var found []Manager
	add := func(file SysctlFile) {
		if sets := knownOf(file.Values); sets != "" {
			found = append(found, Manager{Name: brief(r.shown(file.Path)), Sets: sets})
		}
	}
	for _, file := range SysctlFiles(string(r)) {
		name := filepath.Base(file.Path)
		hardens := slices.ContainsFunc(hardening, func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
		if name != ownFile && (name > ownFile || hardens) {
			add(file)
		}
	}
	add(readSysctls(filepath.Join(string(r), "etc/sysctl.conf")))
	return found
}

// knownOf says which of the catalogue's tunables are set, and to what.
func knownOf(values map[string]string) string {
	const most = 6
	var sets []string
	for _, name := range sorted(values) {
		if _, ok := tunable.Lookup("linux", name); ok {
			sets = append(sets, name+" = "+values[name])
		}
	}
	if len(sets) > most {
		sets = append(sets[:most], fmt.Sprintf("%d more", len(sets)-most))
	}
	return brief(strings.Join(sets, ", "))
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
