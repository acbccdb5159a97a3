package sweep

import (
	"strings"
)

// groups are the points that differ in one factor only, in the order of the points.
func (d *Document) groups(over string) [][]*PointResult {
	var groups [][]*PointResult
	at := map[string]int{}
	for i := range d.Points {
		key := d.Points[i].point.without(over)
		g, ok := at[key]
		if !ok {
			g = len(groups)
			at[key], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], &d.Points[i])
	}
	return groups
}

// elsewhere are the values of all factors but one.
func (p Point) elsewhere(over string) map[string]Value {
	all := p.Values()
	delete(all, over)
	return all
}

// inWordsOf writes a combination: "connections 10, direction forward"; what is not
// varied is left out.
func (f Factors) inWordsOf(where map[string]Value) string {
	var parts []string
	for i := range f {
		if v, ok := where[f[i].name]; ok && len(f[i].Values) > 1 {
			parts = append(parts, f[i].name+" "+v.Text(f[i].kind))
		}
	}
	return strings.Join(parts, ", ")
}

// chosen is the factor of which one value is to be found enough: the first with more
// than one number, and that one would choose; a path is as it is. Nil: there is none.
func (f Factors) chosen() *Factor {
	for i := range f {
		numbers := 0
		for _, v := range f[i].Values {
			if v.IsNumber() {
				numbers++
			}
		}
		if !f[i].path && f[i].name != "mss" && numbers > 1 {
			return &f[i]
		}
	}
	return nil
}

// findEnough says which value of the chosen factor is enough, in each combination of
// the others.
func (d *Document) findEnough(factors Factors, measured []Measured, margin float64) {
	f := factors.chosen()
	if f == nil {
		return
	}
	byKey := map[string][]Measured{}
	for _, m := range measured {
		byKey[m.Key] = append(byKey[m.Key], m)
	}
	text := func(v float64) string { return number(v).Text(f.kind) }
	var each []Enough
	for _, group := range d.groups(f.name) {
		var all []series
		for _, p := range group {
			if v := p.Factors[f.name]; v.IsNumber() {
				all = append(all, series{v.Number, byBlock(byKey[p.point.Key()])})
			}
		}
		if e, ok := enoughOf(all, margin, text); ok && len(all) > 1 {
			e.Factor, e.Where, e.kind = f.name, group[0].point.elsewhere(f.name), f.kind
			each = append(each, e)
		}
	}
	d.Enough = together(each, func(e Enough) string { return factors.inWordsOf(e.Where) })
}
