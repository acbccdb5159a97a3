// Package web is the page: runs that are kept and their reports, how paths went over
// time, hosts and what they are like, runs as they go on, and forms that start and stop
// them. All of it is made here, as HTML with figures in SVG; a short script moves what is
// live, and without it the page is the same but stands still.
//
// Who may see it and who may start runs is [Access]'s to say. A GET changes nothing.
package web

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report/html"
	"github.com/fullbore/fullbore/web/live"
	"github.com/fullbore/fullbore/web/task"
)

// Config is what a page is made of.
type Config struct {
	Place   string                       // where runs are kept, as record.Place gives it
	Access  *Access                      // who may
	Hub     *live.Hub                    // what is live
	Tasks   *task.Tasks                  // what is started here; nil: nothing can be
	Changes func() ([]change.Set, error) // journals of this host; nil: they are not shown
	Host    string                       // this host's name
	Metrics http.Handler                 // for /metrics; nil: none
	Log     *slog.Logger                 // nil: silent
}

// Page is an http.Handler.
type Page struct {
	Config
	router  *http.ServeMux
	loading chan struct{} // bounds how many whole runs are in memory
	looker  looker
	end     context.CancelFunc // of what goes on by itself

	mu      sync.Mutex
	store   *record.Store
	trouble error     // of opening it
	tried   time.Time // when it last was
	closed  bool
}

// mostLoading whole runs are read at a time: one can have hundreds of megabytes of samples.
const mostLoading = 3

// New makes a page. Close frees what it opens.
func New(c Config) *Page {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	p := &Page{Config: c, router: http.NewServeMux(), loading: make(chan struct{}, mostLoading)}
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /{$}":                   p.runs,
		"GET /runs/{id}":             p.run,
		"GET /runs/{id}/report.html": p.reportFile,
		"GET /runs/{id}/report.md":   p.reportFile,
		"GET /runs/{id}/run.json":    p.runFile,
		"GET /compare":               p.compare,
		"GET /paths":                 p.paths,
		"GET /paths/trend":           p.trend,
		"GET /hosts":                 p.hosts,
		"GET /hosts/{name}":          p.host,
		"GET /flows":                 p.flows,
		"GET /new":                   p.form,
		"POST /new":                  p.start,
		"GET /tasks/{id}":            p.task,
		"POST /tasks/{id}/stop":      p.stop,
		"POST /tasks/{id}/again":     p.again,
		"GET /enter":                 p.enter,
		"POST /enter":                p.enterByToken,
		"GET /static/{name}":         p.static,
		"GET /events":                p.Hub.ServeHTTP,
	} {
		p.router.HandleFunc(pattern, handler)
	}
	if c.Metrics != nil {
		p.router.Handle("GET /metrics", c.Metrics)
	}
	p.api()
	p.router.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.fail(w, r, http.StatusNotFound, "There is no such page", "The address may be mistyped, or be that of a run which was pruned.")
	})
	var ctx context.Context
	ctx, p.end = context.WithCancel(context.Background())
	go p.feed(ctx)
	return p
}

// Close ends what the page has open.
func (p *Page) Close() error {
	p.end()
	p.looker.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.store == nil {
		return nil
	}
	err := p.store.Close()
	p.store = nil
	return err
}

// again is the least time between two tries to open the record.
const tryAgain = 2 * time.Second

// record opens the store of runs when it is first asked for. A page without one works,
// and says why.
func (p *Page) record(ctx context.Context) (*record.Store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, errors.New("the page ends")
	case p.store != nil:
		return p.store, nil
	case p.trouble != nil && time.Since(p.tried) < tryAgain:
		return nil, p.trouble
	}
	p.tried = time.Now()
	p.store, p.trouble = record.Open(context.WithoutCancel(ctx), p.Place)
	return p.store, p.trouble
}

// load reads whole runs; done lets others be read.
func (p *Page) load(ctx context.Context, s *record.Store, ids ...string) (runs []*record.Run, done func(), err error) {
	select {
	case p.loading <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	done = func() { <-p.loading }
	for _, id := range ids {
		run, err := s.Load(ctx, id)
		if err != nil {
			done()
			return nil, nil, err
		}
		runs = append(runs, run)
	}
	return runs, done, nil
}

//go:embed static
var assets embed.FS

// static gives the page's own style, script and sign.
func (p *Page) static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, ok := map[string]string{"style.css": "text/css", "live.js": "text/javascript", "icon.svg": "image/svg+xml"}[name]
	if !ok {
		p.fail(w, r, http.StatusNotFound, "There is no such file", "")
		return
	}
	file := name
	if name == "style.css" {
		file = "page.css"
	}
	text, err := fs.ReadFile(assets, "static/"+file)
	if err != nil {
		panic(err) // it is embedded
	}
	if name == "style.css" {
		text = append([]byte(html.Style()), text...)
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write(text) // a browser that is gone needs no answer
}
