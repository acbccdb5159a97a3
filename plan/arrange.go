package plan

import (
	"slices"

	"github.com/fullbore/fullbore/tunable"
)

// arrange puts the changes of one step into the order in which they are to be
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
func (c Change) same(other Change) bool { return c.Host == other.Host && c.Tunable == other.Tunable }

// before says whether a must be made before b.
func (m *maker) before(a, b Change) bool {
	h := find(b.Host, m.Input)
	if a.Host != b.Host || h == nil {
		return false
	}
	entry, ok := tunable.Lookup(h.OS, b.Tunable)
	base, of := tunable.Split(a.Tunable)
	_, instance := tunable.Split(b.Tunable)
	return ok && (of == "" || instance == "" || of == instance) && (slices.Contains(entry.After, base) || entry.Within == base)
}

// raise is what a change makes of a value that may not be the one that it was
// planned for. Only sizes are raised; a switch or a word has one planned value.
func (m *maker) raise(c Change, present string) (string, bool) {
	if h := find(c.Host, m.Input); h != nil {
		if entry, ok := tunable.Lookup(h.OS, c.Tunable); ok && entry.Rising {
			return tunable.Raise(present, c.To)
		}
	}
	return present, false
}

// settle makes each step begin where those before it end: what an earlier step
// has done is not done again, and a step that has nothing left is none.
func (m *maker) settle() {
	var done []Change // the last of each tunable
	var kept []idea
	for _, i := range m.ideas {
		var left []Change
		for _, c := range i.Changes {
			at := slices.IndexFunc(done, c.same)
			if at < 0 {
				left, done = append(left, c), append(done, c)
				continue
			}
			raised, higher := m.raise(c, done[at].To)
			if !higher {
				continue
			}
			c.From, c.To = done[at].To, raised
			left, done[at] = append(left, c), c
		}
		if i.Changes = left; len(left) > 0 {
			kept = append(kept, i)
		}
	}
	m.ideas = kept
}
