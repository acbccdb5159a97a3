package figure

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
)

// sweep is goodput over the socket buffer, as on a path of 1 Gb/s and 20 ms.
func sweep() *Chart {
	var measured, runs, law []Point
	for size := 16384.0; size <= 16<<20; size *= 2 {
		g := min(965e6, size*8/0.020)
		measured = append(measured, Point{X: size, Y: g * 0.97, Low: g * 0.94, High: g})
		runs = append(runs, Point{X: size, Y: g * 0.95}, Point{X: size, Y: g * 0.99})
		law = append(law, Point{X: size, Y: g})
	}
	return &Chart{
		Title: "Goodput over the socket buffer", Says: "2 MiB are enough: twice as much brings nothing.",
		X: Axis{Name: "socket buffer", Of: Size, Scale: Doubles},
		Panels: []Panel{{Y: Axis{Name: "goodput", Of: Rate}, Series: []Series{
			{"1 stream, 95 % interval", Line, measured}, {"single runs", Dots, runs}, {"window / RTT", Law, law}},
			Levels: []Level{{"capacity", 1e9}}}},
		Marks: []Mark{{"default 208 KiB", 212992}, {"enough: 2 MiB", 2 << 20}, {"most allowed 4 MiB", 4 << 20}},
	}
}

func overTime() *Chart {
	streams := make([]Series, 3)
	for i := range streams {
		streams[i] = Series{Name: fmt.Sprintf("stream %d", i+1), Look: Stairs}
		for at := range 50 {
			y := 3e8 + 5e7*math.Sin(float64(at)/4+float64(i))
			if at == 30 && i == 1 {
				y = math.NaN()
			}
			streams[i].Points = append(streams[i].Points, Point{X: float64(at) / 10, Y: y})
		}
	}
	return &Chart{
		Title: "Goodput over time", X: Axis{Name: "time", Of: Seconds},
		Panels: []Panel{
			{Y: Axis{Name: "goodput", Of: Rate}, Series: streams},
			{Y: Axis{Name: "round trip", Of: RTT}, Series: []Series{{"RTT", Band, []Point{{0, 0.02, 0.018, 0.024}, {2, 0.03, 0.022, 0.04}, {5, 0.021, 0.02, 0.022}}}}},
		},
		Spans: []Span{{"not counted", 0, 1}},
	}
}

func climb() *Rows {
	return &Rows{Title: "The climb", X: Axis{Name: "goodput", Of: Rate}, Rows: []Row{
		{Name: "as it was", Dots: []float64{2.9e6, 3e6}, Typical: 2.95e6, From: math.NaN()},
		{Name: "try: larger receive buffers", Note: "helps: x 2.1", Dots: []float64{6e6, 6.4e6}, Typical: 6.2e6, Low: 5.9e6, High: 6.6e6, From: 2.95e6, Color: 2},
	}}
}

func cores() *Bars {
	return &Bars{Title: "Processor time", X: Axis{Name: "share of the time", Of: Share}, Kinds: []string{"network interrupts", "other work", "taken by the hypervisor"}, Groups: []Group{
		{Name: "a, sends", Bars: []Bar{{"core 0", []float64{0.1, 0.55, 0}}, {"core 1", []float64{0.02, 0.1, 0.01}}}},
		{Name: "b, receives", Bars: []Bar{{"core 0", []float64{0.45, 0.5, 0.02}}}, Note: "15 more cores below 1 %"},
	}}
}

func mesh() *Grid {
	g := &Grid{Title: "Who gets how much from whom", Says: "node2 sends less to everybody.", Name: "goodput", Of: Rate, Marked: func(i, j int) bool { return i == 1 || i == 2 && j == 3 }}
	for i := range 5 {
		g.Names = append(g.Names, fmt.Sprintf("node%d", i+1))
		row := make([]float64, 5)
		for j := range row {
			switch {
			case i == j:
			case i == 1:
				row[j] = 41.7e6
			case i == 2 && j == 3:
				row[j] = 12e6
			default:
				row[j] = 96.2e6
			}
		}
		g.Values = append(g.Values, row)
	}
	g.Values[4][0] = math.NaN() // it failed
	return g
}

