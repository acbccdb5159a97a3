package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// risk is what the catalogue says of changing a tunable.
func risk(h *host.Facts, name string) string {
	if t, ok := tunable.Lookup(h.OS, name); ok {
		return t.Risk
	}
	return ""
}

// risks are all warnings to give before a step is made: its own, when its
// changes begin to count, and what they interrupt.
func (m *maker) risks(s Step) string {
	return strings.Join(slices.DeleteFunc([]string{s.Risk, m.counts(s), m.interrupts(s)}, func(text string) bool { return text == "" }), " ")
}

// occasions are what has to happen for a change to count, where that is not at
// once for new connections.
var occasions = []struct {
	effect tunable.Effect
	needs  string
}{
	{tunable.NewMounts, "the next mount"},
	{tunable.RestartService, "the next restart of the service"},
	{tunable.RestartInterface, "the next restart of the interface"},
	{tunable.Reboot, "the next reboot"},
}

// counts says of changes that do not count at once from when on they do.
func (m *maker) counts(s Step) string {
	var all []string
	for _, o := range occasions {
		var names []string
		for _, c := range s.Changes {
			if t := m.entry(c); t != nil && t.Effect == o.effect && !slices.Contains(names, c.Tunable) {
				names = append(names, c.Tunable)
			}
		}
		switch len(names) {
		case 0:
		case 1:
			all = append(all, fmt.Sprintf("%s counts from %s on.", names[0], o.needs))
		default:
			all = append(all, fmt.Sprintf("%s count from %s on.", strings.Join(names, ", "), o.needs))
		}
	}
	return strings.Join(all, " ")
}

// interrupts says of a step that it can interrupt the network.
func (m *maker) interrupts(s Step) string {
	for _, c := range s.Changes {
		if t := m.entry(c); t != nil && t.Bounces {
			return fmt.Sprintf("Setting %s can take the link down for a moment, and with it the connection to the host: apply it only under the watchdog, which puts it back unless confirmed.", c.Tunable)
		}
	}
	return ""
}

// entry is what the catalogue has of a change's tunable, nil if nothing.
func (m *maker) entry(c Change) *tunable.Tunable {
	if h := m.HostOf(c); h != nil {
		if t, ok := tunable.Lookup(h.OS, c.Tunable); ok {
			return t
		}
	}
	return nil
}
