// Package metrics gives Prometheus what fullbore knows of this host: what the last runs
// of each path came to, which flows run and what limits them, which change sets are
// pending, and what the far end was asked for. docs/prometheus.md lists all of it.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/exposition"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/version"
)

// Sources are what metrics are made of; of one that is nil there are none.
type Sources struct {
	Record  func(context.Context) (*record.Store, error) // opens it for one scrape; nil without an error: no run was kept yet
	Flows   func() (Looker, error)                       // opens it when it is asked for the first time
	Changes func() ([]change.Set, error)                 // reads the journals
	Serving func() peer.Activity                         // of the far end that this process is
	Log     *slog.Logger                                 // says why a part has failed; nil: silent
}

// Looker looks at the flows of this host; a *flow.Watcher is one.
type Looker interface {
	Look(context.Context) (*flow.Snapshot, error)
	Close() error
}

// What a store of metrics has to keep is bounded, whatever this host does.
const (
	mostPaths = 100 // pairs of hosts and verb with series of their own: the latest
	mostFlows = 20  // flows, and processes, with series of their own: the fastest
)

const (
	// patience is how long a scrape waits for a part: half of Prometheus's usual
	// scrape_timeout of 10 s.
	patience = 5 * time.Second
	// keeps is how long an answer is given again, whoever asks how often.
	keeps = time.Second
)

// Metrics answers scrapes. All is collected when it is asked for, at most once a
// second, each part by itself: one that fails or hangs does not take the others with
// it.
type Metrics struct {
	parts    []*part
	patience time.Duration
	keeps    time.Duration

	mu   sync.Mutex // of one scrape at a time; the others wait for its answer
	text []byte
	at   time.Time
}

// New makes the handler; Close it in the end.
func New(s Sources) *Metrics {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{patience: patience, keeps: keeps}
	add := func(name string, collect func(context.Context) (string, error)) {
		m.parts = append(m.parts, &part{name: name, collect: collect, log: s.Log})
	}
	if s.Record != nil {
		add("record", (&runs{open: s.Record}).collect)
	}
	if s.Flows != nil {
		f := &flows{open: s.Flows}
		add("flows", f.collect)
		m.parts[len(m.parts)-1].close = f.close
	}
	if s.Changes != nil {
		add("changes", func(context.Context) (string, error) { return changes(s.Changes) })
	}
	if s.Serving != nil {
		add("serve", func(context.Context) (string, error) { return serving(s.Serving()), nil })
	}
	return m
}

// Close frees what was opened; no scrape may follow.
func (m *Metrics) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.parts {
		if p.close != nil && p.busy.TryLock() { // one that was left behind ends with the process
			defer p.busy.Unlock()
			return p.close()
		}
	}
	return nil
}

// ServeHTTP answers with all metrics. Who may ask is for the server to decide.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "metrics are read with GET", http.StatusMethodNotAllowed)
		return
	}
	text := m.latest()
	w.Header().Set("Content-Type", exposition.ContentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // who asked may be gone
}

// latest collects anew, unless that was done a moment ago.
func (m *Metrics) latest() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.text == nil || time.Since(m.at) >= m.keeps {
		m.text, m.at = m.collect(), time.Now()
	}
	return m.text
}

// collect asks all parts at the same time, and gives what they say in their order. It
// ends with its patience, not when who asked goes away: others wait for the same.
func (m *Metrics) collect() []byte {
	ctx, done := context.WithTimeout(context.Background(), m.patience)
	defer done()
	answers := make([]answer, len(m.parts))
	var group sync.WaitGroup
	for i, p := range m.parts {
		group.Go(func() { answers[i] = p.ask(ctx) })
	}
	group.Wait()
	own := exposition.New("fullbore_")
	own.Gauge("build_info", "Which fullbore this is; always 1.", 1, "version", version.String(), "goversion", runtime.Version(), "goos", runtime.GOOS, "goarch", runtime.GOARCH)
	var text []byte
	for i, a := range answers {
		failed := 0.0
		if a.err != nil {
			failed = 1
		}
		own.Gauge("scrape_error", "Whether a part of the metrics is missing: 1, or 0.", failed, "part", m.parts[i].name)
		own.Gauge("scrape_duration_seconds", "How long it took to collect a part of the metrics.", a.took.Seconds(), "part", m.parts[i].name)
		text = append(text, a.text...)
	}
	return append([]byte(own.String()), text...)
}
