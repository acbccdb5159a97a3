package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/version"
)

//go:embed pages
var texts embed.FS

// templates are the pages, each in the frame.
var templates = func() map[string]*template.Template {
	frame := template.Must(template.New("frame.tmpl").Funcs(words).ParseFS(texts, "pages/frame.tmpl"))
	all := map[string]*template.Template{}
	for _, name := range []string{"runs", "run", "running", "compare", "paths", "trend", "hosts", "host", "flows", "new", "task", "enter", "entered", "failed"} {
		all[name] = template.Must(template.Must(frame.Clone()).ParseFS(texts, "pages/"+name+".tmpl"))
	}
	return all
}()

// words are what templates write values with. All text from elsewhere goes through
// line, as one line of a bounded length, and is escaped by the template.
var words = template.FuncMap{
	"line": func(text any) string { return line(fmt.Sprint(text)) },
	"when": func(t time.Time) template.HTML {
		if t.IsZero() {
			return ""
		}
		t = t.UTC()
		return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + t.Format("2006-01-02 15:04") + `</time>`)
	},
	"took": func(h record.Header) string {
		if h.Ended.IsZero() || h.Ended.Before(h.Started) {
			return ""
		}
		return h.Ended.Sub(h.Started).Round(time.Second).String()
	},
	"value":   valueOf,
	"came":    func(h record.Header) string { return report.Came(&h) },
	"svg":     func(f figure.Figure) template.HTML { return template.HTML(f.SVG) }, // its texts are escaped
	"trendOf": trendAddress,
	"hostOf":  hostAddress,
	"pick":    func(a bool, yes, no any) any { return map[bool]any{true: yes, false: no}[a] },
	"short":   func(id string) string { return id[max(0, len(id)-8):] },
	"plural":  plural,
	"helps":   func(step string) bool { return strings.HasPrefix(step, "helps") },
	"inLab": func(to, scenario string) string { // once is enough
		if to == "lab "+scenario {
			return ""
		}
		return scenario
	},
}

// longest text from elsewhere that a page shows, in columns.
const longest = 300

func line(text string) string {
	if len(text) > 8*longest {
		text = text[:8*longest] // bounds the work
	}
	return strings.TrimSpace(printable.Fit(printable.Line(strings.ToValidUTF8(text, " ")), longest))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// trendAddress is the page of a path over time.
func trendAddress(from, to, scenario string, kind record.Kind) string {
	q := url.Values{"from": {from}, "to": {to}, "kind": {string(kind)}}
	if scenario != "" {
		q.Set("scenario", scenario)
	}
	return "/paths/trend?" + q.Encode()
}

// hostAddress is the page of a host; empty for a name that no address can have.
func hostAddress(name string) string {
	if name == "" || name == "." || name == ".." || len(name) > longest {
		return ""
	}
	return "/hosts/" + url.PathEscape(name)
}

// view is a page as its template is filled.
type view struct {
	Title   string
	Trouble string // that concerns the whole page: why runs cannot be read
	Place   string
	Version string
	Reads   bool // whoever looks may read
	Starts  bool // and start
	Nav     []place
	Live    bool   // with the script
	Refresh int    // s after which the page is loaded again where there is no script; 0: never
	Onward  string // where it goes on by itself
	Data    any
}

// place is one of the main ones.
type place struct {
	Name, Address string
	Here          bool
}

var places = []place{{"Runs", "/", false}, {"Paths", "/paths", false}, {"Hosts", "/hosts", false}, {"Flows", "/flows", false}, {"New run", "/new", false}}

// show writes a page.
func (p *Page) show(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	who, _ := p.Access.of(r)
	v.Reads, v.Starts, v.Version = who >= reads, who >= starts, version.String()
	if v.Reads {
		for _, one := range places {
			one.Here = one.Address == r.URL.Path || one.Address != "/" && strings.HasPrefix(r.URL.Path, one.Address+"/") || one.Address == "/" && strings.HasPrefix(r.URL.Path, "/runs/")
			v.Nav = append(v.Nav, one)
		}
		if store, err := p.record(r.Context()); err == nil {
			v.Place = line(store.Place())
		}
	}
	var out bytes.Buffer
	if err := templates[name].ExecuteTemplate(&out, "frame.tmpl", &v); err != nil {
		panic(fmt.Errorf("write page %s: %w", name, err))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // a browser that is gone needs no answer
}

// fail writes why there is no such page, and what to do.
func (p *Page) fail(w http.ResponseWriter, r *http.Request, status int, what, then string) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		problemOf(w, status, what)
		return
	}
	p.show(w, r, status, "failed", view{Title: what, Data: struct{ What, Then string }{what, then}})
}

// entry is the page for those who may see nothing else.
func (p *Page) entry(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	who, _ := p.Access.of(r)
	p.show(w, r, status, "enter", view{Title: "Enter", Data: struct {
		Wrong       string
		Token, Open bool
		In          bool
	}{wrong, p.Access.options.Accepts != nil, p.Access.options.Open, who >= starts}})
}
