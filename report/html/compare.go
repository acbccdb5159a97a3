package html

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// comparison sets several runs beside each other.
type comparison struct {
	Headline string
	Of       string // what is compared
	Runs     []comparedRun
	Pictures []picture
	Numbers  []string // heads of Differs' columns
	Differs  []change // of hosts and command lines, a value for each run
	Left     int
}

// comparedRun is one of them.
type comparedRun struct {
	Number                                     int
	Kind, Way, Started, Verdict, Command       string
	Goodput, Interval, Against, Again, Latency string
}

// mostColumns is how many runs stand beside each other in the table of what differs.
const mostColumns = 6

func newComparison(runs []*record.Run, l limits) *comparison {
	if len(runs) < 2 {
		return nil
	}
	c := &comparison{Of: "goodput"}
	axis, requests := runsAxis, onlyRequests(runs)
	if requests {
		c.Of, axis = "requests a second", requestsAxis
	}
	rows := figure.Rows{Title: strings.TrimSuffix(sentence(c.Of), ".") + " of each run", X: axis, Says: "Single runs as dots, their median as a diamond, its 95 % interval as a bar."}
	var base []float64
	for i, run := range runs {
		docs := read(run)
		all := came(run, &docs, requests)
		s := summarise(run, l)
		row := comparedRun{
			Number: i + 1, Kind: s.Kind, Way: s.From + " → " + s.To, Started: s.Started, Verdict: s.Headline, Command: clean(strings.Join(run.Command, " "), l.text),
			Goodput: "not measured",
		}
		if len(all) > 0 {
			row.Goodput = axis.Of.Write(stat.Median(all))
			if low, high := interval(all); high > 0 {
				row.Interval = axis.Of.Write(low) + " to " + axis.Of.Write(high)
			}
			if row.Against = "–"; base == nil {
				base = all
			} else {
				row.Against = against(base, all)
			}
		}
		if p := chosen(run); len(p) > 0 {
			f := p[len(p)-1].result.Figures(p[len(p)-1].result.Spec.Directions()[0])
			if f.Repeated != nil && f.Repeated.Share != nil {
				row.Again = unit.Percent(*f.Repeated.Share)
			}
			if f.LoadedRTT != nil {
				row.Latency = unit.Milliseconds(f.LoadedRTT.Median)
			}
		}
		if i == 1 && len(runs) == 2 && row.Against != "" {
			c.Headline = fmt.Sprintf("Run 2 against run 1: %s", row.Against)
		}
		c.Runs = append(c.Runs, row)
		rows.Rows = append(rows.Rows, rowOf(fmt.Sprintf("%d: %s, %s", i+1, row.Way, row.Started), strings.TrimPrefix(row.Against, "–"), all, i%figure.Colors))
	}
	if c.Headline == "" {
		c.Headline = fmt.Sprintf("%d runs compared", len(runs))
	}
	g := gallery{}
	g.rows(&rows)
	c.Pictures = g.Pictures
	c.differs(runs, l)
	return c
}

// onlyRequests says that all runs count requests: then these are compared.
func onlyRequests(runs []*record.Run) bool {
	return !slices.ContainsFunc(runs, func(r *record.Run) bool { return !r.Kind.CountsRequests() })
}

// against is a run's goodput divided by the first one's, with its interval where both
// were repeated.
func against(base, all []float64) string {
	if len(base) < 2 || len(all) < 2 {
		return unit.Factor(stat.Median(all)/stat.Median(base)) + ", without an interval"
	}
	e := stat.RatioAt(0.95, base, all)
	return fmt.Sprintf("%s (95 %%: %s to %s)", unit.Factor(e.Gain), unit.Factor(e.Low), unit.Factor(e.High))
}

// differs lists what else is not the same: a difference in goodput comes from
// something.
func (c *comparison) differs(runs []*record.Run, l limits) {
	runs, c.Left = first(runs, mostColumns)
	for i := range runs {
		c.Numbers = append(c.Numbers, fmt.Sprintf("run %d", i+1))
	}
	general := make([]map[string]string, len(runs))
	for i, run := range runs {
		general[i] = map[string]string{"command": strings.Join(run.Command, " "), "version": run.Version, "scenario": run.Scenario}
	}
	c.Differs = differing("", l, general...)
	for _, side := range []struct {
		side record.Side
		name string
	}{{record.Near, "this end"}, {record.Far, "far end"}} {
		all := make([]map[string]string, len(runs))
		for i, run := range runs {
			if h := factsOf(run, side.side, record.Before); h != nil {
				all[i] = map[string]string{" name": h.Name, " system": strings.TrimSpace(h.OS + " " + h.Version), " processors": fmt.Sprint(h.CPUs)}
				maps.Copy(all[i], h.Tunables)
			}
		}
		c.Differs = append(c.Differs, differing(side.name, l, all...)...)
	}
	var left int
	c.Differs, left = first(c.Differs, 3*l.list)
	c.Left += left
}
