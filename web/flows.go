package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/unit"
	"github.com/fullbore/fullbore/watch"
	"github.com/fullbore/fullbore/web/live"
)

// Flows is one look at this host's flows, as the page shows it.
type Flows struct {
	At    time.Time `json:"at"`
	Rows  []FlowRow `json:"rows"` // the fastest first
	Says  string    `json:"says"`
	Notes []string  `json:"notes,omitempty"` // what could not be seen, why, and what to do
	Error string    `json:"error,omitempty"` // why there is no look
}

// FlowRow is one flow in words.
type FlowRow struct {
	ID      string `json:"id"`
	Process string `json:"process"`
	Way     string `json:"way"` // "to 192.0.2.1:443"
	Rate    string `json:"rate"`
	RTT     string `json:"rtt"`
	Resent  string `json:"resent"`
	Limit   string `json:"limit"`
	Why     string `json:"why"`
}

const (
	lookEvery = time.Second            // while somebody watches
	lookAgain = 900 * time.Millisecond // a look that is younger is good enough
	lookStale = 3 * time.Second        // one that is older says nothing of rates
	mostFlows = 100                    // rows
)

// looker looks for all who watch.
type looker struct {
	mu      sync.Mutex
	watcher *flow.Watcher
	latest  Flows
}

// look gives the latest look, or a new one.
func (l *looker) look(ctx context.Context) Flows {
	l.mu.Lock()
	defer l.mu.Unlock()
	age := time.Since(l.latest.At)
	if age < lookAgain && l.latest.Error == "" {
		return l.latest
	}
	if err := l.renew(ctx, age > lookStale); err != nil {
		l.latest = Flows{At: time.Now().UTC(), Rows: []FlowRow{}, Error: line(err.Error())}
	}
	return l.latest
}

// renew looks; twice where there was no look a moment ago, as a rate needs two.
func (l *looker) renew(ctx context.Context, afresh bool) error {
	if l.watcher == nil {
		var err error
		if l.watcher, err = flow.New(); err != nil {
			return err
		}
	}
	snapshot, err := l.watcher.Look(ctx)
	if err == nil && afresh {
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
		snapshot, err = l.watcher.Look(ctx)
	}
	if err != nil {
		return err
	}
	l.latest = flowsOf(snapshot)
	return nil
}

func (l *looker) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watcher != nil {
		_ = l.watcher.Close()
	}
}

// flowsOf puts a look in words.
func flowsOf(s *flow.Snapshot) Flows {
	selection := watch.Selection{Sort: watch.ByRate}
	shown := selection.Of(s.Flows)
	f := Flows{At: time.Now().UTC(), Rows: []FlowRow{}}
	var sum unit.Rate
	for i := range shown {
		sum += shown[i].Goodput
	}
	f.Says = fmt.Sprintf("%d of %s move data, %v in all.", len(shown), plural(len(s.Flows), "flow"), sum)
	for _, note := range s.Notes {
		f.Notes = append(f.Notes, line(note))
	}
	for i := range shown[:min(len(shown), mostFlows)] {
		one := &shown[i]
		way := "from "
		if one.Sends {
			way = "to "
		}
		f.Rows = append(f.Rows, FlowRow{
			ID: one.ID, Process: line(cmp.Or(report.Process(one), "not known")), Way: way + report.Endpoint(one.Remote),
			Rate: one.Goodput.String(), RTT: report.RTT(one), Resent: unit.Percent(one.Lost), Limit: line(report.Limit(one)), Why: line(one.Limit.Says),
		})
	}
	return f
}

// flows shows what moves on this host now.
func (p *Page) flows(w http.ResponseWriter, r *http.Request) {
	p.show(w, r, http.StatusOK, "flows", view{Title: "Flows", Live: true, Refresh: 3, Data: p.looker.look(r.Context())})
}

// feed looks at flows as long as somebody watches, until ctx ends.
func (p *Page) feed(ctx context.Context) {
	p.Hub.Feed(ctx, live.Flows, lookEvery, func(ctx context.Context) any { return p.looker.look(ctx) })
}
