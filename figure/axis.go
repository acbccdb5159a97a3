package figure

import (
	"math"
	"strings"
)

// Axis says what is measured along it, and how.
type Axis struct {
	Name     string
	Of       Quantity
	Scale    Scale
	FromZero bool // an x axis begins at 0, as linear y axes always do
}

// Scale is how values are laid out along an axis.
type Scale int

// The scales. What does not lie above 0 is a gap on the logarithmic ones.
const (
	Linear  Scale = iota
	Doubles       // logarithmic, marked at powers of 2: sizes, connections
	Tens          // logarithmic, marked at 1, 2, 5, 10: latencies, rates
)

// tick is a mark on an axis.
type tick struct {
	at    float64 // value
	label string
}

// ruler is an axis with its range and its unit.
type ruler struct {
	Axis
	low, high float64
	unit      prefix
}

// newRuler covers all values; a linear y axis begins at 0, so that twice as high is
// twice as much.
func newRuler(a Axis, values []float64, fromZero bool) ruler {
	r := ruler{Axis: a, low: math.Inf(1), high: math.Inf(-1)}
	for _, v := range values {
		if r.shows(v) {
			r.low, r.high = min(r.low, v), max(r.high, v)
		}
	}
	switch {
	case r.low > r.high && a.Scale == Linear:
		r.low, r.high = 0, 1
	case r.low > r.high:
		r.low, r.high = 1, 2
	}
	if a.Of == Date {
		if r.high-r.low < 60 { // one run, or some at once
			r.low, r.high = r.low-1800, r.high+1800
		}
		r.unit = prefix{1, r.common()}
		return r
	}
	if a.Scale == Linear {
		if fromZero {
			r.low, r.high = min(r.low, 0), max(r.high, 0)
		}
		if r.high-r.low < 1e-12*max(1, math.Abs(r.high)) {
			r.high = r.low + max(1e-9, math.Abs(r.low)/10)
			if r.low == 0 {
				r.high = 1
			}
		}
	} else if r.high < r.low*1.999 {
		middle := math.Sqrt(r.low * r.high)
		r.low, r.high = middle/math.Sqrt2, middle*math.Sqrt2
	}
	r.unit = a.Of.prefix(max(math.Abs(r.low), math.Abs(r.high)))
	return r
}

// shows says that a value has a place on the axis.
func (r *ruler) shows(v float64) bool {
	return finite(v) && (r.Scale == Linear || v > 1e-12)
}

// at is where a value lies: 0 at the axis's beginning, 1 at its end.
func (r *ruler) at(v float64) float64 {
	if r.Scale == Linear {
		return (v - r.low) / (r.high - r.low)
	}
	return math.Log(max(v, 1e-12)/r.low) / math.Log(r.high/r.low)
}

// title is the axis's name with its unit. An axis of sizes that double has the
// unit at each mark instead.
func (r *ruler) title() string {
	if r.unit.name == "" || r.labelled() {
		return safe(r.Name)
	}
	return strings.TrimPrefix(safe(r.Name)+", "+r.unit.name, ", ")
}

// labelled says that each mark has its own unit.
func (r *ruler) labelled() bool { return r.Of == Size && r.Scale != Linear }

func (r *ruler) label(v float64) string {
	if r.labelled() {
		return Size.Write(v)
	}
	return trimmed(v/r.unit.per, 9)
}

// widen lets the axis end at a mark: a line that ends in the air has no height to
// be read.
func (r *ruler) widen(step float64) {
	r.high = math.Ceil(r.high/step-1e-9) * step
	r.low = math.Floor(r.low/step+1e-9) * step
}

// steps are the distances between marks that people read easily, from the finest
// on: 1, 2 and 5 of each power of ten of the unit; of minutes and hours, parts of
// sixty.
func (r *ruler) steps() []float64 {
	span := (r.high - r.low) / r.unit.per
	var steps []float64
	power := math.Floor(math.Log10(span)) - 2
	for i := range 4 {
		for _, nice := range []float64{1, 2, 5} {
			steps = append(steps, nice*math.Pow(10, power+float64(i))*r.unit.per)
		}
	}
	return steps
}

// linear are the marks at multiples of a step.
func (r *ruler) linear(step float64) []tick {
	var ticks []tick
	first, last := math.Ceil(r.low/step-1e-9), math.Floor(r.high/step+1e-9)
	for i := first; i <= last && len(ticks) < 5000; i++ {
		ticks = append(ticks, tick{i * step, r.label(i * step)})
	}
	return ticks
}

// logarithmic are marks at every power of 2, or of every so many; of tens at 1, 2
// and 5 of each, then at 1 and 3, then at 1 only.
func (r *ruler) logarithmic(coarse int) []tick {
	var ticks []tick
	add := func(v float64) {
		if v >= r.low*(1-1e-9) && v <= r.high*(1+1e-9) {
			ticks = append(ticks, tick{v, r.label(v)})
		}
	}
	if r.Scale == Doubles {
		every := coarse + 1
		for i := math.Floor(math.Log2(r.low)); i <= math.Ceil(math.Log2(r.high)); i++ {
			if int(i)%every == 0 {
				add(math.Exp2(i))
			}
		}
		return ticks
	}
	low := math.Floor(math.Log10(r.low / r.unit.per))
	for i := low; i <= math.Ceil(math.Log10(r.high/r.unit.per)); i++ {
		nice := [][]float64{{1, 2, 5}, {1, 3}, {1}}[min(coarse, 2)]
		if coarse > 2 && int(i)%(coarse-1) != 0 {
			continue
		}
		for _, n := range nice {
			add(n * math.Pow(10, i) * r.unit.per)
		}
	}
	return ticks
}

// marks are as many as find room: fits is asked from the finest choice on. There
// are none if not even the coarsest has.
func (r *ruler) marks(widen bool, fits func([]tick) bool) []tick {
	if r.Of == Date {
		for _, next := range calendar {
			if ticks := r.dates(next); fits(ticks) {
				return ticks
			}
		}
		return nil
	}
	if r.Scale != Linear {
		for coarse := range 60 {
			if ticks := r.logarithmic(coarse); len(ticks) > 0 && fits(ticks) {
				return ticks
			}
		}
		return nil
	}
	was := *r
	for _, step := range was.steps() {
		if widen {
			r.widen(step) // labels must fit where they will be
		}
		if ticks := r.linear(step); fits(ticks) {
			return ticks
		}
		*r = was
	}
	return nil
}
