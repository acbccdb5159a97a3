package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// mostPaths is how many paths and hosts are listed: those that were measured last.
const mostPaths = 200

// pathRow is one path in the list, with each verb that measured it.
type pathRow struct {
	From, To, Scenario string
	Last               time.Time
	Of                 []record.Path
}

func (p *Page) paths(w http.ResponseWriter, r *http.Request) {
	var rows []*pathRow
	v := view{Title: "Paths"}
	var all []record.Path
	store, err := p.record(r.Context())
	if err == nil {
		all, err = store.Paths(r.Context(), mostPaths)
	}
	if err != nil {
		v.Trouble = p.noRecord(err)
	}
	for _, one := range all {
		i := slices.IndexFunc(rows, func(row *pathRow) bool {
			return row.From == one.From && row.To == one.To && row.Scenario == one.Scenario
		})
		if i < 0 {
			i = len(rows)
			rows = append(rows, &pathRow{From: one.From, To: one.To, Scenario: one.Scenario, Last: one.Last})
		}
		rows[i].Of = append(rows[i].Of, one)
	}
	v.Data = struct {
		Paths []*pathRow
		More  bool
	}{rows, len(all) == mostPaths}
	p.show(w, r, http.StatusOK, "paths", v)
}

// stretch is a level of a path, or a change of its hosts, in the order of time.
type stretch struct {
	At      time.Time
	Level   *record.Level
	Against string // of a level: the one before
	Change  *record.Dated
}

// trendPage is a path over time.
type trendPage struct {
	*record.Trend
	Kinds     []record.Kind
	Since     string
	Wrong     string
	Figure    *figure.Figure
	Stretches []stretch
	Latest    []record.Header
	Back      string // the same path the other way
}

// trend shows how a path went, where its level moved, and what was changed meanwhile.
func (p *Page) trend(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	by := record.Filter{From: q.Get("from"), To: q.Get("to"), Kind: record.Kind(q.Get("kind"))}
	if by.Kind == "" {
		by.Kind = record.Test
	}
	if by.From == "" || by.To == "" || !slices.Contains(kinds, by.Kind) {
		p.fail(w, r, http.StatusNotFound, "There is no such path", "An address names two hosts and the verb that measured them. The page of paths lists those that are kept.")
		return
	}
	page := trendPage{Kinds: kinds[:len(kinds)-1], Since: strings.TrimSpace(line(q.Get("since")))}
	status := http.StatusOK
	var err error
	if by.Since, err = record.ParseTime(page.Since, time.Now()); err != nil {
		page.Wrong, status = "Since: "+err.Error(), http.StatusBadRequest
	}
	v := view{Title: line(by.From) + " → " + line(by.To)}
	page.Trend = &record.Trend{From: by.From, To: by.To, Scenario: q.Get("scenario"), Kind: by.Kind}
	store, err := p.record(r.Context())
	if err == nil {
		var t *record.Trend
		if t, err = store.Trend(r.Context(), by, q.Get("scenario")); err == nil {
			page.Trend = t
		}
	}
	if err != nil {
		v.Trouble = p.noRecord(err)
	}
	if len(page.Runs) > 0 {
		drawn := drawTrend(page.Trend)
		page.Figure = &drawn
		page.Stretches = stretches(page.Trend)
		page.Latest = slices.Clone(page.Runs[max(0, len(page.Runs)-20):])
		slices.Reverse(page.Latest)
	}
	page.Back = trendAddress(by.To, by.From, q.Get("scenario"), by.Kind)
	v.Data = page
	p.show(w, r, status, "trend", v)
}

// stretches puts levels and changes in one order. A change that the first run of a
// level made, or found, comes before that level.
func stretches(t *record.Trend) (all []stretch) {
	changes := t.Changes
	for i := range t.Levels {
		level := &t.Levels[i]
		for len(changes) > 0 && i > 0 && !changes[0].At.After(level.Since) {
			all = append(all, stretch{At: changes[0].At, Change: &changes[0]})
			changes = changes[1:]
		}
		s := stretch{At: level.Since, Level: level}
		if is := t.Level(level); i > 0 {
			if was := t.Level(&t.Levels[i-1]); was.Typical > 0 {
				s.Against = unit.Factor(is.Typical / was.Typical)
			}
		}
		all = append(all, s)
	}
	for i := range changes {
		all = append(all, stretch{At: changes[i].At, Change: &changes[i]})
	}
	return all
}

// mostMarks is how many changes have a line in the figure: the latest.
const mostMarks = 6

// drawTrend draws single runs, the levels through them, and the changes that fell
// into their time.
func drawTrend(t *record.Trend) figure.Figure {
	seconds := func(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }
	single := figure.Series{Name: "single runs", Look: figure.Dots}
	for _, h := range t.Runs {
		single.Points = append(single.Points, figure.Point{X: seconds(h.Started), Y: t.Of(&h)})
	}
	level := figure.Series{Name: "level, with its 95 % interval", Look: figure.Band}
	for i, l := range t.Levels {
		until := t.Runs[len(t.Runs)-1].Started
		if i+1 < len(t.Levels) {
			until = t.Levels[i+1].Since
		}
		is := t.Level(&l)
		for _, at := range []time.Time{l.Since, until} {
			level.Points = append(level.Points, figure.Point{X: seconds(at), Y: is.Typical, Low: is.Low, High: is.High})
		}
		if i+1 < len(t.Levels) { // the next level is another one: no line leads there
			level.Points = append(level.Points, figure.Point{X: seconds(until), Y: gap})
		}
	}
	y := figure.Axis{Name: "goodput", Of: figure.Rate}
	if t.Kind.CountsRequests() {
		y = figure.Axis{Name: "requests", Of: figure.PerSecond}
	}
	c := figure.Chart{
		Title:  fmt.Sprintf("%s of each %s", capital(y.Name), t.Kind.Verb()),
		Says:   says(t),
		X:      figure.Axis{Name: "started (UTC)", Of: figure.Date},
		Panels: []figure.Panel{{Y: y, Series: []figure.Series{level, single}}},
	}
	for _, d := range t.Changes[max(0, len(t.Changes)-mostMarks):] {
		name := d.Tunable
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			name = name[i+1:]
		}
		mark := figure.Mark{Name: line(name), At: seconds(d.At)}
		if n := len(c.Marks); n > 0 && c.Marks[n-1].At == mark.At {
			c.Marks[n-1].Name = "several changes"
			continue
		}
		c.Marks = append(c.Marks, mark)
	}
	return c.Draw()
}

// says is what a trend comes to, in a sentence.
func says(t *record.Trend) string {
	last := t.Levels[len(t.Levels)-1]
	is := t.Level(&last).Typical
	if len(t.Levels) == 1 {
		return fmt.Sprintf("%s on one level: %s. No run differs from the others by more than chance lets them.", plural(len(t.Runs), "run"), valueOf(t.Kind, is))
	}
	return fmt.Sprintf("%s on %d levels; the last one, since %s, is %s, %s the one before.", plural(len(t.Runs), "run"), len(t.Levels), last.Since.UTC().Format(time.DateOnly),
		valueOf(t.Kind, is), unit.Factor(is/t.Level(&t.Levels[len(t.Levels)-2]).Typical))
}

// valueOf writes what a verb's levels are of: goodput, or requests.
func valueOf(kind record.Kind, v float64) string {
	if kind.CountsRequests() {
		return figure.PerSecond.Write(v)
	}
	return unit.Rate(v).String()
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
