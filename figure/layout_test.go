package figure

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// label is a text of a picture, with the room that it takes at most.
type label struct {
	text                     string
	bold                     bool
	left, right, top, bottom float64
}

// labels reads a picture: it is well-formed, has a title, nothing that a content
// security policy without inline styles refuses, and only numbers that are numbers.
func labels(t interface{ Fatalf(string, ...any) }, svg string) (all []label, height float64) {
	d := xml.NewDecoder(strings.NewReader(svg))
	var open *label
	titled := false
	for {
		token, err := d.Token()
		if token == nil {
			if err != nil && err.Error() != "EOF" {
				t.Fatalf("not well-formed: %v\n%s", err, svg)
			}
			break
		}
		switch e := token.(type) {
		case xml.StartElement:
			if !map[string]bool{"svg": true, "title": true, "desc": true, "text": true, "path": true, "rect": true}[e.Name.Local] {
				t.Fatalf("element <%s>", e.Name.Local)
			}
			at := map[string]string{}
			for _, a := range e.Attr {
				at[a.Name.Local] = a.Value
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
					t.Fatalf("attribute %s", a.Name.Local)
				}
				if a.Name.Local != "class" && a.Name.Local != "xmlns" && (strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || strings.Contains(a.Value, "e+")) {
					t.Fatalf("%s=%q in <%s>", a.Name.Local, a.Value, e.Name.Local)
				}
			}
			switch e.Name.Local {
			case "title":
				titled = true
			case "svg":
				height, _ = strconv.ParseFloat(strings.Fields(at["viewBox"])[3], 64)
			case "text":
				x, _ := strconv.ParseFloat(at["x"], 64)
				y, _ := strconv.ParseFloat(at["y"], 64)
				open = &label{bold: at["class"] == "name", left: x, right: x, top: y - ascent, bottom: y + descent}
				switch at["text-anchor"] {
				case "middle":
					open.left, open.right = -1, x // see below
				case "end":
					open.left = -2
				}
			}
		case xml.CharData:
			if open != nil {
				open.text = string(e)
				w := width(open.text)
				if open.bold {
					w = boldWidth(open.text)
				}
				switch open.left {
				case -1:
					open.left, open.right = open.right-w/2, open.right+w/2
				case -2:
					open.left = open.right - w
				default:
					open.right = open.left + w
				}
				all = append(all, *open)
				open = nil
			}
		}
	}
	if !titled {
		t.Fatalf("a picture without a title")
	}
	return all, height
}

// Text in a picture never lies on other text, nor outside of the picture.
func apart(t interface{ Fatalf(string, ...any) }, svg string) {
	all, height := labels(t, svg)
	for i, a := range all {
		if a.left < -0.2 || a.right > Width+0.2 || a.top < -0.2 || a.bottom > height+0.2 {
			t.Fatalf("%q at %.1f to %.1f, %.1f to %.1f is not in a picture of %d x %.1f", a.text, a.left, a.right, a.top, a.bottom, Width, height)
		}
		for _, b := range all[:i] {
			if a.left < b.right-0.2 && b.left < a.right-0.2 && a.top < b.bottom-0.2 && b.top < a.bottom-0.2 {
				t.Fatalf("%q lies on %q\n%s", a.text, b.text, svg)
			}
		}
	}
}

// texts are as other hosts may send them.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"", "stream 1", "receive window", "<script>alert(1)</script>", `"'&`, "\u202eevil", "\x00\x1b[2J", "a\xffb", strings.Repeat("long ", 2000), "漢字漢字", "W"}),
	rapid.String(),
)

// numbers are as a measurement has them, and as nobody should.
var numbers = rapid.OneOf(
	rapid.Float64Range(0, 1e10),
	rapid.Float64Range(0, 1),
	rapid.Float64Range(-1e3, 1e3),
	rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1), math.Inf(-1), 1e-300, 1e300, -1e17, 1e17, 5e-13, 9.99e17}),
)

