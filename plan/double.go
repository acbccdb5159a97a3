package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// Double is the next step after one that helped: the same sizes, twice as
// large (the NFS article: double until nothing more is gained). It stays within the hosts'
// memory, the system's range and what bounds a size, and is nil when nothing can
// grow any more or the step has no sizes.
func Double(step Step, in Input) *Step {
	const again = "twice as much: "
	next := Step{Idea: again + strings.TrimPrefix(step.Idea, again), Risk: step.Risk}
	m := &maker{Input: in}
	step.Changes = m.arrange(append(m.solarisAbove(step.Changes), step.Changes...))
	grown := false
	for _, c := range step.Changes {
		h := in.HostOf(c)
		if h == nil {
			continue
		}
		t, ok := tunable.Lookup(h.OS, c.Tunable)
		if !ok || !t.Rising {
			continue
		}
		now, most := greatest(c.To), t.Max
		if t.Unit == inBytes {
			most = min(most, int64(mostBuffer))
			if bound := m.bound(h); bound > 0 {
				most = min(most, int64(bound))
			}
		}
		if device := h.Most[c.Tunable]; device > 0 {
			most = min(most, device)
		}
		if room := in.roomFor(h, t, c.Tunable, append(slices.Clone(step.Changes), next.Changes...)); room > 0 {
			most = min(most, int64(room))
		}
		if now <= 0 || now >= most {
			continue
		}
		twice := most
		if now < most/2 {
			twice = 2 * now
		}
		why := fmt.Sprintf("%s helped, so twice as much may help more", amount(t, now))
		if c.From == c.To { // it only makes room
			why = c.Why
		} else {
			grown = true
		}
		next.Changes = append(next.Changes, Change{Role: c.Role, Host: c.Host, Tunable: c.Tunable, From: c.To, To: withLast(c.To, twice), Why: why, Source: c.Source})
	}
	if !grown {
		return nil
	}
	return &next
}

// amount is a number of a tunable, for people.
func amount(t *tunable.Tunable, n int64) string {
	if t.Unit == inBytes {
		return unit.Size(n).String()
	}
	return strings.TrimSpace(fmt.Sprint(n, " ", t.Unit))
}
