package sweep

import (
	"fmt"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// Point is one combination of values, one for each factor of the experiment.
type Point struct {
	factors Factors
	values  []Value // as the factors are ordered
}

// points are all combinations, the last factor varying fastest, and the present
// setting, which is added if it is not among them. Its place is the second result.
func (f Factors) points() (all []Point, usual int) {
	all = []Point{{factors: f}}
	for i := range f {
		var more []Point
		for _, p := range all {
			for _, v := range f[i].Values {
				more = append(more, Point{f, append(p.values[:i:i], v)})
			}
		}
		all = more
	}
	asFound := f.usual()
	for i, p := range all {
		if p.Key() == asFound.Key() {
			return all, i
		}
	}
	return append(all, asFound), len(all)
}

// usual is the present setting: as found, but for factors of which there is only one
// value, which are not varied.
func (f Factors) usual() Point {
	p := Point{factors: f}
	for i := range f {
		v := f[i].known(present)
		if len(f[i].Values) == 1 {
			v = f[i].known(f[i].Values[0])
		}
		p.values = append(p.values, v)
	}
	return p
}

// onPathOf says whether both points are of the same path.
func (p Point) onPathOf(other Point) bool {
	for i := range p.values {
		if p.factors[i].path && !p.values[i].Equal(other.values[i]) {
			return false
		}
	}
	return true
}

// Key distinguishes a point from all others of its experiment, and recognises it in a
// store.
func (p Point) Key() string {
	var parts []string
	for i, v := range p.values {
		parts = append(parts, p.factors[i].name+"="+v.key())
	}
	return strings.Join(parts, " ")
}

// String writes the point for people: "buffers 64 KiB, connections 10".
func (p Point) String() string {
	var parts []string
	for i, v := range p.values {
		parts = append(parts, p.factors[i].name+" "+v.Text(p.factors[i].kind))
	}
	return strings.Join(parts, ", ")
}

// Of is the value of a factor; false if the experiment does not vary it.
func (p Point) Of(name string) (Value, bool) {
	for i := range p.values {
		if p.factors[i].name == name {
			return p.values[i], true
		}
	}
	return Value{}, false
}

// Values are those of all factors, by name.
func (p Point) Values() map[string]Value {
	all := map[string]Value{}
	for i, v := range p.values {
		all[p.factors[i].name] = v
	}
	return all
}

// with is the point with another value of one factor.
func (p Point) with(name string, v Value) Point {
	out := Point{p.factors, append([]Value(nil), p.values...)}
	for i := range out.values {
		if p.factors[i].name == name {
			out.values[i] = v
		}
	}
	return out
}

// without is the key of a point less one factor: points that differ in nothing else
// share it.
func (p Point) without(name string) string {
	return p.with(name, present).Key()
}

// Spec is the transfer that measures the point.
func (p Point) Spec(m Measure) bulk.Spec {
	spec := bulk.Spec{Direction: bulk.Forward, Streams: 1, Length: bulk.DefaultLength, Duration: m.Duration, Omit: m.Omit}
	for i, v := range p.values {
		if into := p.factors[i].into; into != nil && !v.Present() {
			into(&spec, v)
		}
	}
	if m.Duration < 20*bulk.DefaultInterval { // else a short one has hardly a sample
		spec.Interval = max(10*time.Millisecond, m.Duration/20)
	}
	return spec
}

// path are the values of the lab's path, as "path.rate" and so on; a point without
// has the path as it is.
func (p Point) path() map[string]Value {
	all := map[string]Value{}
	for i, v := range p.values {
		if p.factors[i].path && !v.Present() {
			all[p.factors[i].name] = v
		}
	}
	return all
}

// tunables are what the point asks of one host's tunables ("near" or "far"), by their
// names, and whether it asks for a window.
func (p Point) tunables(end string) (want map[string]Value, window Value) {
	want, window = map[string]Value{}, present
	for i, v := range p.values {
		f := &p.factors[i]
		if v.Present() {
			continue
		}
		if f.name == "window" {
			window = v
		}
		if whose, base, ok := strings.Cut(f.name, "."); ok && f.kind == Tunable && (whose == end || whose == "both") {
			want[base] = v
		}
	}
	return want, window
}

// Cost is what an experiment takes, said before it starts.
type Cost struct {
	Points    int           `json:"points"`
	Transfers int           `json:"transfers"` // at most, of a search
	Time      time.Duration `json:"time_ns"`   // with their set-up
	Bytes     int64         `json:"bytes"`     // at the rate below; 0: not known
	AtMost    bool          `json:"at_most"`   // of a search: it may well take less
	Rate      float64       `json:"at_bps"`    // what the path may carry; 0: not known
}

// String is one sentence.
func (c Cost) String() string {
	text := fmt.Sprintf("%d points, %d transfers, %v", c.Points, c.Transfers, c.Time.Round(time.Second))
	if c.AtMost {
		text = fmt.Sprintf("at most %d transfers, %v", c.Transfers, c.Time.Round(time.Second))
	}
	if c.Bytes > 0 {
		text += fmt.Sprintf(", up to %.2g GB", float64(c.Bytes)/1e9)
	}
	return text
}

// setUp is what a transfer takes beside its own time before anything is known of the
// path: connections, both ends' results, settings that are changed and put back.
const setUp = 400 * time.Millisecond

// openPath is how long a path of the lab with other settings takes to be there.
const openPath = time.Second

// cost of so many transfers.
func (s *Spec) cost(factors Factors, points, transfers int, rate float64) Cost {
	each := s.Measure.Omit + s.Measure.Duration
	c := Cost{Points: points, Transfers: transfers, AtMost: s.Plan == Search, Rate: rate}
	c.Bytes = int64(rate / 8 * each.Seconds() * float64(transfers))
	each += setUp
	for i := range factors {
		if factors[i].path && len(factors[i].Values) > 1 {
			each += openPath
			break
		}
	}
	c.Time = each * time.Duration(transfers)
	return c
}
