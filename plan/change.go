package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// change plans a value for a tunable, unless the host has it already, does not
// have the tunable, or may not change it. Sizes are only ever raised, element by
// element, and what is raised is never set below what the system's version comes
// with. What bounds the tunable (tunable.Tunable.Within) is raised with it where
// that is needed, and comes first in what is returned.
func (m *maker) change(h *host.Facts, name, value, why string) []Change {
	entry := m.settable(h, name)
	if entry == nil {
		return nil
	}
	present := tunable.Normalise(h.Tunables[name])
	value, first := m.bounded(h, entry, name, m.floor(h, entry, present, value))
	value = m.capped(h, name, value)
	if entry.Rising {
		raised, higher := tunable.Raise(present, value)
		if !higher {
			return nil
		}
		value = raised
	}
	if value = tunable.Normalise(value); entry.Same(value, present) {
		return nil
	}
	if h.CanChange && slices.Contains(h.ReadOnly, name) {
		m.note("%s should be %s on %s, but it cannot be set there: %s.", name, value, h.Name, whose[entry.Scope])
		return nil
	}
	if err := entry.Check(value); err != nil {
		m.note("Nothing is planned for %s: %v.", h.Name, err)
		return nil
	}
	return append(first, Change{Role: m.roleOf(h), Host: h.Name, Tunable: name, From: present, To: value, Why: why, Source: source(entry)})
}

// whose says of a scope why a value that belongs to it may be read-only.
var whose = map[tunable.Scope]string{
	tunable.OfHost:      "it belongs to the machine, not to this network namespace",
	tunable.OfNamespace: "it belongs to the machine, not to this network namespace",
	tunable.OfInterface: "the interface or its driver does not take it, or that end does not take it over the network (fullbore serve --allow-link-changes)",
	tunable.OfMount:     "a mount keeps what it was made with",
	tunable.OfRoute:     "the route is somebody else's, or that end does not take it over the network (fullbore serve --allow-link-changes)",
}

// settable gives a tunable's entry if the host has it and it may be changed, and
// notes why not otherwise.
func (m *maker) settable(h *host.Facts, name string) *tunable.Tunable {
	entry, known := tunable.Lookup(h.OS, name)
	_, has := h.Tunables[name]
	switch {
	case known && entry.In(h.Version) == tunable.Obsolete && entry.Obsolete != "":
		m.note("%s is not set on %s: it is %s.", name, h.Name, sentence(entry.WhyNot(h.Version)))
	case !known || !has || !entry.Applies(h.Version):
		m.note("%s does not have %s, or it has no effect there.", h.Name, name)
	case entry.Leave != "":
		m.note("%s is left alone on %s: %s.", name, h.Name, sentence(entry.Leave))
	default:
		return entry
	}
	return nil
}

// sentence is text of the catalogue inside of a longer sentence.
func sentence(text string) string { return strings.TrimRight(strings.TrimSpace(text), ".") }

// floor is the value wanted, with the elements that it raises raised at least to
// what the system's version comes with (never below a default: TuneD's 16 MB
// lowered the 32 MB of Linux 6.16), as far as memory allows that.
func (m *maker) floor(h *host.Facts, entry *tunable.Tunable, present, wanted string) string {
	usual, ok := entry.Default(h.Version)
	now, want, least := elements(present), elements(wanted), elements(usual)
	if !entry.Rising || !ok || len(now) != len(want) || len(least) != len(want) {
		return wanted
	}
	for i := range want {
		if want[i] <= now[i] {
			continue
		}
		if bound := int64(m.bound(h)); entry.Unit == inBytes && bound > 0 {
			least[i] = min(least[i], bound)
		}
		want[i] = max(want[i], least[i])
	}
	return joined(want)
}

// bounded is a value within what bounds the tunable, with the changes that raise
// the bound first.
func (m *maker) bounded(h *host.Facts, entry *tunable.Tunable, name, value string) (string, []Change) {
	bound, most := boundary(h, entry, name)
	wanted := greatest(value)
	if most <= 0 || wanted <= most {
		return value, nil
	}
	if entry.Rising && wanted <= greatest(h.Tunables[name]) { // it is above its bound already, and is not raised
		return value, nil
	}
	limit := wanted
	if outer, ok := tunable.Lookup(h.OS, bound); ok {
		limit = min(limit, outer.Max)
	}
	first := m.change(h, bound, withLast(h.Tunables[bound], limit), fmt.Sprintf("%s may not be above it", name))
	if len(first) > 0 {
		most = greatest(first[len(first)-1].To)
	}
	if wanted <= most {
		return value, first
	}
	m.note("%s on %s is planned as %d instead of %d, since %s cannot be higher.", name, h.Name, most, wanted, bound)
	capped := elements(value)
	for i := range capped {
		capped[i] = min(capped[i], most)
	}
	return joined(capped), first
}

// capped is a value within what the device takes (host.Facts.Most). It is not
// lowered below what is there.
func (m *maker) capped(h *host.Facts, name, value string) string {
	most, wanted := h.Most[name], greatest(value)
	if most <= 0 || wanted <= most {
		return value
	}
	if now := greatest(h.Tunables[name]); now >= most {
		m.note("%s on %s stays at %d instead of %d: its device takes no more.", name, h.Name, now, wanted)
		return withLast(value, now)
	}
	m.note("%s on %s is planned as %d instead of %d: its device takes no more.", name, h.Name, most, wanted)
	return withLast(value, most)
}

// boundary is the tunable that bounds another one on a host, and its value: that
// of the same interface or mount if there is such a one. 0: there is none, or its
// value is no number.
func boundary(h *host.Facts, entry *tunable.Tunable, name string) (bound string, most int64) {
	if entry.Within == "" {
		return "", 0
	}
	_, instance := tunable.Split(name)
	for _, bound := range []string{tunable.Join(entry.Within, instance), entry.Within} {
		// What the host does not have is no value either.
		if outer, known := tunable.Lookup(h.OS, bound); known && outer.Check(h.Tunables[bound]) == nil {
			return bound, greatest(h.Tunables[bound])
		}
	}
	return "", 0
}

// instances are the full names under which a host has a tunable of interfaces,
// mounts or routes, sorted: "link.mtu@eth0".
func instances(h *host.Facts, base string) []string {
	var all []string
	for name := range h.Tunables {
		if b, instance := tunable.Split(name); b == base && instance != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func source(t *tunable.Tunable) string {
	return strings.TrimSpace(fmt.Sprintf("%s, %s", t.Source.Title, t.Source.URL))
}
