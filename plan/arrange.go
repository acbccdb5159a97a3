package plan

import (
	"slices"

	"github.com/fullbore/fullbore/tunable"
)

// arrange puts the changes of one step into the order in which they must be
// made: what a tunable comes after, or lies within, stands before it. Several
// changes of one tunable become one.
func (m *maker) arrange(changes []Change) []Change {
	var merged []Change
	for _, c := range changes {
		at := slices.IndexFunc(merged, c.same)
		if at < 0 {
			merged = append(merged, c)
			continue
		}
		if raised, higher := m.raise(c, merged[at].To); higher {
			merged[at].To = raised
		}
	}
	var out []Change
	seen := make([]bool, len(merged))
	var place func(i int)
	place = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for j, other := range merged {
			if m.before(other, merged[i]) {
				place(j)
			}
		}
		out = append(out, merged[i])
	}
	for i := range merged {
		place(i)
	}
	return out
}

// same says whether both change the same tunable of the same host.
func (c Change) same(other Change) bool { return c.onHostOf(other) && c.Tunable == other.Tunable }

// onHostOf says whether both are for one host. Two hosts may go by one name, so
// that names count only where a role is not known.
func (c Change) onHostOf(other Change) bool {
	if c.Role != "" && other.Role != "" {
		return c.Role == other.Role
	}
	return c.Host == other.Host
}

// before says whether a must be made before b.
func (m *maker) before(a, b Change) bool {
	entry := m.entry(b)
	if !a.onHostOf(b) || entry == nil {
		return false
	}
	base, of := tunable.Split(a.Tunable)
	_, instance := tunable.Split(b.Tunable)
	return (of == "" || of == instance) && (slices.Contains(entry.After, base) || entry.Within == base)
}

// raise is what a change makes of a value that may not be the one that it was
// planned for. Only sizes are raised; a switch or a word has one planned value.
func (m *maker) raise(c Change, present string) (string, bool) {
	if t := m.entry(c); t != nil && t.Rising {
		return tunable.Raise(present, c.To)
	}
	return present, false
}

// settle makes each step begin where those before it end: what an earlier step
// has done is not done again, and a step that has nothing left is none. One that
// was tried without effect leaves nothing that a later one could start from.
func (m *maker) settle() {
	var done []Change // the last of each tunable
	var kept []idea
	for _, i := range m.ideas {
		left, now := m.after(done, i.Changes)
		i.Changes = left
		if len(left) == 0 || m.tried(left) {
			continue
		}
		kept, done = append(kept, i), now
	}
	m.ideas = kept
}

// after is what is left of a step's changes once others are made, and the last of
// each tunable with both.
func (m *maker) after(made, changes []Change) (left, all []Change) {
	all = slices.Clone(made)
	for _, c := range changes {
		at := slices.IndexFunc(all, c.same)
		if at < 0 {
			left, all = append(left, c), append(all, c)
			continue
		}
		raised, higher := m.raise(c, all[at].To)
		if !higher {
			continue
		}
		c.From, c.To = all[at].To, raised
		left, all[at] = append(left, c), c
	}
	return left, all
}

// tried says whether one step that was tried has all these changes.
func (m *maker) tried(changes []Change) bool {
	return slices.ContainsFunc(m.Tried, func(s Step) bool {
		return !slices.ContainsFunc(changes, func(c Change) bool { return !slices.ContainsFunc(s.Changes, c.alike) })
	})
}

// alike says whether both give the same tunable the same value.
func (c Change) alike(other Change) bool { return c.same(other) && c.To == other.To }
