package figure

import (
	"math"
	"strconv"
	"strings"
)

// canvas collects the elements of one picture.
type canvas struct {
	b strings.Builder
}

// end gives the picture, once all is laid out and its height is known. The title and
// the description are read aloud to those who do not see it.
func (c *canvas) end(title, says string, height float64) string {
	var out strings.Builder
	out.WriteString(`<svg class="figure" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ` + num(Width) + " " + num(height) + `"><title>` +
		escape(safe(title)) + `</title>`)
	if says != "" {
		out.WriteString(`<desc>` + escape(told(says)) + `</desc>`)
	}
	out.WriteString(c.b.String())
	out.WriteString("</svg>")
	return out.String()
}

// text writes a line with its baseline at y; anchor is "start", "middle" or "end".
func (c *canvas) text(x, y float64, anchor, class, text string) {
	if text == "" {
		return
	}
	c.b.WriteString(`<text x="` + num(x) + `" y="` + num(y) + `"`)
	if anchor != "start" {
		c.b.WriteString(` text-anchor="` + anchor + `"`)
	}
	if class != "" {
		c.b.WriteString(` class="` + class + `"`)
	}
	c.b.WriteString(">" + escape(text) + "</text>")
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.path(class, "M"+num(x1)+" "+num(y1)+"L"+num(x2)+" "+num(y2))
}

func (c *canvas) path(class, d string) {
	if d != "" {
		c.b.WriteString(`<path class="` + class + `" d="` + d + `"/>`)
	}
}

func (c *canvas) rect(class string, x, y, w, h float64) {
	c.b.WriteString(`<rect class="` + class + `" x="` + num(x) + `" y="` + num(y) + `" width="` + num(max(0, w)) + `" height="` + num(max(0, h)) + `"/>`)
}

// marker draws the sign of a series: each has a shape of its own.
func (c *canvas) marker(class string, shape int, x, y, r float64) {
	c.path(class, marker(shape, x, y, r))
}

// marker is the outline of a sign of a series.
func marker(shape int, x, y, r float64) string {
	switch shape % 6 {
	case 1:
		return polygon(x-r, y-r, x+r, y-r, x+r, y+r, x-r, y+r)
	case 2:
		return polygon(x, y-1.25*r, x+1.15*r, y+r, x-1.15*r, y+r)
	case 3:
		return polygon(x, y-1.35*r, x+1.35*r, y, x, y+1.35*r, x-1.35*r, y)
	case 4:
		return polygon(x, y+1.25*r, x+1.15*r, y-r, x-1.15*r, y-r)
	case 5:
		w := r / 2.5
		return polygon(x-w, y-1.2*r, x+w, y-1.2*r, x+w, y-w, x+1.2*r, y-w, x+1.2*r, y+w, x+w, y+w,
			x+w, y+1.2*r, x-w, y+1.2*r, x-w, y+w, x-1.2*r, y+w, x-1.2*r, y-w, x-w, y-w)
	}
	arc := "a" + num(r) + " " + num(r) + " 0 1 0 "
	return "M" + num(x-r) + " " + num(y) + arc + num(2*r) + " 0" + arc + num(-2*r) + " 0z"
}

func polygon(xy ...float64) string {
	var b strings.Builder
	for i := 0; i < len(xy); i += 2 {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + num(xy[i]) + " " + num(xy[i+1]))
	}
	return b.String() + "z"
}

// num writes a length with one decimal, which no screen shows as a difference.
func num(v float64) string {
	v = math.Round(v*10) / 10
	if v == 0 {
		v = 0 // never "-0"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

func escape(text string) string { return escaper.Replace(text) }
