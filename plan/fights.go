package plan

import (
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// aboutOthers warns of what sets tunables of a host too, and may undo the plan.
func (m *maker) aboutOthers() {
	for _, h := range m.hosts() {
		changed := m.changed(h)
		for _, other := range h.Managers {
			if !concerns(h, other, changed) {
				continue
			}
			sets := ""
			if other.Sets != "" {
				sets = " (" + other.Sets + ")"
			}
			m.note("%s sets tunables on %s too%s, and may set these back: %s.", other.Name, h.Name, sets, remedy(other.Name))
		}
	}
}

// changed are the tunables that are planned for a host, without their instances.
func (m *maker) changed(h *host.Facts) []string {
	var names []string
	for _, i := range m.ideas {
		for _, c := range i.Changes {
			if base, _ := tunable.Split(c.Tunable); m.HostOf(c) == h && !slices.Contains(names, base) {
				names = append(names, base)
			}
		}
	}
	return names
}

// concerns says whether another one may set what is changed: one that tells which
// tunables of the catalogue it sets only sets those.
func concerns(h *host.Facts, other host.Manager, changed []string) bool {
	named := func(name string) bool { return strings.Contains(other.Sets, name) }
	switch {
	case len(changed) == 0:
		return false
	case slices.ContainsFunc(changed, named):
		return true
	case strings.Contains(other.Name, "irqbalance"):
		return slices.Contains(changed, "link.rps_cpus") || slices.Contains(changed, "link.channels.combined")
	}
	all, err := tunable.Of(h.OS)
	return err != nil || !slices.ContainsFunc(all.Tunables, func(t tunable.Tunable) bool { return named(t.Name) })
}

// AddRemedy says what to do about another program that sets tunables, by a part of
// its name in small letters: the formats of package format add their own programs
// when they are registered.
func AddRemedy(name, do string) {
	remedies = append([]other{{name, do}}, remedies...)
}

// other is a program that sets tunables by itself, and what to do about it.
type other struct{ name, do string }

// remedies are for those that no format writes plans for.
var remedies = []other{
	{"bpftune", "it stops tuning what somebody else sets, until it is started again; let either it or this plan have TCP's buffers"},
	{"group policy", "a policy wins over local settings (Get-NetTCPSetting shows both); change it there, or nothing stays"},
	{"heuristics", "netsh interface tcp set heuristics disabled keeps Windows from changing receive autotuning by itself"},
	{"harden", "hardening roles set TCP timestamps and others again at their next run; put the values into the role's variables"},
	{"sysctl", "the file that sorts last wins (sysctl.d(5)); put the values there, or take the older lines out"},
	{"networkmanager", "put what belongs to an interface into its connection (nmcli: ethtool.*, 802-3-ethernet.mtu)"},
	{"networkd", "put what belongs to an interface into its .link or .network file"},
	{"netplan", "put what belongs to an interface into netplan's files"},
	{"irqbalance", "it moves the interrupts of network cards again; --banirq makes it leave some alone"},
	{"power-profiles", "it sets the CPU governor again; choose its profile performance (powerprofilesctl set performance)"},
	{"puppet", "put the values into what it manages"},
	{"chef", "put the values into what it manages"},
	{"salt", "put the values into what it manages"},
	{"autotune", "it makes its tunables again at boot; change their description so that it leaves them alone"},
}

func remedy(name string) string {
	name = strings.ToLower(name)
	for _, r := range remedies {
		if strings.Contains(name, r.name) {
			return r.do
		}
	}
	return "make it set these values, or make it leave them alone"
}

// aboutObsolete says of each tunable that somebody has set although it has no
// effect in this version, that it has none: it would be the first to be tried.
func (m *maker) aboutObsolete() {
	for _, h := range m.hosts() {
		all, err := tunable.Of(h.OS)
		if err != nil {
			continue
		}
		for i := range all.Tunables {
			t := &all.Tunables[i]
			value, has := h.Tunables[t.Name]
			if !has || t.Obsolete == "" || t.In(h.Version) != tunable.Obsolete || usual(t, value) {
				continue
			}
			m.note("%s is %s on %s, where it does nothing: it is %s.", t.Name, tunable.Normalise(value), h.Name, sentence(t.WhyNot(h.Version)))
		}
	}
}

// usual says whether a value is the default of some version: it was not set.
func usual(t *tunable.Tunable, value string) bool {
	return slices.ContainsFunc(t.Defaults, func(d tunable.Default) bool {
		return tunable.Normalise(d.Value) == tunable.Normalise(value)
	})
}
