package html

import (
	"fmt"
	"time"

	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/unit"
)

// requestsAxis is that of requests in rows.
var requestsAxis = figure.Axis{Name: "requests", Of: figure.PerSecond}

// requests are the figures of a test of a file.
func (g *gallery) requests(d *experiment.RequestsDocument, columns int) {
	if runs := positive(experiment.Rates(d.Runs)); len(runs) > 1 {
		g.rows(&figure.Rows{Title: "Requests a second of every run", Says: fmt.Sprintf("%s, their median and its 95 %% interval.", unit.Count(len(runs), "run")),
			X: requestsAxis, Rows: []figure.Row{rowOf("requests", "", runs, plainColor)}})
	}
	g.chart(tookFigure(d.Document), columns)
	g.chart(eachSecondFigure(d.Document), columns)
	g.bars(sharesFigure(d.Document))
	g.bars(throughFigure(d.Document))
}

// tookFigure is how many requests took longer than a time: both axes are logarithmic, so
// that one in a thousand is seen as well as half of them.
func tookFigure(d *nfs.Document) *figure.Chart {
	line := figure.Series{Name: "requests that took longer", Look: figure.Line}
	for _, at := range d.Distribution {
		if at.Share < 1 {
			line.Points = append(line.Points, figure.Point{X: at.Up / 1000, Y: 1 - at.Share})
		}
	}
	if len(line.Points) < 2 {
		return nil
	}
	l := d.Latency
	c := &figure.Chart{
		Title: "How long requests took", Says: fmt.Sprintf("Half took %s at most, 99 %% %s, 99.9 %% %s.", millis(l.P50), millis(l.P99), millis(l.P999)),
		X:      figure.Axis{Name: "from a request to its whole answer", Of: figure.RTT, Scale: figure.Tens},
		Panels: []figure.Panel{{Y: figure.Axis{Name: "requests that took longer", Of: figure.Share, Scale: figure.Tens}, Series: []figure.Series{line}}},
	}
	for _, m := range []struct {
		name string
		ms   float64
	}{{"50 %", l.P50}, {"95 %", l.P95}, {"99 %", l.P99}, {"99.9 %", l.P999}} {
		c.Marks = append(c.Marks, figure.Mark{Name: m.name, At: m.ms / 1000})
	}
	return c
}

// eachSecondFigure is the rate over time.
func eachSecondFigure(d *nfs.Document) *figure.Chart {
	if len(d.Each) < 2 {
		return nil
	}
	line := figure.Series{Name: "requests", Look: figure.Stairs, Points: []figure.Point{{X: 0, Y: d.Each[0].IOPS}}}
	for _, s := range d.Each {
		line.Points = append(line.Points, figure.Point{X: s.Until, Y: s.IOPS})
	}
	return &figure.Chart{
		Title: "Requests over time", Says: "Each step is the mean of about a second.", X: timeAxis,
		Panels: []figure.Panel{{Y: requestsAxis, Series: []figure.Series{line}, Levels: []figure.Level{{Name: "mean " + figure.PerSecond.Write(d.IOPS), At: d.IOPS}}}},
	}
}

// mostConnections have a bar each; more are told.
const mostConnections = 16

// connectionBars is a group with a bar for each connection.
func connectionBars(d *nfs.Document, parts func(nfs.ShareSummary) []float64) figure.Group {
	shown, more := first(d.Shares, mostConnections)
	var g figure.Group
	for i, share := range shown {
		g.Bars = append(g.Bars, figure.Bar{Name: fmt.Sprintf("connection %d", i+1), Parts: parts(share)})
	}
	if more > 0 {
		g.Note = fmt.Sprintf("and %d more connections", more)
	}
	return g
}

// sharesFigure is what each of several connections had of the requests.
func sharesFigure(d *nfs.Document) *figure.Bars {
	if len(d.Shares) < 2 || !(d.Seconds > 0) {
		return nil
	}
	g := connectionBars(d, func(s nfs.ShareSummary) []float64 { return []float64{float64(s.Requests) / d.Seconds} })
	g.Name = unit.Count(len(d.Shares), "connection")
	return &figure.Bars{Title: "Each connection's share", Says: "Requests are dealt out evenly; a connection that has fewer is slower than the others.",
		X: requestsAxis, Kinds: []string{"requests answered"}, Groups: []figure.Group{g}}
}

