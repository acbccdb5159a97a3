package collector

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// Assume gives the facts of a host on which every tunable has its version's default,
// and may be changed. The name is of a system
// with a version behind it or not, as tunable.Find takes it: "solaris10",
// "windows2003", "linux2.4", "macos10.4", "illumos", "rhel7". Without a version
// it is the newest one in the catalogue. Memory is in bytes, 0 if it is not
// known. Tunables of an interface, a mount or a route are left out, since it is not
// known which ones the host has; so are those whose default the catalogue does not
// know.
func Assume(name string, memory int64) (*host.Facts, error) {
	if memory < 0 {
		return nil, fmt.Errorf("assume facts of %.64q: %d bytes of memory are less than none", name, memory)
	}
	s, version, err := tunable.Find(name)
	if err != nil {
		return nil, fmt.Errorf("assume facts: %w", err)
	}
	version = cmp.Or(version, s.Newest())
	f := &host.Facts{
		Name: strings.ToLower(strings.Join(strings.Fields(name), "")), OS: s.ID, Version: version, Memory: memory,
		Interfaces: []host.Interface{}, Tunables: map[string]string{}, CanChange: true,
	}
	for _, t := range s.Tunables {
		if t.Scope.Instanced() || !t.Applies(version) {
			continue
		}
		if value, ok := t.Default(version); ok {
			f.Tunables[t.Name] = value
		}
	}
	return f, nil
}
