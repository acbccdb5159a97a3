package host

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/sysctld"
	"github.com/fullbore/fullbore/tunable"
)

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
	for _, path := range append(sysctld.Files(string(r), nil), sysctld.Conf) {
		name := filepath.Base(path)
		hardens := slices.ContainsFunc(hardening, func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
		if path != sysctld.Conf && !hardens && name <= ownFile {
			continue
		}
		if sets := knownOf(sysctld.ReadFile(string(r), path)); sets != "" {
			found = append(found, Manager{Name: brief("/" + path), Sets: sets})
		}
		if len(found) == maxFiles {
			break
		}
	}
	return found
}

// knownOf says which of the catalogue's tunables are set, and to what. Patterns
// are left out: a name that is written out comes before them.
func knownOf(settings sysctld.Settings) string {
	const most = 6
	var sets []string
	for _, a := range settings.Merged() {
		if _, ok := tunable.Lookup("linux", a.Name()); ok && !a.Negative {
			sets = append(sets, a.Name()+" = "+a.Value)
		}
	}
	slices.Sort(sets)
	if len(sets) > most {
		sets = append(sets[:most], fmt.Sprintf("%d more", len(sets)-most))
	}
	return brief(strings.Join(sets, ", "))
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
