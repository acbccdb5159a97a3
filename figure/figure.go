// Package figure draws measurements as SVG: lines over time, values over a factor
// with their intervals, distributions, steps, and stacked bars. The same data make
// the same bytes. Colours are those of the page around it ([Style]), so that a
// figure follows its theme and prints; each has its numbers as a table too.
//
// gonum.org/v1/plot v0.17.0 was tried on three real figures first. It draws fixed
// colours on a white ground, its legend and its tick labels lie on top of each other
// and of the lines, and each of its elements has a style attribute, which a strict
// content security policy refuses: hence a drawing of our own.
package figure

import (
	"math"
	"strings"

	"github.com/fullbore/fullbore/printable"
)

// Figure is a picture, and the numbers behind it.
type Figure struct {
	Title string
	Says  string // what is to be seen, in a sentence
	SVG   string // one <svg> element, for a page that has Style
	Table Table
}

// Table are the numbers behind a picture, as text with units.
type Table struct {
	Head []string
	Rows [][]string
	Note string // what a row is, if it is not one point
}

// Point is one value. What is not a number is a gap.
type Point struct {
	X, Y      float64
	Low, High float64 // its interval; both 0: none
}

// Look is how a series is drawn.
type Look int

// The looks of a series.
const (
	Line   Look = iota // from point to point; intervals as whiskers, markers where points are few
	Stairs             // a value holds since the point before: a rate, a count
	Band               // a line in the area between Low and High
	Dots               // points by themselves: single runs
	Law                // a thin line: what a formula says
)

// Series are the points of one name, in the order of X. The first of each panel has the
// first colour: its legend is its own.
type Series struct {
	Name   string
	Look   Look
	Points []Point
}

// Level is a horizontal line: what a path can carry, for example.
type Level struct {
	Name string
	At   float64
}

// Mark is a vertical line with its name above it: the value that was chosen.
type Mark struct {
	Name string
	At   float64
}

// Span is a stretch of the x axis that is shaded.
type Span struct {
	Name     string
	From, To float64
}

// Panel is one plot of a chart, with a y axis of its own.
type Panel struct {
	Y      Axis
	Series []Series
	Levels []Level
}

// Chart is one plot, or several below each other which share their x axis: two
// quantities in one plot with two y axes would have to be guessed apart.
type Chart struct {
	Title  string
	Says   string
	X      Axis
	Panels []Panel
	Marks  []Mark
	Spans  []Span
	Detail int // most columns in which a line keeps its least and its most; 0: Columns
}

// Columns is how many columns a line has at most: with five points in each, 2,000.
const Columns = 400

// Width of every figure in its own units; text is 12 of them high. A page that is
// wide shows two beside each other, a phone one of them at three quarters of its size.
const Width = 480

// safe is text from elsewhere as one line that is not too long for a table, told one
// that is not too long for a caption.
func safe(text string) string { return shortened(text, 120) }
func told(text string) string { return shortened(text, 400) }

func shortened(text string, columns int) string {
	return printable.Fit(printable.Line(strings.ToValidUTF8(clip(text, 4*columns), " ")), columns)
}

// clip bounds the work on texts of any length.
func clip(text string, bytes int) string {
	if len(text) > bytes {
		return text[:bytes]
	}
	return text
}

// finite says that a value can be drawn. Far ends may report any number.
func finite(v float64) bool { return !math.IsNaN(v) && math.Abs(v) < 1e18 }

// interval says that a point has one.
func (p Point) interval() bool {
	return (p.Low != 0 || p.High != 0) && finite(p.Low) && finite(p.High) && p.Low <= p.High
}
