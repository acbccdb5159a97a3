package figure

import (
	"math"
	"slices"
	"strconv"
)

// Grid is what each of many has with each other: a row for who sends, a column for who receives. Each
// cell is as dark as it is below what is usual, so that who has less with all is a stripe, and two that
// have less with each other are a dot.
type Grid struct {
	Title  string
	Says   string
	Name   string // of the values
	Of     Quantity
	Names  []string
	Values [][]float64 // more is better; not above 0: not measured
	Marked func(row, column int) bool
}

// Steps of a cell's darkness: below so much of the median it is the next one. 93 % is where fleet/sick
// begins to look.
var gridSteps = [...]float64{0.93, 0.75, 0.5, 0.25}

const (
	mostInGrid = 200              // more is the document's business
	mostNamed  = 60               // more have no room for their names
	numbered   = 30.0             // a cell so wide has its value written in it
	leastRow   = ascent + descent // of one with a name beside it
	mostRow    = 26.0
	mostCell   = 44.0
)

// Draw makes the picture and the table.
func (g *Grid) Draw() Figure {
	var out canvas
	n := min(len(g.Names), len(g.Values), mostInGrid)
	usual := g.usual()
	per := g.Of.prefix(usual)
	left := 0.0
	if n <= mostNamed {
		for i := range n {
			left = max(left, width(g.label(i))+gap)
		}
	}
	cell := min((Width-left)/float64(max(n, 1)), mostCell)
	high := cell
	if left > 0 {
		high = max(leastRow, min(cell, mostRow))
	}
	top := line + 2
	for i := range n {
		if cell >= 2*leastRow {
			out.text(left+(float64(i)+0.5)*cell, top-6, "middle", "weak", strconv.Itoa(i+1))
		}
		if left > 0 {
			out.text(left-gap, top+float64(i)*high+high/2+4, "end", "", g.label(i))
		}
		for j, v := range g.Values[i][:min(n, len(g.Values[i]))] {
			x, y := left+float64(j)*cell, top+float64(i)*high
			room := min(1, cell/8)
			switch {
			case !finite(v) || v <= 0:
				out.rect("span", x, y, cell-room, high-room)
				continue
			default:
				out.rect("box h"+digit(step(v, usual)), x, y, cell-room, high-room)
			}
			if g.Marked != nil && g.Marked(i, j) {
				out.rect("hollow", x, y, cell-room, high-room)
			}
			if text := short(math.Round(v/per.per*10) / 10); cell >= numbered && width(text) <= cell-2 {
				out.text(x+(cell-room)/2, y+high/2+4, "middle", "", text)
			}
		}
	}
	bottom := top + float64(n)*high + 4
	out.text(0, bottom+ascent, "start", "name", fitBold(g.Name+", "+per.name+": rows send, columns receive", Width))
	out.text(0, bottom+line+ascent, "start", "weak", fit("The darker, the further below the median, "+g.Of.Write(usual)+"; framed: named above.", Width))
	return Figure{Title: safe(g.Title), Says: told(g.Says), SVG: out.end(g.Title, g.Says, bottom+2*line+4), Table: g.table()}
}

// label is a row's number and name.
func (g *Grid) label(i int) string { return fit(strconv.Itoa(i+1)+"  "+g.Names[i], Width/3) }

// usual is the median of what was measured.
func (g *Grid) usual() float64 {
	var all []float64
	for _, row := range g.Values {
		for _, v := range row {
			if finite(v) && v > 0 {
				all = append(all, v)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// step is how dark a value is: 0 to len(gridSteps).
func step(v, usual float64) int {
	for i, share := range gridSteps {
		if v >= share*usual {
			return i
		}
	}
	return len(gridSteps)
}

func (g *Grid) table() Table {
	t := Table{Head: []string{"from"}, Note: "A row is what one host sent to each of the others."}
	n := min(len(g.Names), len(g.Values), tableRows)
	for i := range n {
		t.Head = append(t.Head, "to "+safe(g.Names[i]))
	}
	for i := range n {
		row := []string{safe(g.Names[i])}
		for j := range n {
			text := "–"
			if j < len(g.Values[i]) && g.Values[i][j] > 0 {
				text = g.Of.Write(g.Values[i][j])
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	if left := len(g.Names) - n; left > 0 {
		t.Note += " " + strconv.Itoa(left) + " more hosts are in the run's document."
	}
	return t
}
