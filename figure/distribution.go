package figure

import (
	"slices"

	"github.com/fullbore/fullbore/stat"
)

// steps of a distribution: more are not seen.
const distributionSteps = 200

// Distribution are the points of a cumulative distribution: for each value the share
// of all that are not above it. It is drawn as Stairs, on an axis of Share.
func Distribution(values []float64) []Point {
	sorted := slices.DeleteFunc(slices.Sorted(slices.Values(values)), func(v float64) bool { return !finite(v) })
	if len(sorted) == 0 {
		return nil
	}
	points := []Point{{X: sorted[0], Y: 0}}
	if len(sorted) <= distributionSteps {
		for i, v := range sorted {
			points = append(points, Point{X: v, Y: float64(i+1) / float64(len(sorted))})
		}
		return points
	}
	for i := range distributionSteps {
		share := float64(i+1) / distributionSteps
		points = append(points, Point{X: stat.Quantile(sorted, share), Y: share})
	}
	return points
}

// ScaleOf is the scale for values that are shown beside each other: where the
// largest is more than so many times the smallest, a logarithmic one shows all of
// them.
func ScaleOf(log Scale, ratio float64, values ...float64) Scale {
	low, high := 0.0, 0.0
	for _, v := range values {
		if !finite(v) || v <= 0 {
			continue
		}
		if low == 0 || v < low {
			low = v
		}
		high = max(high, v)
	}
	if low > 0 && high > low*ratio {
		return log
	}
	return Linear
}
