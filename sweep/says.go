package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/unit"
)

// document sums up what was measured so far.
func (r *run) document() *Document {
	d := &Document{
		Schema: "fullbore/sweep/1", Experiment: r.spec.Name, About: r.spec.About, Scenario: r.about.Scenario, Plan: r.spec.Plan,
		Factors: r.factors, Blocks: r.spec.Blocks, Seed: r.spec.Seed, Smallest: float64(r.spec.Smallest), Also: append([]string{}, r.spec.Measure.Also...), Cost: r.cost, Spent: r.spent, CPUsOf: "host",
	}
	if r.about.Shared {
		d.CPUsOf = "process"
	}
	points := r.order.points()
	search, searched := r.order.(*search)
	if searched {
		if f := r.searched(); !f.Range.From.IsNumber() {
			points = append([]Point{r.usual}, points...)
		}
	}
	d.Points = results(points, r.usual, r.measured, r.about.Shared)
	if searched {
		d.found(search, r.searched())
	} else {
		d.findEnough(r.factors, r.measured, float64(r.spec.Smallest))
	}
	d.holdBeside(r.spec.Law, r.factors, r.about)
	d.Says = d.sentence()
	return d
}

// found takes over what a search has found, as far as it got.
func (d *Document) found(s *search, f *Factor) {
	for _, step := range s.decided {
		d.Steps = append(d.Steps, Step{number(step.From), number(step.To), step.Gain, step.Pairs, step.Gains, step.Sure, step.Failed})
	}
	if !s.over || len(s.decided) == 0 {
		return
	}
	value, sure := s.enough()
	text := func(v float64) string { return number(v).Text(f.kind) }
	d.Enough = &Enough{Factor: f.name, Value: number(value), Sure: sure, Why: s.why(text), kind: f.kind}
}

// sentence says what the experiment means.
func (d *Document) sentence() string {
	var measured []*PointResult
	var best, usual *PointResult
	for i := range d.Points {
		p := &d.Points[i]
		if p.Runs == 0 {
			continue
		}
		measured = append(measured, p)
		if best == nil || p.Goodput > best.Goodput {
			best = p
		}
		if p.Present {
			usual = p
		}
	}
	if best == nil {
		return "Nothing was measured."
	}
	rest := d.acks(measured) + d.costs(best) + "."
	if d.Enough == nil {
		return d.extremes(measured, best) + rest
	}
	e := d.Enough
	text := d.enough(e)
	if usual != nil {
		for _, p := range measured {
			if p.point.onPathOf(usual.point) && (!best.point.onPathOf(usual.point) || p.Goodput > best.Goodput) {
				best = p
			}
		}
		text += "; " + d.against(usual, best)
	}
	return text + rest
}

// acks says how many data segments an ACK answered, where that is to be shown.
func (d *Document) acks(measured []*PointResult) string {
	var few, many *PointResult
	for _, p := range measured {
		if p.PerACK == nil || !slices.Contains(d.Also, "acks") {
			continue
		}
		if few == nil || *p.PerACK < *few.PerACK {
			few = p
		}
		if many == nil || *p.PerACK > *many.PerACK {
			many = p
		}
	}
	if few == many {
		return ""
	}
	return fmt.Sprintf("; an ACK answers %.2g data segments (%s) to %.2g (%s)", *few.PerACK, few.point, *many.PerACK, many.point)
}

// costs says how many CPUs the fastest point used, where CPUs are varied.
func (d *Document) costs(best *PointResult) string {
	if d.Factors.of("cpus") == nil || best.CPUs.Sender == nil || best.CPUs.Receiver == nil {
		return ""
	}
	return fmt.Sprintf("; the fastest uses %.2g CPUs to send and %.2g to receive", *best.CPUs.Sender, *best.CPUs.Receiver)
}

// enough says which value is, in each combination of the other factors if they are few.
func (d *Document) enough(e *Enough) string {
	text := fmt.Sprintf("For %s, %s is enough", e.Factor, e.Value.Text(e.kind))
	if n := len(e.Each); n == 0 || n > mostSaid {
		text += ": " + e.Why
		if !e.Sure {
			text += "; the runs scatter too much to be sure"
		}
		return text
	}
	var each []string
	same, sure := true, true
	for _, one := range e.Each {
		each = append(each, one.Value.Text(e.kind)+" with "+d.Factors.inWordsOf(one.Where))
		same, sure = same && one.Value.Equal(e.Value), sure && one.Sure
	}
	if same {
		text += " whatever else was varied"
	} else {
		text = fmt.Sprintf("For %s, enough is %s", e.Factor, strings.Join(each, ", "))
	}
	if !sure {
		text += "; not all of that is sure, as the runs scatter too much"
	}
	return text
}

// mostSaid combinations in a sentence; tables have them all.
const mostSaid = 8

// against says what the fastest point gains over the present setting.
func (d *Document) against(usual, best *PointResult) string {
	switch {
	case best == usual:
		return fmt.Sprintf("the present setting, %v, is the fastest", usual.Goodput)
	case best.Gain == nil:
		return fmt.Sprintf("the present setting carries %v, the fastest (%s) %v", usual.Goodput, best.point, best.Goodput)
	case best.Gain.Low > 1 && best.Gain.Gain >= 1+d.Smallest:
		return fmt.Sprintf("the fastest (%s) carries %v, %s the present setting's %v (95 %%: %s)", best.point, best.Goodput, share(best.Gain.Gain), usual.Goodput, between(*best.Gain))
	}
	return fmt.Sprintf("nothing is faster than the present setting, %v, by %s", usual.Goodput, unit.Percent(d.Smallest))
}

// extremes says how goodput went where no value is to be chosen.
func (d *Document) extremes(measured []*PointResult, best *PointResult) string {
	slowest := best
	for _, p := range measured {
		if p.Goodput < slowest.Goodput {
			slowest = p
		}
	}
	if best == slowest || len(measured) == 1 {
		return fmt.Sprintf("Goodput is %v with %s", best.Goodput, best.point)
	}
	text := fmt.Sprintf("Goodput is between %v (%s) and %v (%s)", slowest.Goodput, slowest.point, best.Goodput, best.point)
	if best.CI95 != nil && slowest.CI95 != nil && best.CI95[0] <= slowest.CI95[1] {
		text += ", which the scatter of the runs may well explain"
	}
	if d.Law != nil && d.Law.Residual != nil {
		text += "; " + d.Law.Says
	}
	return text
}
