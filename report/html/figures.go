package html

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/record"
)

// picture is a figure as the page shows it.
type picture struct {
	Title string
	Says  string
	SVG   template.HTML // figure's own, with all text from elsewhere escaped
	Table figure.Table
}

// gallery are the figures about one thing.
type gallery struct {
	Title    string
	Pictures []picture
}

func (g *gallery) add(f figure.Figure) {
	g.Pictures = append(g.Pictures, picture{f.Title, f.Says, template.HTML(f.SVG), f.Table})
}

func (g *gallery) chart(c *figure.Chart, columns int) {
	if c != nil {
		c.Detail = columns
		g.add(c.Draw())
	}
}

func (g *gallery) rows(r *figure.Rows) {
	if r != nil && len(r.Rows) > 0 {
		g.add(r.Draw())
	}
}

func (g *gallery) bars(b *figure.Bars) {
	if b != nil {
		g.add(b.Draw())
	}
}

// galleries are all figures of a run.
func galleries(run *record.Run, columns int) []gallery {
	if columns <= 0 {
		return nil
	}
	docs := read(run)
	transfers := chosen(run)
	whole := gallery{}
	switch {
	case docs.tune != nil:
		whole.rows(climbFigure(docs.tune))
	case docs.compare != nil:
		whole.rows(compareFigure(docs.compare))
	case docs.test != nil:
		whole.rows(repeatFigure(docs.test))
	case docs.sweep != nil:
		for _, c := range sweepFigures(docs.sweep) {
			whole.chart(c, columns)
		}
	case docs.requests != nil:
		whole.requests(docs.requests, columns)
	case docs.limits != nil:
		whole.bars(callsFigure(docs.limits.Evidence))
	case docs.raised != nil:
		whole.rows(raisedFigure(docs.raised))
	case docs.fleet != nil:
		whole.fleet(docs.fleet)
	}
	whole.chart(latencyFigure(transfers), columns)
	all := []gallery{whole}
	for _, p := range transfers {
		g := gallery{Title: "The transfer"}
		if p.name != "" {
			g.Title = fmt.Sprintf("The transfer %s: %v", p.name, goodputOf(p.result))
		}
		for _, d := range p.result.Spec.Directions() {
			var way = docs.path().Way(d == bulk.Reverse)
			g.chart(goodputFigure(p, d, way), columns)
			g.chart(windowsFigure(p, d), columns)
			g.chart(lossFigure(p, d), columns)
			g.chart(acksFigure(p, d), columns)
		}
		g.bars(cpuFigure(p))
		all = append(all, g)
	}
	return slices.DeleteFunc(all, func(g gallery) bool { return len(g.Pictures) == 0 })
}
