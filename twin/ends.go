package twin

import (
	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// slowerNIC is the speed of the slower of both hosts' interfaces; 0 if neither says.
func (s *seen) slowerNIC() unit.Rate {
	least := unit.Rate(0)
	for _, end := range []struct {
		facts *host.Facts
		names map[string]bool
	}{{s.a, s.used(true)}, {s.b, s.used(false)}} {
		for _, i := range interfaces(end.facts, end.names) {
			if speed := sound(unit.Rate(i.Speed) * unit.Mbps); speed > 0 && (least == 0 || speed < least) {
				least = speed
			}
		}
	}
	return least
}

// end is what the host a, or b, recorded of a transfer.
func (s *seen) end(m *moved, a bool) *bulk.End {
	if a == (s.direction == bulk.Forward) {
		return &m.Client
	}
	return &m.Server
}

// used are the interfaces of host a, or b, that the transfers went through: those that
// the route names, or all that were used.
func (s *seen) used(a bool) map[string]bool {
	routed, used := map[string]bool{}, map[string]bool{}
	for _, m := range s.moved {
		for _, l := range s.end(m, a).Links {
			if l.Route {
				routed[l.Name] = true
			}
			if l.Used {
				used[l.Name] = true
			}
		}
	}
	if len(routed) > 0 {
		return routed
	}
	return used
}

func interfaces(facts *host.Facts, names map[string]bool) (all []host.Interface) {
	for _, i := range facts.Interfaces {
		if names[i.Name] {
			all = append(all, i)
		}
	}
	return all
}

// shaper is the lowest rate of a queue before an interface that is used; 0: none.
func shaper(facts *host.Facts, names map[string]bool) unit.Rate {
	least := unit.Rate(0)
	for _, i := range interfaces(facts, names) {
		for _, q := range i.Qdiscs {
			if rate := sound(q.Rate); rate > 0 && (least == 0 || rate < least) {
				least = rate
			}
		}
	}
	return least
}

// clean is a text of the run for a comment.
func clean(text string) string { return printable.Fit(printable.Line(text), 80) }
