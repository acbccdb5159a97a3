package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// Facts writes what is known of a host.
func Facts(w io.Writer, f *host.Facts) {
	t := &sheet{w: w}
	t.entry("host", describeHost(f))
	t.entry("machine", describeMachine(f))
	if f.Forwards {
		t.entry("role", "forwards packets: a router or firewall is not tuned")
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
		t.entry(first(i, "interfaces"), fmt.Sprintf("%s: %s, MTU %d, %s", n.Name, state, n.MTU, speed)+particular(n)+addresses(n))
	}
	fixed := map[string]bool{}
	for _, name := range f.ReadOnly {
		fixed[name] = true
	}
	of := map[string][]string{} // of an interface, a mount or a route: a row each
	rows := 0
	for _, name := range slices.Sorted(maps.Keys(f.Tunables)) {
		if base, instance := tunable.Split(name); instance != "" {
			one := base + "=" + f.Tunables[name] // in one word, which is not taken apart at the end of a line
			if fixed[name] {
				one += " (cannot be set here)"
			}
			of[instance] = append(of[instance], one)
			continue
		}
		note := ""
		if fixed[name] {
			note = "  (cannot be set here)"
		}
		t.entry(first(rows, "tunables"), fmt.Sprintf("%s = %s%s", name, f.Tunables[name], note))
		rows++
	}
	for _, instance := range slices.Sorted(maps.Keys(of)) {
		t.entry(first(rows, "tunables"), fmt.Sprintf("of %s: %s", instance, strings.Join(of[instance], ", ")))
		rows++
	}
	for i, m := range f.Managers {
		text := m.Name
		if m.Sets != "" {
			text += ": " + m.Sets
		}
		t.entry(first(i, "managers"), text)
	}
	if !f.CanChange {
		t.entry("changes", "not possible"+because(f.WhyNot))
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func addresses(n host.Interface) string {
	if len(n.Addresses) == 0 {
		return ""
	}
	return ", " + strings.Join(n.Addresses, " ")
}

// describeHost leaves out what is not known of a host that is not at hand.
func describeHost(f *host.Facts) string {
	text := fmt.Sprintf("%s: %s %s", f.Name, f.OS, f.Version)
	if f.Arch != "" {
		text += " (" + f.Arch + ")"
	}
	if f.Distribution != "" {
		text += ", " + f.Distribution
	}
	return text
}

func describeMachine(f *host.Facts) string {
	cpus, memory := "CPUs unknown", "memory unknown"
	if f.CPUs > 0 {
		cpus = strings.TrimSpace(fmt.Sprintf("%d CPUs %s", f.CPUs, f.CPUModel))
	}
	if f.Memory > 0 {
		memory = fmt.Sprintf("%s of memory", unit.Size(f.Memory))
	}
	return cpus + ", " + memory
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