func TestTextDoesNotCollide(t *testing.T) {
	axis := func(t *rapid.T, name string) Axis {
		return Axis{texts.Draw(t, name), Quantity(rapid.IntRange(0, int(Share)).Draw(t, "of "+name)), Scale(rapid.IntRange(0, 2).Draw(t, "scale of "+name)), rapid.Bool().Draw(t, "from 0")}
	}
	points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Point {
		p := Point{X: numbers.Draw(t, "x"), Y: numbers.Draw(t, "y")}
		if rapid.Bool().Draw(t, "interval") {
			p.Low, p.High = numbers.Draw(t, "low"), numbers.Draw(t, "high")
		}
		return p
	}), 0, 60)
	t.Run("charts", rapid.MakeCheck(func(t *rapid.T) {
		c := Chart{Title: texts.Draw(t, "title"), Says: texts.Draw(t, "says"), X: axis(t, "x axis")}
		for range rapid.IntRange(0, 3).Draw(t, "panels") {
			p := Panel{Y: axis(t, "y axis")}
			for range rapid.IntRange(0, 7).Draw(t, "series") {
				p.Series = append(p.Series, Series{texts.Draw(t, "name"), Look(rapid.IntRange(0, int(Law)).Draw(t, "look")), points.Draw(t, "points")})
			}
			for range rapid.IntRange(0, 3).Draw(t, "levels") {
				p.Levels = append(p.Levels, Level{texts.Draw(t, "level"), numbers.Draw(t, "at")})
			}
			c.Panels = append(c.Panels, p)
		}
		for range rapid.IntRange(0, 5).Draw(t, "marks") {
			c.Marks = append(c.Marks, Mark{texts.Draw(t, "mark"), numbers.Draw(t, "at")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "spans") {
			c.Spans = append(c.Spans, Span{texts.Draw(t, "span"), numbers.Draw(t, "from"), numbers.Draw(t, "to")})
		}
		f := c.Draw()
		apart(t, f.SVG)
		if again := c.Draw(); again.SVG != f.SVG || fmt.Sprint(again.Table) != fmt.Sprint(f.Table) {
			t.Fatalf("the same chart twice makes two pictures")
		}
		rectangular(t, f.Table)
	}))
	t.Run("rows", rapid.MakeCheck(func(t *rapid.T) {
		r := Rows{Title: texts.Draw(t, "title"), X: axis(t, "axis")}
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			r.Rows = append(r.Rows, Row{texts.Draw(t, "name"), texts.Draw(t, "note"), rapid.SliceOfN(numbers, 0, 5).Draw(t, "dots"),
				numbers.Draw(t, "typical"), numbers.Draw(t, "low"), numbers.Draw(t, "high"), numbers.Draw(t, "from"), rapid.IntRange(0, 5).Draw(t, "color")})
		}
		f := r.Draw()
		apart(t, f.SVG)
		rectangular(t, f.Table)
	}))
	t.Run("bars", rapid.MakeCheck(func(t *rapid.T) {
		b := Bars{Title: texts.Draw(t, "title"), X: axis(t, "axis"), Kinds: rapid.SliceOfN(texts, 0, 4).Draw(t, "kinds")}
		for range rapid.IntRange(0, 3).Draw(t, "groups") {
			g := Group{Name: texts.Draw(t, "group"), Note: texts.Draw(t, "note")}
			for range rapid.IntRange(0, 6).Draw(t, "bars") {
				g.Bars = append(g.Bars, Bar{texts.Draw(t, "bar"), rapid.SliceOfN(numbers, 0, 4).Draw(t, "parts")})
			}
			b.Groups = append(b.Groups, g)
		}
		apart(t, b.Draw().SVG)
	}))
}

// rectangular: no row of a table has more cells than its head.
func rectangular(t *rapid.T, table Table) {
	for _, row := range table.Rows {
		if len(row) > len(table.Head) {
			t.Fatalf("a row of %d cells below a head of %d: %q", len(row), len(table.Head), row)
		}
	}
}

func TestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, most := texts.Draw(t, "text"), rapid.Float64Range(20, Width).Draw(t, "most")
		if cut := fit(text, most); width(cut) > most {
			t.Fatalf("%q is %.1f wide, asked for %.1f", cut, width(cut), most)
		}
	})
}
