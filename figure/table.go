package figure

import (
	"fmt"
	"math"
	"slices"
)

// nan is a gap.
var nan = math.NaN()

// tableRows is how many rows a table has at most; where there are more points, a
// row is a stretch of the x axis, with the least and the most in it.
const tableRows = 30

// table has a row for each place on the x axis, a column for each series.
func (c *Chart) table() Table {
	x := c.X
	t := Table{Head: []string{head(&x)}}
	var columns []Series
	var of []Quantity
	first := make([]int, len(c.Panels)) // column of each panel
	for i, p := range c.Panels {
		first[i] = len(t.Head)
		if len(p.Series) == 0 {
			p.Series = []Series{{}} // for its levels
		}
		for _, s := range p.Series {
			name := s.Name
			if name == "" || len(p.Series) == 1 {
				name = p.Y.Name
			}
			t.Head = append(t.Head, safe(name))
			columns, of = append(columns, s), append(of, p.Y.Of)
		}
	}
	var places []float64
	for _, s := range columns {
		for _, p := range s.Points {
			if finite(p.X) {
				places = append(places, p.X)
			}
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	stretches := places
	if len(places) > tableRows {
		stretches = split(places, c.X.Scale)
		t.Note = "A row is the stretch that ends there, with the least and the most in it."
	}
	rows := make([][]string, len(stretches))
	for i, to := range stretches {
		rows[i] = append(rows[i], x.Of.Write(to))
	}
	for i, s := range columns {
		for j, cell := range s.cells(stretches, of[i]) {
			rows[j] = append(rows[j], cell)
		}
	}
	t.Rows = slices.DeleteFunc(rows, func(row []string) bool {
		return !slices.ContainsFunc(row[1:], func(cell string) bool { return cell != "" })
	})
	for i, p := range c.Panels {
		for _, l := range p.Levels {
			row := make([]string, first[i]+1)
			row[0], row[first[i]] = safe(l.Name), p.Y.Of.Write(l.At)
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// head names a column of places.
func head(a *Axis) string {
	if a.Name == "" {
		return "at"
	}
	return safe(a.Name)
}

// split divides an axis into stretches of equal length, and gives their ends.
func split(places []float64, scale Scale) []float64 {
	low, high := places[0], places[len(places)-1]
	ends := make([]float64, tableRows)
	for i := range ends {
		part := float64(i+1) / tableRows
		if scale == Linear || low <= 0 {
			ends[i] = low + (high-low)*part
		} else {
			ends[i] = low * math.Pow(high/low, part)
		}
	}
	ends[tableRows-1] = high
	return ends
}

// cells are what a series says in each stretch.
func (s *Series) cells(ends []float64, of Quantity) []string {
	cells := make([]string, len(ends))
	found := make([][]Point, len(ends))
	for _, p := range s.Points {
		if !finite(p.X) || !finite(p.Y) {
			continue
		}
		i, _ := slices.BinarySearch(ends, p.X)
		i = min(i, len(ends)-1)
		found[i] = append(found[i], p)
	}
	for i, points := range found {
		if len(points) == 0 {
			continue
		}
		low, high := points[0].bottom(), points[0].top()
		for _, p := range points {
			low, high = min(low, p.bottom()), max(high, p.top())
		}
		from, to := of.Write(low), of.Write(high)
		switch {
		case len(points) == 1 && points[0].interval():
			cells[i] = fmt.Sprintf("%s (%s to %s)", of.Write(points[0].Y), from, to)
		case from == to:
			cells[i] = from
		default:
			cells[i] = from + " to " + to
		}
	}
	return cells
}