// throughFigure is what the windows let through, and how much of that was used.
func throughFigure(d *nfs.Document) *figure.Bars {
	most, ok := throughWindows(d)
	if !ok {
		return nil
	}
	g := connectionBars(d, func(s nfs.ShareSummary) []float64 {
		most, _ := throughWindow(d.Op, s.TCP)
		return []float64{s.Goodput, max(0, most-s.Goodput)}
	})
	g.Name = "window over the least round trip"
	return &figure.Bars{
		Title: "What the windows let through", Says: fmt.Sprintf("%s of %v was used. Where it is nearly all, windows are the limit: larger ones, or more connections, carry more.", unit.Percent(d.Goodput/most), unit.Rate(most)),
		X: figure.Axis{Name: "data", Of: figure.Rate}, Kinds: []string{"used", "let through, not used"}, Groups: []figure.Group{g},
	}
}

// callsFigure is how long calls and requests take, alone and beside each other.
func callsFigure(e *limit.Evidence) *figure.Bars {
	b := &figure.Bars{
		Title: "How long calls take", Says: "A handshake is the path alone, a call that does nothing also needs a thread of the server, the same block its memory, other blocks its disk.",
		X: figure.Axis{Name: "mean time", Of: figure.RTT}, Kinds: []string{"from the call to its answer"},
	}
	for _, g := range []struct {
		name string
		all  []timed
	}{
		{"one at a time", []timed{{"TCP handshake", e.Idle.Handshake}, {"does nothing", e.Idle.Null}, {"the same block", e.Again.Mean}, {"other blocks", e.Alone.Mean}}},
		{unit.Count(e.Depth, "request") + " in flight", []timed{{"TCP handshake", e.Loaded.Handshake}, {"does nothing", e.Loaded.Null}, {"requests", e.Now.Mean}}},
		{"twice as many in flight", []timed{{"TCP handshake", e.MoreLoaded.Handshake}, {"does nothing", e.MoreLoaded.Null}, {"requests", e.More.Mean}}},
	} {
		group := figure.Group{Name: g.name}
		for _, t := range g.all {
			if t.took > 0 {
				group.Bars = append(group.Bars, figure.Bar{Name: t.name, Parts: []float64{t.took.Seconds()}})
			}
		}
		if len(group.Bars) > 0 {
			b.Groups = append(b.Groups, group)
		}
	}
	if len(b.Groups) == 0 {
		return nil
	}
	return b
}

type timed struct {
	name string
	took time.Duration
}

// raisedFigure is nfs tune's way step by step, with what each brought; the proof last.
func raisedFigure(r *climb.Result) *figure.Rows {
	rows := figure.Rows{Title: "The climb", X: requestsAxis,
		Says: "Each setting that was tried, from what there was before (circle) to what it reached (diamond), with its single runs (dots) and their 95 % interval; the proof last."}
	var values []float64
	steps, more := first(r.Steps, mostSteps)
	for _, s := range steps {
		runs := positive(s.Runs)
		row := rowOf(fmt.Sprintf("%s: %s → %s", s.Setting, s.From, s.To), "brings nothing", runs, plainColor)
		if was := positive(s.Was); len(was) > 0 && len(runs) > 0 {
			row.From = rowOf("", "", was, 0).Typical
			row.Note = "brings nothing, " + unit.Factor(row.Typical/row.From)
			if s.Helps {
				row.Note, row.Color = "helps, "+unit.Factor(row.Typical/row.From), helpedColor
			}
		}
		rows.Rows = append(rows.Rows, row)
		values = append(values, runs...)
	}
	if more > 0 {
		rows.Says += fmt.Sprintf(" %d more steps are not shown.", more)
	}
	before, after := positive(r.Before.Runs), positive(r.After.Runs)
	rows.Rows = append(rows.Rows, rowOf("as it was, proven", "", before, plainColor))
	if r.Gain > 1 {
		row := rowOf("with all that helped, proven", fmt.Sprintf("%s (95 %%: %s to %s)", unit.Factor(r.Gain), unit.Factor(r.GainCI95[0]), unit.Factor(r.GainCI95[1])), after, helpedColor)
		row.From = r.Before.IOPS
		rows.Rows = append(rows.Rows, row)
	}
	rows.X.Scale = figure.ScaleOf(figure.Tens, 12, append(append(values, before...), after...)...)
	return &rows
}
