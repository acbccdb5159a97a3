package figure

import "math"

// thin leaves of a long series what its picture can show: of each of so many
// columns of the x axis the first point, the least, the most and the last, and a
// gap if there was one. What falls out lies between those: a dip of one sample is
// still there. x gives a point's place, 0 to 1.
func thin(points []Point, columns int, x func(Point) float64) []Point {
	if len(points) <= 2*columns {
		return points
	}
	var kept []Point
	column := func(p Point) int { return max(0, min(columns-1, int(x(p)*float64(columns)))) }
	for from := 0; from < len(points); {
		to := from + 1
		for to < len(points) && (!finite(points[to].X) || column(points[to]) == column(points[from])) {
			to++
		}
		kept = append(kept, extremes(points[from:to])...)
		from = to
	}
	return kept
}

// extremes are the first, the least, the most and the last of a column's points in
// their order, and a gap behind them if it had one.
func extremes(points []Point) []Point {
	least, most, first, last := -1, -1, -1, -1
	gap := false
	for i, p := range points {
		if !finite(p.Y) || !finite(p.X) {
			gap = true
			continue
		}
		if first < 0 {
			first, least, most = i, i, i
		}
		last = i
		if p.bottom() < points[least].bottom() {
			least = i
		}
		if p.top() > points[most].top() {
			most = i
		}
	}
	var kept []Point
	if first >= 0 {
		at := -1
		for _, i := range []int{first, min(least, most), max(least, most), last} {
			if i > at {
				kept, at = append(kept, points[i]), i
			}
		}
	}
	if gap {
		kept = append(kept, Point{X: points[len(points)-1].X, Y: math.NaN()})
	}
	return kept
}

// bottom and top are the ends of a point's interval, or itself.
func (p Point) bottom() float64 {
	if p.interval() {
		return min(p.Low, p.Y)
	}
	return p.Y
}

func (p Point) top() float64 {
	if p.interval() {
		return max(p.High, p.Y)
	}
	return p.Y
}
