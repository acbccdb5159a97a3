package html

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/unit"
)

// swept is sweep's document (docs/json.md). A factor's value is a number in its unit, or
// a word such as present.
type swept struct {
	Experiment string `json:"experiment"`
	About      string `json:"about"`
	Plan       string `json:"plan"`
	Factors    []struct {
		Name string `json:"name"`
		Unit string `json:"unit"`
	} `json:"factors"`
	Blocks int    `json:"blocks"`
	Seed   uint64 `json:"seed"`
	Spent  struct {
		Transfers int       `json:"transfers"`
		Seconds   float64   `json:"seconds"`
		Bytes     unit.Size `json:"bytes"`
	} `json:"spent"`
	Points []sweptPoint `json:"points"`
	Enough *struct {
		Factor string `json:"factor"`
		Value  any    `json:"value"`
		Why    string `json:"why"`
	} `json:"enough"`
	Law *struct {
		Name    string `json:"name"`
		Formula string `json:"formula"`
		Source  string `json:"source"`
		Says    string `json:"says"`
	} `json:"law"`
	Says  string `json:"says"`
	Error string `json:"error"`
}

// sweptPoint is one point of it.
type sweptPoint struct {
	Factors map[string]any `json:"factors"`
	Taken   map[string]any `json:"taken"`
	Present bool           `json:"present"`
	Runs    int            `json:"runs"`
	Goodput float64        `json:"goodput_bps"`
	CI95    *[2]float64    `json:"ci95"`
	Each    []float64      `json:"each_bps"`
	CPUs    struct {
		Sender   *float64 `json:"sender"`
		Receiver *float64 `json:"receiver"`
	} `json:"cpus_used"`
	ACKs  [][]bulk.ACKPoint `json:"acks"`
	Law   *float64          `json:"law_bps"`
	Notes []string          `json:"notes"`
}

// axis is how a factor is measured.
func (s *swept) axis(factor string) figure.Axis {
	of := figure.Count
	for _, f := range s.Factors {
		if f.Name == factor {
			of = map[string]figure.Quantity{"bytes": figure.Size, "bit/s": figure.Rate, "seconds": figure.RTT, "share": figure.Share}[f.Unit]
		}
	}
	return figure.Axis{Name: factor, Of: of}
}

// written is a factor's value as people write it.
func (s *swept) written(factor string, value any) string {
	if v, ok := value.(float64); ok {
		return s.axis(factor).Of.Write(v)
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// factor is what the x axis shows: the factor with the most numbers; sizes before
// others.
func (s *swept) factor() string {
	found := map[string]map[float64]bool{}
	for _, p := range s.Points {
		for name, value := range p.Factors {
			if v, ok := value.(float64); ok {
				if found[name] == nil {
					found[name] = map[float64]bool{}
				}
				found[name][v] = true
			}
		}
	}
	best := ""
	weight := func(name string) int {
		n := 2 * len(found[name])
		if s.axis(name).Of == figure.Size {
			n++
		}
		return n
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(found[name]) > 1 && (best == "" || weight(name) > weight(best)) {
			best = name
		}
	}
	return best
}

// where names the line that a point belongs to: its other factors, without those that
// never vary.
func (s *swept) where(p *sweptPoint, but string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Factors)) {
		if name != but && s.varies(name) {
			parts = append(parts, name+" "+s.written(name, p.Factors[name]))
		}
	}
	return strings.Join(parts, ", ")
}

func (s *swept) varies(factor string) bool {
	return slices.ContainsFunc(s.Points, func(p sweptPoint) bool {
		return s.written(factor, p.Factors[factor]) != s.written(factor, s.Points[0].Factors[factor])
	})
}

// pointTable lists all points.
type pointTable struct {
	Head []string
	Rows [][]string
	Left int
}

// newPointTable shows what was asked for, and what was in effect where that differs.
func newPointTable(s *swept, l limits) *pointTable {
	if s == nil || len(s.Points) == 0 {
		return nil
	}
	clean := func(text string) string { return clean(text, l.text) }
	t := &pointTable{}
	names := map[string]bool{}
	for _, p := range s.Points {
		for name := range p.Factors {
			names[name] = true
		}
	}
	factors, _ := first(slices.Sorted(maps.Keys(names)), 8)
	for _, name := range factors {
		t.Head = append(t.Head, clean(name))
	}
	t.Head = append(t.Head, "runs", "goodput", "95 % interval", "by the law", "CPUs, sender", "CPUs, receiver", "")
	points, left := first(s.Points, 5*l.list)
	t.Left = left
	for _, p := range points {
		var row []string
		for _, name := range factors {
			asked, taken := s.written(name, p.Factors[name]), s.written(name, p.Taken[name])
			if taken != "" && taken != asked {
				asked += " (in effect " + taken + ")"
			}
			row = append(row, clean(asked))
		}
		interval, law := "", ""
		if p.CI95 != nil {
			interval = fmt.Sprintf("%v to %v", unit.Rate(p.CI95[0]), unit.Rate(p.CI95[1]))
		}
		if p.Law != nil {
			law = unit.Rate(*p.Law).String()
		}
		notes, _ := first(p.Notes, 3)
		if p.Present {
			notes = append([]string{"as it was found"}, notes...)
		}
		row = append(row, fmt.Sprint(p.Runs), unit.Rate(p.Goodput).String(), interval, law, cpus(p.CPUs.Sender), cpus(p.CPUs.Receiver), clean(strings.Join(notes, "; ")))
		t.Rows = append(t.Rows, row)
	}
	return t
}

func cpus(used *float64) string {
	if used == nil {
		return ""
	}
	return number(*used)
}

// ordered sorts points by their place.
func ordered(points []figure.Point) []figure.Point {
	slices.SortStableFunc(points, func(a, b figure.Point) int { return cmp.Compare(a.X, b.X) })
	return points
}
