package html

import (
	"fmt"
	"slices"

	"github.com/fullbore/fullbore/figure"
)

// mostLines is how many combinations of a sweep's other factors have a line.
const mostLines = figure.Colors

// sweepFigures are those of a sweep: goodput over its factor, the CPUs used for it, and
// second by second what the ACKs did.
func sweepFigures(s *swept) []*figure.Chart {
	var all []*figure.Chart
	factor := s.factor()
	if factor != "" {
		all = append(all, s.goodputs(factor), s.processors(factor))
	}
	return append(all, s.acks())
}

// lines are the points with a number of the factor, by the values of the others.
func (s *swept) lines(factor string, value func(*sweptPoint) (figure.Point, bool)) []figure.Series {
	var lines []figure.Series
	for i := range s.Points {
		p := &s.Points[i]
		x, ok := p.Factors[factor].(float64)
		if !ok || p.Runs == 0 {
			continue
		}
		point, ok := value(p)
		if !ok {
			continue
		}
		point.X = x
		name := s.where(p, factor)
		at := slices.IndexFunc(lines, func(l figure.Series) bool { return l.Name == name })
		if at < 0 {
			if len(lines) == mostLines {
				continue
			}
			at = len(lines)
			lines = append(lines, figure.Series{Name: name})
		}
		lines[at].Points = append(lines[at].Points, point)
	}
	for i := range lines {
		ordered(lines[i].Points)
	}
	return lines
}

// over is a chart's axis of a factor.
func (s *swept) over(factor string) figure.Axis {
	axis := s.axis(factor)
	var xs []float64
	for _, p := range s.Points {
		if x, ok := p.Factors[factor].(float64); ok {
			xs = append(xs, x)
		}
	}
	log := figure.Doubles
	if axis.Of == figure.RTT || axis.Of == figure.Rate || axis.Of == figure.Share {
		log = figure.Tens
	}
	axis.Scale = figure.ScaleOf(log, 6, xs...)
	return axis
}

// goodputs is the sweep's first figure: intervals, single runs, the law as a thin line,
// the present setting and what is enough.
func (s *swept) goodputs(factor string) *figure.Chart {
	panel := figure.Panel{Y: runsAxis}
	panel.Series = s.lines(factor, func(p *sweptPoint) (figure.Point, bool) {
		point := figure.Point{Y: p.Goodput}
		if p.CI95 != nil {
			point.Low, point.High = p.CI95[0], p.CI95[1]
		}
		return point, true
	})
	if len(panel.Series) == 1 && panel.Series[0].Name == "" {
		panel.Series[0].Name = "95 % interval"
	}
	var law []figure.Point
	for _, line := range s.lines(factor, func(p *sweptPoint) (figure.Point, bool) {
		if p.Law == nil {
			return figure.Point{}, false
		}
		return figure.Point{Y: *p.Law}, true
	}) {
		law = append(append(law, line.Points...), figure.Point{X: nan, Y: nan})
	}
	var runs []figure.Point
	for _, p := range s.Points {
		if x, ok := p.Factors[factor].(float64); ok {
			for _, g := range p.Each {
				runs = append(runs, figure.Point{X: x, Y: g})
			}
		}
	}
	if runs = ordered(runs); len(runs) <= 400 {
		panel.Series = append(panel.Series, figure.Series{Name: "single runs", Look: figure.Dots, Points: runs})
	}
	if len(law) > 0 && s.Law != nil {
		panel.Series = append(panel.Series, figure.Series{Name: "law: " + s.Law.Name, Look: figure.Law, Points: law})
	}
	says := ""
	if s.Law != nil {
		says = sentence(clean(s.Law.Says, 300))
	}
	c := &figure.Chart{Title: "Goodput over " + factor, Says: says, X: s.over(factor), Panels: []figure.Panel{panel}}
	c.Marks = s.marks(factor)
	for _, p := range s.Points {
		if _, isNumber := p.Factors[factor].(float64); p.Present && !isNumber && p.Goodput > 0 {
			c.Panels[0].Levels = append(c.Panels[0].Levels, figure.Level{Name: "as it was found", At: p.Goodput})
			break
		}
	}
	return c
}

// marks are the values that matter.
func (s *swept) marks(factor string) []figure.Mark {
	var marks []figure.Mark
	for _, p := range s.Points {
		if x, ok := p.Factors[factor].(float64); ok && p.Present {
			marks = append(marks, figure.Mark{Name: "as it was found: " + s.written(factor, x), At: x})
			break
		}
	}
	if s.Enough != nil && s.Enough.Factor == factor {
		if x, ok := s.Enough.Value.(float64); ok {
			marks = append(marks, figure.Mark{Name: "enough: " + s.written(factor, x), At: x})
		}
	}
	return marks
}

// processors is what each end spent, in CPUs: a percentage would depend on how many
// there are (the GigaSwift article's figures 4 to 7).
func (s *swept) processors(factor string) *figure.Chart {
	c := &figure.Chart{Title: "CPUs used over " + factor, X: s.over(factor)}
	for _, end := range []struct {
		name string
		used func(*sweptPoint) *float64
	}{{"CPUs used by the sender", func(p *sweptPoint) *float64 { return p.CPUs.Sender }}, {"CPUs used by the receiver", func(p *sweptPoint) *float64 { return p.CPUs.Receiver }}} {
		lines := s.lines(factor, func(p *sweptPoint) (figure.Point, bool) {
			used := end.used(p)
			if used == nil {
				return figure.Point{}, false
			}
			return figure.Point{Y: *used}, true
		})
		if len(lines) > 0 {
			c.Panels = append(c.Panels, figure.Panel{Y: figure.Axis{Name: end.name}, Series: lines})
		}
	}
	if len(c.Panels) == 0 {
		return nil
	}
	return c
}

// acks is figure 3 of the GigaSwift article: of the first run of each point, second by
// second, the data segments and how many of them one ACK answered.
func (s *swept) acks() *figure.Chart {
	var rates, ratios []figure.Series
	for i := range s.Points {
		p := &s.Points[i]
		if len(p.ACKs) == 0 || len(p.ACKs[0]) < 2 || len(rates) == mostLines {
			continue
		}
		rate, ratio := figure.Series{Name: s.where(p, ""), Look: figure.Stairs}, figure.Series{Name: s.where(p, ""), Look: figure.Stairs}
		for _, at := range p.ACKs[0] {
			rate.Points = append(rate.Points, figure.Point{X: seconds(at.At), Y: at.Rate})
			ratio.Points = append(ratio.Points, figure.Point{X: seconds(at.At), Y: none(at.Ratio)})
		}
		rates, ratios = append(rates, rate), append(ratios, ratio)
	}
	if len(rates) == 0 {
		return nil
	}
	return &figure.Chart{
		Title: "Data segments for each ACK", Says: fmt.Sprintf("Second by second, of the first run of %d points.", len(rates)), X: timeAxis,
		Panels: []figure.Panel{
			{Y: figure.Axis{Name: "data segments", Of: figure.PerSecond}, Series: rates},
			{Y: figure.Axis{Name: "data segments for each ACK"}, Series: ratios},
		},
	}
}