// TestGridOfMany: where cells are too small for numbers and names, there is the picture alone; more hosts
// than can be drawn, or values that are missing or mad, do no harm.
func TestGridOfMany(t *testing.T) {
	for _, n := range []int{0, 1, 30, 100, 500} {
		g := &Grid{Title: "many", Name: "goodput", Of: Rate}
		for i := range n {
			g.Names = append(g.Names, fmt.Sprintf("a host of some length %d", i))
			row := make([]float64, max(0, n-i%3)) // some are short
			for j := range row {
				row[j] = []float64{1e9, 0, -1, math.Inf(1), math.NaN(), 3e8}[(i+j)%6]
			}
			g.Values = append(g.Values, row)
		}
		f := g.Draw()
		apart(t, f.SVG)
		if strings.Contains(f.SVG, "NaN") || strings.Contains(f.SVG, "Inf") || len(f.Table.Rows) > tableRows {
			t.Errorf("%d hosts: %d rows, %.200s", n, len(f.Table.Rows), f.SVG)
		}
	}
}

// What pictures and tables look like is in testdata; the page that shows them is
// report/html's.
func TestFigures(t *testing.T) {
	for name, f := range map[string]Figure{"sweep": sweep().Draw(), "over-time": overTime().Draw(), "climb": climb().Draw(), "cores": cores().Draw(), "mesh": mesh().Draw()} {
		apart(t, f.SVG)
		golden.Check(t, name+".svg", strings.ReplaceAll(f.SVG, "><", ">\n<")+"\n")
		var table strings.Builder
		for _, row := range append([][]string{f.Table.Head}, f.Table.Rows...) {
			table.WriteString(strings.Join(row, " | ") + "\n")
		}
		golden.Check(t, name+".txt", table.String()+f.Table.Note+"\n")
	}
}

// Marks of an axis have one step, are multiples of it, differ, and there are enough
// to read a value.
func TestMarksOfAnAxis(t *testing.T) {
	for _, test := range []struct {
		axis      Axis
		low, high float64
		want      string // labels
		title     string
	}{
		{Axis{Name: "goodput", Of: Rate}, 0, 965e6, "0 200 400 600 800 1000", "goodput, Mb/s"},
		{Axis{Name: "goodput", Of: Rate}, 0, 9.4e9, "0 2 4 6 8 10", "goodput, Gb/s"},
		{Axis{Name: "time", Of: Seconds}, 0, 10, "0 2 4 6 8 10", "time, s"},
		{Axis{Name: "time", Of: Seconds}, 0, 0.5, "0 100 200 300 400 500", "time, ms"},
		{Axis{Name: "buffer", Of: Size, Scale: Doubles}, 65536, 1 << 20, "64 KiB 128 KiB 256 KiB 512 KiB 1 MiB", "buffer"},
		{Axis{Name: "streams", Of: Count, Scale: Doubles}, 1, 16, "1 2 4 8 16", "streams"},
		{Axis{Name: "RTT", Of: RTT, Scale: Tens}, 0.01, 0.9, "10 20 50 100 200 500", "RTT, ms"},
		{Axis{Name: "share", Of: Share}, 0, 1, "0 20 40 60 80 100", "share, %"},
	} {
		r := newRuler(test.axis, []float64{test.low, test.high}, true)
		ticks := r.marks(true, func(ticks []tick) bool { return len(ticks) <= 6 })
		var labels []string
		for _, tick := range ticks {
			labels = append(labels, tick.label)
		}
		if got := strings.Join(labels, " "); got != test.want || r.title() != test.title {
			t.Errorf("%s from %g to %g has %q of %q, want %q of %q", test.axis.Name, test.low, test.high, got, r.title(), test.want, test.title)
		}
	}
}

// Only what lies above 0 has a place on a logarithmic axis: the rest is a gap, and no
// line that falls to the ground.
func TestNothingAtZeroOfALogarithm(t *testing.T) {
	c := Chart{X: Axis{Name: "x", Of: Count}, Panels: []Panel{{Y: Axis{Name: "y", Of: Count, Scale: Doubles}, Series: []Series{{"s", Line, []Point{{X: 0, Y: 4}, {X: 1, Y: 0}, {X: 2, Y: 8}}}}}}}
	if got := strings.Count(outline(c.Panels[0].Series[0].shown(&frame{x: &ruler{low: 0, high: 2}, y: &ruler{Axis: c.Panels[0].Y, low: 4, high: 8}}),
		&frame{width: 1, height: 1, x: &ruler{low: 0, high: 2}, y: &ruler{Axis: c.Panels[0].Y, low: 4, high: 8}}, false), "M"); got != 2 {
		t.Errorf("the line has %d pieces, want 2", got)
	}
}
