package plan

import (
	"fmt"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// number64 is a size as a tunable's value.
func number64(size unit.Size) string { return fmt.Sprint(int64(size)) }

// present is a tunable's value in bytes, 0 if the host does not tell.
func present(h *host.Facts, name string) unit.Size { return unit.Size(number(h.Tunables[name], 0)) }

// has says whether a tunable exists in a host's version of its system.
func has(h *host.Facts, name string) bool {
	t, ok := tunable.Lookup(h.OS, name)
	return ok && t.Applies(h.Version)
}

// from says whether a host's version is at least this one; one that cannot be
// read is taken for a current one.
func from(h *host.Facts, version string) bool {
	return (&tunable.Tunable{Since: version}).Applies(h.Version)
}
