package figure

import "strings"

// Bars are shares that add up, one bar for each core of each host.
type Bars struct {
	Title  string
	Says   string
	X      Axis
	Kinds  []string // of the parts, in their order
	Groups []Group
}

// Group are the bars that belong together: those of one host.
type Group struct {
	Name string
	Bars []Bar
	Note string // what is not shown
}

// Bar is one: a part of each kind, from the left.
type Bar struct {
	Name  string
	Parts []float64
}

const (
	barHeight = 11.0
	barStep   = 17.0
	mostBars  = 64
)

// Draw makes the picture and the table.
func (b *Bars) Draw() Figure {
	var out canvas
	left := 0.0
	sums := []float64{1e-9}
	for _, g := range b.Groups {
		for _, bar := range g.Bars[:min(len(g.Bars), mostBars)] {
			left = max(left, width(fit(bar.Name, Width/3)))
			sums = append(sums, bar.sum())
		}
	}
	x := newRuler(Axis{Name: b.X.Name, Of: b.X.Of}, sums, true) // parts on a logarithmic axis do not add up
	if b.X.Of == Share {
		x.low, x.high = 0, 1 // what is missing was idle
	}
	f := frame{left: left + gap, width: Width - left - gap - 14, x: &x}
	ticks := x.marks(true, func(ticks []tick) bool { return len(ticks) >= 2 && roomy(ticks, &f) })
	top := b.legend(&out)
	for _, g := range b.Groups {
		top = b.group(&out, &g, &f, ticks, top)
	}
	for _, t := range ticks {
		out.text(inside(f.px(t.at), width(t.label)/2), top+ascent, "middle", "", t.label)
	}
	out.text(f.left+f.width/2, top+line+ascent, "middle", "name", fitBold(x.title(), f.width))
	return Figure{Title: safe(b.Title), Says: told(b.Says), SVG: out.end(b.Title, b.Says, top+2*line), Table: b.table()}
}

func (b *Bars) group(out *canvas, g *Group, f *frame, ticks []tick, top float64) float64 {
	out.text(0, top+ascent, "start", "name", fitBold(g.Name, Width))
	top += line + 1
	began := top
	for _, bar := range g.Bars[:min(len(g.Bars), mostBars)] {
		out.text(f.left-gap, top+barHeight-1, "end", "", fit(bar.Name, Width/3))
		sum := 0.0
		for i, part := range bar.Parts {
			if !finite(part) || part <= 0 {
				continue
			}
			from := f.px(min(sum, f.x.high))
			sum += part
			if to := f.px(min(sum, f.x.high)); to-from > 0.05 {
				out.rect("box f"+digit(i), from, top, to-from-min(0.8, (to-from)/3), barHeight) // a gap shows where one part ends
			}
		}
		top += barStep
	}
	var grid strings.Builder
	for _, t := range ticks {
		grid.WriteString("M" + num(f.px(t.at)) + " " + num(began-2) + "V" + num(top-barStep+barHeight+2))
	}
	if len(g.Bars) > 0 {
		out.path("grid", grid.String())
	}
	if g.Note != "" {
		out.text(f.left, top+ascent-2, "start", "weak", fit(g.Note, f.width))
		top += line
	}
	return top + 4
}

func (b *Bars) legend(out *canvas) float64 {
	x, top := 0.0, 0.0
	for i, kind := range b.Kinds {
		kind = fit(kind, Width/2)
		w := 14 + gap + width(kind) + 2*gap
		if x > 0 && x+w > Width {
			x, top = 0, top+line
		}
		out.rect("box f"+digit(i), x, top+1, 12, 9)
		out.text(x+14+gap/2, top+ascent, "start", "", kind)
		x += w
	}
	return top + line + 4
}

func (b *Bar) sum() float64 {
	sum := 0.0
	for _, part := range b.Parts {
		if finite(part) && part > 0 {
			sum += part
		}
	}
	return sum
}

func (b *Bars) table() Table {
	t := Table{Head: []string{"", ""}}
	for _, kind := range b.Kinds {
		t.Head = append(t.Head, safe(kind))
	}
	for _, g := range b.Groups {
		for _, bar := range g.Bars {
			row := []string{safe(g.Name), safe(bar.Name)}
			for _, part := range bar.Parts {
				row = append(row, b.X.Of.Write(part))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
