package figure

import (
	"fmt"
	"strings"
)

// Heights of a chart's parts.
const (
	alone    = 190.0 // plot of the only panel
	stacked  = 120.0 // each of several
	between  = 12.0  // from one panel to the header of the next
	tickSize = 4.0
	gap      = 6.0 // between marks' labels, and from a label to its axis
	sample   = 22.0
)

// mostTicks is how many marks an x axis has at most: more are noise.
const mostTicks = 13

// frame is where a panel's plot lies.
type frame struct {
	left, top, width, height float64
	x, y                     *ruler
}

func (f *frame) px(v float64) float64 { return f.left + f.width*f.x.at(v) }
func (f *frame) py(v float64) float64 { return f.top + f.height*(1-f.y.at(v)) }

// Draw makes the picture and the table.
func (c *Chart) Draw() Figure {
	var out canvas
	x := newRuler(c.X, c.xs(), c.X.FromZero)
	ys := make([]ruler, len(c.Panels))
	yTicks := make([][]tick, len(c.Panels))
	height := alone
	if len(c.Panels) > 1 {
		height = stacked
	}
	left := 0.0
	for i := range c.Panels {
		ys[i] = newRuler(c.Panels[i].Y, c.Panels[i].values(), true)
		yTicks[i] = ys[i].marks(true, func(ticks []tick) bool { return float64(len(ticks)-1)*(line+10) <= height })
		for _, t := range yTicks[i] {
			left = max(left, width(t.label))
		}
	}
	left += gap + tickSize
	frames := frame{left: left, width: Width - left - 8, x: &x}
	xTicks := x.marks(c.X.FromZero, func(ticks []tick) bool { return len(ticks) >= 2 && roomy(ticks, &frames) })

	top := 0.0
	for i := range c.Panels {
		f := frames
		f.y, f.height = &ys[i], height
		f.top = top + c.header(&out, i, &ys[i], top)
		if i == 0 {
			f.top += c.marks(&out, &f)
		}
		c.panel(&out, i, &f, xTicks, yTicks[i], i == len(c.Panels)-1)
		top = f.top + f.height + between
		c.verticals(&out, &f)
	}
	bottom := top - between + tickSize + line
	out.text(frames.left+frames.width/2, bottom+line, "middle", "name", fitBold(x.title(), frames.width))
	return Figure{Title: safe(c.Title), Says: told(c.Says), SVG: out.end(c.Title, c.Says, bottom+line+descent+2), Table: c.table()}
}

// roomy says that the labels of an x axis do not touch.
func roomy(ticks []tick, f *frame) bool {
	if len(ticks) > mostTicks {
		return false
	}
	end := -gap
	for _, t := range ticks {
		x, half := f.px(t.at), width(t.label)/2
		x = inside(x, half)
		if x-half < end+gap {
			return false
		}
		end = x + half
	}
	return true
}

// inside moves the middle of a text so that all of it is in the picture.
func inside(x, half float64) float64 { return max(half, min(Width-half, x)) }

// xs are all values of the x axis that must be there.
func (c *Chart) xs() []float64 {
	var all []float64
	for _, p := range c.Panels {
		for _, s := range p.Series {
			for _, point := range s.Points {
				all = append(all, point.X)
			}
		}
	}
	for _, m := range c.Marks {
		all = append(all, m.At)
	}
	return all
}

// values are all of a panel's y axis.
func (p *Panel) values() []float64 {
	var all []float64
	for _, s := range p.Series {
		for _, point := range s.Points {
			all = append(all, point.Y)
			if point.interval() {
				all = append(all, point.Low, point.High)
			}
		}
	}
	for _, l := range p.Levels {
		all = append(all, l.At)
	}
	return all
}

