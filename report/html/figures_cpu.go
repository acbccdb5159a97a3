package html

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/unit"
)

// mostCores of one host are drawn, those that did most.
const mostCores = 12

// cpuFigure is what the cores of both ends did in the measured time, by kind.
func cpuFigure(p picked) *figure.Bars {
	b := figure.Bars{
		Title: "Processor time by core", X: figure.Axis{Name: "share of the measured time", Of: figure.Share},
		Kinds: []string{"network interrupts", "all other work", "taken by the hypervisor"},
	}
	says := ""
	for _, end := range []struct {
		e    *bulk.End
		name string
	}{{&p.result.Client, "this end"}, {&p.result.Server, "far end"}} {
		if len(end.e.CPU.Cores) == 0 {
			continue
		}
		cores := slices.Clone(end.e.CPU.Cores)
		slices.SortStableFunc(cores, func(a, b bulk.Core) int { return cmp.Compare(b.Busy, a.Busy) })
		name := end.name
		if end.e.Host != "" {
			name = clean(end.e.Host, 60) + ", " + name
		}
		g := figure.Group{Name: name}
		if len(cores) > mostCores {
			g.Note = fmt.Sprintf("and %d cores that did less, %s at most", len(cores)-mostCores, unit.Percent(cores[mostCores].Busy))
			cores = cores[:mostCores]
		}
		slices.SortStableFunc(cores, func(a, b bulk.Core) int { return cmp.Compare(a.ID, b.ID) })
		for _, c := range cores {
			interrupts, steal := max(0, c.SoftIRQ), max(0, c.Steal)
			g.Bars = append(g.Bars, figure.Bar{Name: fmt.Sprintf("core %d", c.ID), Parts: []float64{interrupts, max(0, c.Busy-interrupts-steal), steal}})
		}
		if cost := p.result.Cost(end.e); cost != nil && cost.Host != nil {
			if says != "" {
				says += "; "
			}
			says += fmt.Sprintf("%s: %s of %s busy", name, number(*cost.Host), unit.Count(cost.Cores, "CPU"))
			if cost.HostPerGB != nil {
				says += fmt.Sprintf(", %s CPU-s for each 10⁹ bytes", number(*cost.HostPerGB))
			}
		}
		b.Groups = append(b.Groups, g)
	}
	if len(b.Groups) == 0 {
		return nil
	}
	b.Says = says + "."
	return &b
}
