package regular

import (
	"math"
	"slices"
	"time"

	"github.com/fullbore/fullbore/fleet/sick"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// fewestWays is of how many ways a host is seen at least: of fewer, one that is sick cannot be told from
// the host, as the median of two moves with each.
const fewestWays = 3

// lookBack is how many runs of an experiment its levels are of.
const lookBack = 100

// patience is how many runs a way's new level has before it is told of by itself: by then the host's other ways have shown
// whether it is the host that moved.
const patience = 6

// falseAlarms is the chance that a look at all ways tells of a shift that is none. It is divided among the ways and
// the runs at which each might have moved (C. Bonferroni, 1936; O. J. Dunn, JASA 56, 1961).
const falseAlarms = 0.01

// way is from one host to another.
type way struct{ from, to string }

// series is what one way came to, run by run.
type series struct {
	started []time.Time
	goodput []float64
	since   int // runs of its newest level, once it shifted
}

// newShifts finds where the goodput of an experiment moved to another level, in what it measured again and again,
// the oldest first: known are those that were found before. A host most of whose ways moved is one shift.
func newShifts(experiment, run string, found time.Time, measured []record.Measured, known []record.Shift) []record.Shift {
	all := map[way]*series{}
	var ways []way
	for _, m := range measured {
		w := way{m.From, m.To}
		if all[w] == nil {
			all[w] = &series{}
			ways = append(ways, w)
		}
		all[w].started, all[w].goodput = append(all[w].started, m.Started), append(all[w].goodput, m.Goodput)
	}
	var links []record.Shift
	for _, w := range ways {
		s := record.Shift{Experiment: experiment, Kind: record.ShiftLink, From: w.from, To: w.to, Run: run, Found: found}
		if all[w].shifted(1-falseAlarms/float64(len(ways)*len(all[w].goodput)), &s) && !explained(&s, known) {
			links = append(links, s)
		}
	}
	sends, rest := hostsOf(links, ways, record.ShiftSends)
	receives, rest := hostsOf(rest, ways, record.ShiftReceives)
	rest = slices.DeleteFunc(rest, func(l record.Shift) bool { return all[way{l.From, l.To}].since < patience })
	return slices.Concat(sends, receives, rest)
}

// shifted says whether the newest level of a series is another one than that before, with a confidence and by
// more than what counts as sick, and fills in which.
func (s *series) shifted(confidence float64, h *record.Shift) bool {
	points := stat.Levels(s.goodput)
	if len(points) == 0 {
		return false
	}
	at, from := points[len(points)-1], 0
	if len(points) > 1 {
		from = points[len(points)-2]
	}
	before, after := s.goodput[from:at], s.goodput[at:]
	ratio := stat.RatioAt(confidence, before, after)
	if ratio.Low <= 1 && ratio.High >= 1 || math.Abs(ratio.Gain-1) < sick.Matters {
		return false
	}
	h.Since, h.Before, h.After = s.started[at], unit.Rate(stat.Typical(before).Typical), unit.Rate(stat.Typical(after).Typical)
	s.since = len(after)
	return true
}

// explained says whether a link's shift was told of before: by itself or with one of its hosts. What began before that was
// found is the same one, as more runs may move its beginning.
func explained(h *record.Shift, known []record.Shift) bool {
	return slices.ContainsFunc(known, func(k record.Shift) bool {
		same := k.Kind == record.ShiftLink && k.From == h.From && k.To == h.To ||
			k.Kind == record.ShiftSends && k.From == h.From || k.Kind == record.ShiftReceives && k.To == h.To
		return same && !h.Since.After(k.Found)
	})
}

// hostsOf makes one shift of those of a host's links, where it is more than half of them, and gives the rest.
func hostsOf(links []record.Shift, ways []way, kind record.ShiftKind) (hosts, rest []record.Shift) {
	end := func(from, to string) string {
		if kind == record.ShiftSends {
			return from
		}
		return to
	}
	ends, moved := map[string]int{}, map[string][]record.Shift{}
	for _, w := range ways {
		ends[end(w.from, w.to)]++
	}
	var order []string
	for _, l := range links {
		e := end(l.From, l.To)
		if moved[e] == nil {
			order = append(order, e)
		}
		moved[e] = append(moved[e], l)
	}
	for _, e := range order {
		if ends[e] < fewestWays || 2*len(moved[e]) <= ends[e] {
			rest = append(rest, moved[e]...)
			continue
		}
		hosts = append(hosts, together(moved[e], kind))
	}
	return hosts, rest
}

// together is one shift for all of a host's links: since the first of them, by what is usual among them.
func together(links []record.Shift, kind record.ShiftKind) record.Shift {
	h := links[0]
	h.Kind = kind
	if kind == record.ShiftSends {
		h.To = ""
	} else {
		h.From = ""
	}
	var before, after []float64
	for _, l := range links {
		before, after = append(before, float64(l.Before)), append(after, float64(l.After))
		if l.Since.Before(h.Since) {
			h.Since = l.Since
		}
	}
	h.Before, h.After = unit.Rate(stat.Median(before)), unit.Rate(stat.Median(after))
	return h
}
