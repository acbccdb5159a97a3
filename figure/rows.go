package figure

import (
	"fmt"
	"strings"
)

// Rows are values below each other: the steps of a climb, the runs of a comparison.
type Rows struct {
	Title string
	Says  string
	X     Axis
	Rows  []Row
}

// Row is one of them.
type Row struct {
	Name    string
	Note    string    // what came of it
	Dots    []float64 // single runs
	Typical float64   // of those; not a number: none
	Low     float64
	High    float64 // its interval; both 0: none
	From    float64 // what it is compared with; not a number: nothing
	Color   int     // 0 to Colors-1
}

// mostRows is how many are drawn: more is a table's business.
const mostRows = 40

// strip is the height of a row's marks, rowGap the room below.
const (
	strip  = 16.0
	rowGap = 9.0
)

// Draw makes the picture and the table.
func (r *Rows) Draw() Figure {
	var out canvas
	rows := r.Rows[:min(len(r.Rows), mostRows)]
	x := newRuler(r.X, values(rows), true)
	f := frame{left: 7, width: Width - 14, x: &x}
	ticks := x.marks(true, func(ticks []tick) bool { return len(ticks) >= 2 && roomy(ticks, &f) })
	top := 0.0
	var ends []float64
	for _, row := range rows {
		top += row.text(&out, top)
		row.marks(&out, &f, top)
		top += strip + rowGap
		ends = append(ends, top-rowGap)
	}
	for _, t := range ticks {
		px := f.px(t.at)
		var grid strings.Builder
		for _, end := range ends {
			grid.WriteString("M" + num(px) + " " + num(end-strip) + "v" + num(strip))
		}
		out.path("grid", grid.String())
		out.text(inside(px, width(t.label)/2), top+ascent, "middle", "", t.label)
	}
	out.text(Width/2, top+line+ascent, "middle", "name", fitBold(x.title(), Width))
	return Figure{Title: safe(r.Title), Says: told(r.Says), SVG: out.end(r.Title, r.Says, top+2*line), Table: r.table()}
}

func values(rows []Row) []float64 {
	var all []float64
	for _, row := range rows {
		all = append(append(all, row.Typical, row.From), row.Dots...)
		if row.interval() {
			all = append(all, row.Low, row.High)
		}
	}
	return all
}

func (r *Row) interval() bool { return Point{Y: r.Typical, Low: r.Low, High: r.High}.interval() }

// text writes the name and, at the other end or below, what came of it.
func (r *Row) text(out *canvas, top float64) float64 {
	name := fit(r.Name, Width)
	note := fit(r.Note, Width-20)
	out.text(0, top+ascent, "start", "", name)
	if note == "" {
		return line
	}
	if width(name)+width(note)+4*gap <= Width {
		out.text(Width, top+ascent, "end", "weak", note)
		return line
	}
	out.text(20, top+ascent+line-2, "start", "weak", note)
	return 2*line - 2
}

// marks draws the row's values: what it is compared with as a circle, the way from
// there, the interval as a bar, the runs as dots.
func (r *Row) marks(out *canvas, f *frame, top float64) {
	middle := top + strip/2
	class := digit(r.Color)
	out.line("grid", f.left, middle, f.left+f.width, middle)
	if f.x.shows(r.From) && f.x.shows(r.Typical) {
		out.line("move", f.px(r.From), middle, f.px(r.Typical), middle)
	}
	if r.interval() && f.x.shows(r.Low) {
		low, high := f.px(r.Low), f.px(r.High)
		out.rect("band f"+class, low, top+3, max(1, high-low), strip-6)
		out.path("whisker c"+class, fmt.Sprintf("M%s %sv%sM%s %sv%s", num(low), num(top+3), num(strip-6), num(high), num(top+3), num(strip-6)))
	}
	if f.x.shows(r.From) {
		out.path("hollow", marker(0, f.px(r.From), middle, 4))
	}
	var dots strings.Builder
	for i, v := range r.Dots {
		if f.x.shows(v) && i < 400 {
			dots.WriteString(marker(0, f.px(v), middle, 2))
		}
	}
	out.path("dot f"+class, dots.String())
	if f.x.shows(r.Typical) {
		out.path("sign f"+class, marker(3, f.px(r.Typical), middle, 4))
	}
}

func (r *Rows) table() Table {
	t := Table{Head: []string{"", "runs", head(&r.X), "95 % interval", "before", "what came of it"}}
	for _, row := range r.Rows {
		interval, before, typical := "", "", ""
		if row.interval() {
			interval = r.X.Of.Write(row.Low) + " to " + r.X.Of.Write(row.High)
		}
		if finite(row.From) {
			before = r.X.Of.Write(row.From)
		}
		if finite(row.Typical) {
			typical = r.X.Of.Write(row.Typical)
		}
		t.Rows = append(t.Rows, []string{safe(row.Name), fmt.Sprint(len(row.Dots)), typical, interval, before, safe(row.Note)})
	}
	return t
}
