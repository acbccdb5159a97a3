package watch

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"github.com/fullbore/fullbore/exposition"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/report"
)

// Exporter serves the latest look to Prometheus.
type Exporter struct {
	at     net.Addr
	server *http.Server
	chosen Selection              // of the flows that have metrics
	few    int                    // flows, and processes, with series of their own
	text   atomic.Pointer[[]byte] // nil: there is nothing yet
}

// mostScrapers at once: Prometheus servers ask one at a time.
const mostScrapers = 16

// Export listens on address; stop is called with the error when that fails later.
// Metrics are of the selected flows, however few of them are shown.
func Export(address string, selection Selection, few int, stop context.CancelCauseFunc) (*Exporter, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	selection.Top = 0
	e := &Exporter{at: listener.Addr(), chosen: selection, few: few}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e)
	e.server = &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 16 << 10}
	go func() {
		if err := e.server.Serve(netutil.LimitListener(listener, mostScrapers)); err != http.ErrServerClosed {
			stop(fmt.Errorf("serve metrics: %w", err))
		}
	}()
	return e, nil
}

// Addr is where it listens.
func (e *Exporter) Addr() net.Addr { return e.at }

// Close ends the service.
func (e *Exporter) Close() { _ = e.server.Close() }

// publish makes a look the latest one. The first look knows no rates yet.
func (e *Exporter) publish(look *flow.Snapshot) error {
	if look.Over <= 0 {
		return nil
	}
	var text bytes.Buffer
	if err := report.WatchMetrics(&text, look, e.chosen.Of(look.Flows), e.few); err != nil {
		return err
	}
	latest := text.Bytes()
	e.text.Store(&latest)
	return nil
}

// ServeHTTP answers with the latest look.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	text := e.text.Load()
	if text == nil {
		http.Error(w, "no rates are known yet: ask again in a moment", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", exposition.ContentType)
	_, _ = w.Write(*text) // who asked may be gone
}
