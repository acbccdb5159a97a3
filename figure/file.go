package figure

import (
	"regexp"
	"strconv"
	"strings"
)

// File is the picture as a file of its own: SVG with its style inside, light or dark
// as its reader prefers. Programs that know neither show it light.
func (f Figure) File() string {
	light, dark := resolved(0), resolved(1)
	style := "svg{color:#1a1a1a;background:#fff}" + light +
		"@media (prefers-color-scheme:dark){svg{color:#e8e8e8;background:#15181c}" + colours.FindString(dark) + "}"
	head, body, _ := strings.Cut(f.SVG, ">")
	// With a margin, and as wide as it is read well: in a page, the page gives both.
	head = viewBox.ReplaceAllStringFunc(head, func(box string) string {
		height, _ := strconv.ParseFloat(viewBox.FindStringSubmatch(box)[1], 64) // canvas.end wrote it
		return `width="760" viewBox="-10 -10 ` + num(Width+20) + " " + num(height+20) + `"`
	})
	return head + "><style>" + style + "</style>" + body + "\n"
}

var (
	viewBox  = regexp.MustCompile(`viewBox="0 0 \d+ ([\d.]+)"`)
	themed   = regexp.MustCompile(`light-dark\(([^,()]+),([^,()]+)\)`)
	variable = regexp.MustCompile(`(--k\d):([^;}]+)`)
	onPage   = regexp.MustCompile(`(?s)^\.figure\{.*?\}\n`) // how it lies in a page
	colours  = regexp.MustCompile(`(?m)^\.figure \.c0\{.*\n\.figure \.f0\{.*\n`)
)

// resolved is Style with the colours of one theme in the place of functions and
// variables, which not every program that draws SVG knows.
func resolved(theme int) string {
	style := themed.ReplaceAllString(Style, []string{"$1", "$2"}[theme])
	for _, v := range variable.FindAllStringSubmatch(style, -1) {
		style = strings.ReplaceAll(style, "var("+v[1]+")", v[2])
	}
	return strings.TrimPrefix(style, onPage.FindString(style))
}
