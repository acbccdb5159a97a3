package change

import (
	"slices"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// lookup finds a tunable of this host in the catalogue. Tests replace it.
var lookup = func(name string) (*tunable.Tunable, bool) { return tunable.Lookup(host.System(), name) }

// inOrder gives the places of names in the order in which they are raised: as
// they stand, but each after those that the catalogue wants before it. Those of
// an interface, or of a mount, wait only for those of the same.
func inOrder(names []string) []int {
	order := make([]int, 0, len(names))
	done := make([]bool, len(names))
	var visit func(i int)
	visit = func(i int) {
		if done[i] {
			return
		}
		done[i] = true // before what it waits for: a circle ends here
		if known, ok := lookup(names[i]); ok {
			_, instance := tunable.Split(names[i])
			for _, before := range known.After {
				for _, name := range []string{before, tunable.Join(before, instance)} {
					if at := slices.Index(names, name); at >= 0 {
						visit(at)
					}
				}
			}
		}
		order = append(order, i)
	}
	for i := range names {
		visit(i)
	}
	return order
}

// orderSteps sorts the values to set: first sizes that are lowered, in the
// opposite order, then what is raised or switched.
func orderSteps(steps []step) []step {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.tunable
	}
	var lowered, raised []step
	for _, i := range inOrder(names) {
		if steps[i].sinks {
			lowered = append(lowered, steps[i])
		} else {
			raised = append(raised, steps[i])
		}
	}
	slices.Reverse(lowered)
	return append(lowered, raised...)
}

// backwards gives the set's values in the order in which they are put back.
func (s *Set) backwards() []*Value {
	names := make([]string, len(s.Values))
	for i, v := range s.Values {
		names[i] = v.Tunable
	}
	var values []*Value
	for _, i := range slices.Backward(inOrder(names)) {
		values = append(values, &s.Values[i])
	}
	return values
}
