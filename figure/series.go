package figure

import "strings"

// fewPoints is up to how many points a line has a marker on each.
const fewPoints = 24

// look is the class of a line: its colour and its dashes.
func look(color int) string { return "c" + digit(color) + " d" + digit(color) }

// digit numbers the colours: from the seventh series of a panel on they begin again, so
// that whoever draws more joins some.
func digit(color int) string { return string(rune('0' + color%Colors)) }

// series draws one.
func (c *Chart) series(out *canvas, s *Series, color int, f *frame) {
	points := s.shown(f)
	columns := Columns
	if c.Detail > 0 {
		columns = min(c.Detail, Columns)
	}
	points = thin(points, columns, func(p Point) float64 { return f.x.at(p.X) })
	switch s.Look {
	case Dots:
		var d strings.Builder
		for _, p := range points {
			if finite(p.Y) {
				d.WriteString(marker(0, f.px(p.X), f.py(p.Y), 2))
			}
		}
		out.path("dot f"+digit(color), d.String())
		return
	case Law:
		out.path("law", outline(points, f, false))
		return
	case Band:
		out.path("band f"+digit(color), area(points, f))
	}
	out.path("line "+look(color), outline(points, f, s.Look == Stairs))
	if s.Look == Line {
		whiskers(out, points, color, f)
	}
	if s.Look == Line && len(points) <= fewPoints {
		for _, p := range points {
			if finite(p.Y) {
				out.marker("sign f"+digit(color), color, f.px(p.X), f.py(p.Y), 3)
			}
		}
	}
}

// shown are the points with a place on both axes; others are gaps.
func (s *Series) shown(f *frame) []Point {
	var all []Point
	for _, p := range s.Points {
		if !f.x.shows(p.X) || !f.y.shows(p.Y) {
			p = Point{X: p.X, Y: nan}
		}
		if p.interval() && !f.y.shows(p.Low) {
			p.Low = min(p.Y, f.y.low)
		}
		all = append(all, p)
	}
	return all
}

// outline is the line through points; of stairs each value holds since the point
// before. A point between two gaps is a short stroke.
func outline(points []Point, f *frame, stairs bool) string {
	var d strings.Builder
	open := false
	for i, p := range points {
		if !finite(p.Y) {
			open = false
			continue
		}
		x, y := num(f.px(p.X)), num(f.py(p.Y))
		alone := !open && (i+1 == len(points) || !finite(points[i+1].Y))
		switch {
		case open && stairs:
			d.WriteString("V" + y + "H" + x)
		case open:
			d.WriteString("L" + x + " " + y)
		case alone:
			d.WriteString("M" + x + " " + y + "h.1")
		default:
			d.WriteString("M" + x + " " + y)
		}
		open = true
	}
	return d.String()
}

// area is what lies between the points' intervals, stretch by stretch.
func area(points []Point, f *frame) string {
	var d strings.Builder
	for from := 0; from < len(points); {
		if !finite(points[from].Y) || !points[from].interval() {
			from++
			continue
		}
		to := from
		for to < len(points) && finite(points[to].Y) && points[to].interval() {
			to++
		}
		for i := from; i < to; i++ {
			d.WriteString(map[bool]string{true: "M", false: "L"}[i == from] + num(f.px(points[i].X)) + " " + num(f.py(points[i].High)))
		}
		for i := to - 1; i >= from; i-- {
			d.WriteString("L" + num(f.px(points[i].X)) + " " + num(f.py(points[i].Low)))
		}
		d.WriteString("z")
		from = to
	}
	return d.String()
}

// whiskers are the intervals of points.
func whiskers(out *canvas, points []Point, color int, f *frame) {
	var d strings.Builder
	for _, p := range points {
		if !finite(p.Y) || !p.interval() {
			continue
		}
		x, low, high := f.px(p.X), num(f.py(p.Low)), num(f.py(p.High))
		d.WriteString("M" + num(x-4) + " " + low + "h8M" + num(x) + " " + low + "V" + high + "M" + num(x-4) + " " + high + "h8")
	}
	out.path("whisker c"+digit(color), d.String())
}

// legend draws what a series looks like, from x on, its middle at y.
func legend(out *canvas, s Series, color int, x, y float64) {
	switch s.Look {
	case Dots:
		out.path("dot f"+digit(color), marker(0, x+5, y-2, 2)+marker(0, x+11, y+2, 2)+marker(0, x+17, y-1, 2))
		return
	case Law:
		out.line("law", x, y, x+sample, y)
		return
	case Band:
		out.rect("band f"+digit(color), x, y-5, sample, 10)
	}
	out.line("line "+look(color), x, y, x+sample, y)
	if s.Look == Line && len(s.Points) <= fewPoints {
		out.marker("sign f"+digit(color), color, x+sample/2, y, 3)
	}
}