// header writes a panel's y axis by its name, which is easier to read than along
// the axis, and behind it what each line is. It gives the height that took.
func (c *Chart) header(out *canvas, panel int, y *ruler, top float64) float64 {
	p := &c.Panels[panel]
	title := fitBold(y.title(), Width*2/3)
	out.text(0, top+ascent, "start", "name", title)
	x, rows := boldWidth(title)+2*gap, 1
	item := func(name string, draw func(x, y float64)) {
		name = fit(name, Width/2)
		w := sample + gap + width(name) + 2*gap
		if x+w > Width {
			x, rows = 0, rows+1
		}
		middle := top + float64(rows-1)*line + ascent - 4
		draw(x, middle)
		out.text(x+sample+gap, middle+4, "start", "", name)
		x += w
	}
	for i, s := range p.Series {
		if len(p.Series) == 1 && (s.Name == "" || s.Name == p.Y.Name) {
			break // the axis says what it is
		}
		item(s.Name, func(x, y float64) { legend(out, s, i, x, y) })
	}
	for i, l := range p.Levels {
		item(l.Name, func(x, y float64) { out.line("level l"+digit(i), x, y, x+sample, y) })
	}
	if span := c.firstSpan(panel); span != nil {
		item(span.Name, func(x, y float64) { out.rect("span", x, y-5, sample, 10) })
	}
	return float64(rows)*line + 4
}

// firstSpan is what the legend says of shaded stretches: once, in the first panel.
func (c *Chart) firstSpan(panel int) *Span {
	if panel > 0 || len(c.Spans) == 0 {
		return nil
	}
	return &c.Spans[0]
}

// marks writes the names of vertical lines from the frame's top on, in as many rows as
// they need, and gives the height of those.
func (c *Chart) marks(out *canvas, f *frame) float64 {
	var ends []float64 // of each row
	for _, m := range c.Marks {
		if !f.x.shows(m.At) {
			continue
		}
		name := fit(m.Name, Width/3)
		half := width(name) / 2
		x := inside(f.px(m.At), half)
		row := 0
		for row < len(ends) && x-half < ends[row]+gap {
			row++
		}
		if row == len(ends) {
			ends = append(ends, 0)
		}
		ends[row] = x + half
		out.text(x, f.top+float64(row)*line+ascent-2, "middle", "", name)
	}
	return float64(len(ends)) * line
}

func (c *Chart) verticals(out *canvas, f *frame) {
	for _, m := range c.Marks {
		if f.x.shows(m.At) {
			out.line("mark", f.px(m.At), f.top, f.px(m.At), f.top+f.height)
		}
	}
}

// panel draws the plot: shaded stretches, grid, levels, then the series, the last
// one below.
func (c *Chart) panel(out *canvas, i int, f *frame, xTicks, yTicks []tick, last bool) {
	p := &c.Panels[i]
	for _, s := range c.Spans {
		from, to := max(f.x.low, s.From), min(f.x.high, s.To)
		if from < to {
			out.rect("span", f.px(from), f.top, f.px(to)-f.px(from), f.height)
		}
	}
	var grid strings.Builder
	for _, t := range yTicks {
		y := f.py(t.at)
		fmt.Fprintf(&grid, "M%s %sh%s", num(f.left), num(y), num(f.width))
		out.text(f.left-gap, y+4, "end", "", t.label)
	}
	out.path("grid", grid.String())
	var axis strings.Builder
	fmt.Fprintf(&axis, "M%s %sv%sh%s", num(f.left), num(f.top), num(f.height), num(f.width))
	for _, t := range xTicks {
		fmt.Fprintf(&axis, "M%s %sv%s", num(f.px(t.at)), num(f.top+f.height), num(tickSize))
		if last {
			half := width(t.label) / 2
			out.text(inside(f.px(t.at), half), f.top+f.height+tickSize+line-2, "middle", "", t.label)
		}
	}
	out.path("axis", axis.String())
	for i, l := range p.Levels {
		if f.y.shows(l.At) {
			out.line("level l"+digit(i), f.left, f.py(l.At), f.left+f.width, f.py(l.At))
		}
	}
	for j := len(p.Series) - 1; j >= 0; j-- {
		c.series(out, &p.Series[j], j, f)
	}
}
