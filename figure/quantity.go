package figure

import (
	"math"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Quantity is what an axis measures: it decides the unit, and how a value is
// written in a table.
type Quantity int

// The quantities, each with the unit in which its values are given.
const (
	Count     Quantity = iota // things
	Rate                      // bit/s
	Size                      // bytes
	Seconds                   // s, since the beginning
	RTT                       // s, short ones: ms or µs on an axis
	PerSecond                 // things a second
	Share                     // 0..1
	Date                      // s since 1970, of an x axis
)

// prefix is a unit on an axis, and how much of the base unit it is.
type prefix struct {
	per  float64
	name string
}

var prefixes = map[Quantity][]prefix{
	Count:     {{1, ""}, {1e3, "thousands"}, {1e6, "millions"}, {1e9, "billions"}},
	Rate:      {{1, "b/s"}, {1e3, "kb/s"}, {1e6, "Mb/s"}, {1e9, "Gb/s"}, {1e12, "Tb/s"}},
	Size:      {{1, "bytes"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}},
	Seconds:   {{1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}},
	RTT:       {{1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}},
	PerSecond: {{1, "1/s"}, {1e3, "1000/s"}, {1e6, "10⁶/s"}, {1e9, "10⁹/s"}},
	Share:     {{0.01, "%"}},
	Date:      {{1, ""}},
}

// fewest of a unit that its axis has at most: 300 s are read as seconds, more as
// minutes.
var fewest = map[Quantity]float64{Seconds: 5, RTT: 1.2, Rate: 1.2, Size: 1.2, Count: 10, PerSecond: 10}

// prefix is the unit for an axis that ends at most.
func (q Quantity) prefix(most float64) prefix {
	all := prefixes[q]
	best := all[0]
	for i, p := range all[1:] {
		least := fewest[q]
		if q == Seconds && i == 0 {
			least = 1.2
		}
		if most >= least*p.per {
			best = p
		}
	}
	return best
}

// Write is a value with its unit, as tables have it.
func (q Quantity) Write(v float64) string {
	switch {
	case !finite(v):
		return "–"
	case q == Rate:
		return unit.Rate(v).String()
	case q == Size:
		return unit.Size(math.Round(v)).String()
	case q == Seconds:
		return short(v) + " s"
	case q == RTT:
		return unit.Milliseconds(time.Duration(min(v, 9e9) * float64(time.Second)))
	case q == PerSecond:
		return short(v) + "/s"
	case q == Share:
		return unit.Percent(v)
	case q == Date:
		return instant(v).Format("2006-01-02 15:04")
	}
	return short(v)
}

// short writes a number with three digits behind its point at most, and no more of
// them than say something.
func short(v float64) string {
	digits := 0
	if abs := math.Abs(v); abs < 1000 && abs > 0 {
		digits = max(0, min(3, 2-int(math.Floor(math.Log10(abs)))))
	}
	return trimmed(v, digits)
}

// trimmed has at most so many digits behind the point, and no zeros at the end.
func trimmed(v float64, digits int) string {
	scale := math.Pow10(digits)
	v = math.Round(v*scale) / scale
	if v == 0 {
		v = 0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
