// Package stat decides from a handful of repeated runs whether a change helped.
package stat

import (
	"math"
	"slices"
)

// Median is the middle of x, the mean of the two middle values when their
// number is even; NaN of nothing.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// Quartiles are the values below which a quarter, half and three quarters of x
// lie; NaN of nothing.
func Quartiles(x []float64) (low, median, high float64) {
	return Quantile(x, 0.25), Quantile(x, 0.5), Quantile(x, 0.75)
}

// Quantile is the value below which the share q (0..1) of x lies, between two
// values by straight line: definition 7 of Hyndman and Fan, "Sample quantiles in
// statistical packages", The American Statistician 50 (1996), the usual default.
// It is NaN of nothing.
func Quantile(x []float64, q float64) float64 {
	if len(x) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(x))
	at := min(max(q, 0), 1) * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	part := at - float64(below)
	return sorted[below]*(1-part) + sorted[above]*part
}

// Mean is the arithmetic mean; NaN of nothing.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
