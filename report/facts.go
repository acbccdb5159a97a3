package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// Facts writes what is known of a host.
func Facts(w io.Writer, f *host.Facts) {
	t := &table{w: w}
	t.row("host", fmt.Sprintf("%s: %s %s (%s), %s", f.Name, f.OS, f.Version, f.Arch, f.Distribution))
	t.row("machine", fmt.Sprintf("%d CPUs %s, %s of memory", f.CPUs, f.CPUModel, unit.Size(f.Memory)))
	if f.Forwards {
		t.row("role", "forwards packets: a router or firewall is not tuned")
	}
	for i, n := range f.Interfaces {
		state := "down"
		if n.Up {
			state = "up"
		}
		speed := "speed unknown"
		if n.Speed > 0 {
			speed = fmt.Sprintf("%d Mb/s %s duplex", n.Speed, n.Duplex)
		}
		t.row(first(i, "interfaces"), fmt.Sprintf("%s: %s, MTU %d, %s %s", n.Name, state, n.MTU, speed, strings.Join(n.Addresses, " ")))
	}
	for i, name := range slices.Sorted(maps.Keys(f.Tunables)) {
		note := ""
		if slices.Contains(f.ReadOnly, name) {
			note = "  (cannot be set here)"
		}
		t.row(first(i, "tunables"), fmt.Sprintf("%s = %s%s", name, f.Tunables[name], note))
	}
	if !f.CanChange {
		t.row("changes", "not possible: "+f.WhyNot)
	}
}
