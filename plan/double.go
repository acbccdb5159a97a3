package plan

import (
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// Double is the next step after one that helped: the same buffers, twice as
// large (S4: double until nothing more is gained). It stays within the hosts'
// memory and the kernel's range, and is nil when no buffer can grow any more or
// the step has none.
func Double(step Step, in Input) *Step {
	next := Step{Idea: "twice as much: " + strings.TrimPrefix(step.Idea, "twice as much: "), Risk: step.Risk}
	for _, c := range step.Changes {
		h := find(c.Host, in)
		if h == nil {
			continue
		}
		t, ok := tunable.Lookup(h.OS, c.Tunable)
		if !ok || !t.Rising {
			continue
		}
		elements := strings.Fields(c.To)
		if len(elements) == 0 {
			continue
		}
		place := len(elements) - 1
		present := unit.Size(number(c.To, place))
		most := min(mostBuffer, unit.Size(t.Max))
		if bound := in.bound(h); bound > 0 {
			most = min(most, bound)
		}
		twice := min(2*present, most)
		if present <= 0 || present > mostBuffer || twice <= present {
			continue
		}
		elements[place] = fmt.Sprint(int64(twice))
		next.Changes = append(next.Changes, Change{
			Host: c.Host, Tunable: c.Tunable, From: c.To, To: strings.Join(elements, " "),
			Why:    fmt.Sprintf("%v helped, so twice as much may help more", present),
			Source: c.Source,
		})
	}
	if len(next.Changes) == 0 {
		return nil
	}
	return &next
}

func find(name string, in Input) *host.Facts {
	for _, h := range []*host.Facts{in.Sender, in.Receiver} {
		if h != nil && h.Name == name {
			return h
		}
	}
	return nil
}
