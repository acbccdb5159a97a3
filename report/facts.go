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
			if n.Autoneg == "off" {
				speed += " (fixed)"
			}
		}
		t.row(first(i, "interfaces"), strings.Join(append([]string{fmt.Sprintf("%s: %s, MTU %d, %s", n.Name, state, n.MTU, speed)}, n.Addresses...), " ")+particular(n))
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

// particular is what matters of an interface's queues and offloads: rates that
// limit it, and what is switched off although it spares work.
func particular(n host.Interface) string {
	var b strings.Builder
	for _, q := range n.Qdiscs {
		if q.Rate > 0 {
			each := ""
			if q.PerFlow {
				each = " for each flow"
			}
			fmt.Fprintf(&b, ", %s lets %v pass%s", q.Kind, q.Rate, each)
		}
	}
	var off []string
	for _, name := range host.Offloads {
		if on, known := n.Offloads[name]; known && !on && name != "lro" { // lro is off wherever gro does its work
			off = append(off, name)
		}
	}
	if len(off) > 0 && n.Driver != "" {
		fmt.Fprintf(&b, ", offloads off: %s", strings.Join(off, " "))
	}
	return b.String()
}
