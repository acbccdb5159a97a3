package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report/html"
	"github.com/fullbore/fullbore/web/task"
)

var runName = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// isRun says whether a text can be the identifier of a run.
func isRun(text string) bool { return runName.MatchString(text) }

// shownRun is what the page of a run shows.
type shownRun struct {
	ID      string
	Header  record.Header
	Report  template.HTML // its sections
	Wrong   string        // why there are none
	Running bool
	Task    *task.Task // that it belongs to, as far as that is known
	Again   bool       // it can be started again
	Onward  url.Values // fields of the form that goes on with this sweep; nil: that cannot be done
	Trend   string     // address of its path over time
}

// find gives the run of an address, with the store; it has answered if there is none.
func (p *Page) find(w http.ResponseWriter, r *http.Request) (store *record.Store, id string, ok bool) {
	id = r.PathValue("id")
	store, err := p.record(r.Context())
	if err != nil {
		p.fail(w, r, http.StatusServiceUnavailable, "Runs cannot be read", line(err.Error()))
		return nil, "", false
	}
	if isRun(id) {
		return store, id, true
	}
	full, err := store.Find(r.Context(), id)
	if err != nil {
		p.noRun(w, r, err)
		return nil, "", false
	}
	http.Redirect(w, r, strings.Replace(r.URL.Path, "/runs/"+id, "/runs/"+full, 1), http.StatusFound)
	return nil, "", false
}

// noRun answers that there is no such run.
func (p *Page) noRun(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, record.ErrNoRun) {
		p.fail(w, r, http.StatusNotFound, "No such run is kept", "It may have been pruned, or be of another record.")
		return
	}
	p.Log.Warn("a run cannot be read", "err", err)
	p.fail(w, r, http.StatusInternalServerError, "This run cannot be read", line(err.Error()))
}

// run is the page of one: its report; above it what moves, while it is running.
func (p *Page) run(w http.ResponseWriter, r *http.Request) {
	if now, ok := p.Hub.Run(r.PathValue("id")); ok && (now.Header.State == record.Running || !p.keeps(r.Context(), now.Header.ID)) {
		p.runningPage(w, r, &now)
		return
	}
	store, id, ok := p.find(w, r)
	if !ok {
		return
	}
	runs, done, err := p.load(r.Context(), store, id)
	if err != nil {
		p.noRun(w, r, err)
		return
	}
	defer done()
	run := runs[0]
	s := shownRun{ID: id, Header: run.Header, Running: run.State == record.Running}
	if s.Report, err = html.Sections(runs); err != nil {
		s.Wrong = line(err.Error())
	}
	if run.To != "" && run.Goodput > 0 {
		s.Trend = trendAddress(run.From, run.To, run.Scenario, run.Kind)
	}
	p.ofTask(&s)
	v := view{Title: string(run.Kind) + " " + line(run.From) + " → " + line(run.To), Data: s}
	if s.Running {
		v.Refresh, v.Live = 5, true
	}
	p.show(w, r, http.StatusOK, "run", v)
}

// keeps says whether a run that has ended here is in the record by now.
func (p *Page) keeps(ctx context.Context, id string) bool {
	store, err := p.record(ctx)
	if err != nil {
		return false
	}
	h, err := store.Get(ctx, id)
	return err == nil && h.State != record.Running
}

// ofTask adds what the page knows of who started a run.
func (p *Page) ofTask(s *shownRun) {
	if p.Tasks == nil {
		return
	}
	if t, err := p.Tasks.OfRun(s.ID); err == nil {
		s.Task = &t
		s.Again = t.State.Ended()
	}
	if next := onward(&s.Header); next != nil {
		s.Onward = fields(next)
	}
}

// compare is the page of several runs.
func (p *Page) compare(w http.ResponseWriter, r *http.Request) {
	names := r.URL.Query()["run"]
	var data struct {
		Report template.HTML
		Names  []string
		File   string
	}
	if len(names) < 2 || len(names) > mostCompared {
		p.show(w, r, http.StatusOK, "compare", view{Title: "Compare runs", Data: data})
		return
	}
	store, err := p.record(r.Context())
	if err != nil {
		p.fail(w, r, http.StatusServiceUnavailable, "Runs cannot be read", line(err.Error()))
		return
	}
	for i, name := range names {
		if names[i], err = store.Find(r.Context(), name); err != nil {
			p.noRun(w, r, err)
			return
		}
	}
	runs, done, err := p.load(r.Context(), store, names...)
	if err != nil {
		p.noRun(w, r, err)
		return
	}
	defer done()
	if data.Report, err = html.Sections(runs); err != nil {
		p.fail(w, r, http.StatusInternalServerError, "These runs cannot be compared", line(err.Error()))
		return
	}
	data.Names = names
	p.show(w, r, http.StatusOK, "compare", view{Title: "Comparison", Data: data})
}

// mostCompared runs are on one page: all of them are in memory at once.
const mostCompared = 8

// reportFile is the report as a file to mail, as HTML or Markdown.
func (p *Page) reportFile(w http.ResponseWriter, r *http.Request) {
	store, id, ok := p.find(w, r)
	if !ok {
		return
	}
	runs, done, err := p.load(r.Context(), store, id)
	if err != nil {
		p.noRun(w, r, err)
		return
	}
	defer done()
	name := "fullbore-" + id[len(id)-8:]
	if r.URL.Query().Has("redact") {
		if runs, err = html.Redact(runs); err != nil {
			p.fail(w, r, http.StatusInternalServerError, "This run cannot be redacted", line(err.Error()))
			return
		}
		name += "-redacted"
	}
	write, kind, ending := html.Write, "text/html", ".html"
	if strings.HasSuffix(r.URL.Path, ".md") {
		write, kind, ending = html.Markdown, "text/markdown", ".md"
	}
	var out bytes.Buffer
	if err := write(&out, runs); err != nil {
		p.fail(w, r, http.StatusInternalServerError, "The report cannot be written", line(err.Error()))
		return
	}
	attach(w, kind+"; charset=utf-8", name+ending)
	_, _ = w.Write(out.Bytes()) // a browser that is gone needs no answer
}

// runFile is the whole run, as fullbore history export writes it.
func (p *Page) runFile(w http.ResponseWriter, r *http.Request) {
	store, id, ok := p.find(w, r)
	if !ok {
		return
	}
	runs, done, err := p.load(r.Context(), store, id)
	if err != nil {
		p.noRun(w, r, err)
		return
	}
	defer done()
	attach(w, "application/json", "fullbore-"+id[len(id)-8:]+".json")
	_ = json.NewEncoder(w).Encode(runs[0]) // a browser that is gone needs no answer
}

// attach makes the answer a file to keep.
func attach(w http.ResponseWriter, kind, name string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+url.PathEscape(name)+`"`)
}
