package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/peer/ndt7"
)

// web is the HTTP side of the port: over TLS the control API, plain an
// explanation of where a client is, and over both ndt7's tests. HTTP/1.1 only:
// there is nothing to multiplex, and less to get wrong.
type web struct {
	control, plainHTTP *handover
	servers            [2]*http.Server // of the control API, of plain HTTP
	tests              sync.WaitGroup  // http.Server does not wait for WebSockets
}

func (s *Server) newWeb(address net.Addr) *web {
	w := &web{control: newHandover(address), plainHTTP: newHandover(address)}
	tests := s.newNDT7(&w.tests)
	for i, handler := range []http.Handler{s.handler(tests), s.withoutTLS(tests)} {
		w.servers[i] = &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: s.patience.request,
			ReadTimeout:       s.patience.request,
			WriteTimeout:      answerWithin,
			IdleTimeout:       idleFor,
			MaxHeaderBytes:    8 << 10,
			ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
			BaseContext:       func(net.Listener) context.Context { return s.life },
			ConnContext:       ndt7.ConnContext,

			DisableGeneralOptionsHandler: true,
		}
	}
	return w
}

// serve answers on both until they are shut down.
func (w *web) serve(identity *Identity) error {
	var group errgroup.Group
	for i, listener := range []net.Listener{tls.NewListener(w.control, identity.TLS()), w.plainHTTP} {
		group.Go(func() error {
			if err := w.servers[i].Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve HTTP: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// close waits for running requests as long as ctx lasts, and for tests, which
// end with the server's life.
func (w *web) close(ctx context.Context) {
	var closing sync.WaitGroup
	for _, server := range w.servers {
		closing.Go(func() {
			if server.Shutdown(ctx) != nil {
				_ = server.Close()
			}
		})
	}
	closing.Wait()
	w.tests.Wait()
}

// give hands a connection to one of the two, at the same pace as its requests:
// a handshake costs more than most of them.
func (s *Server) give(c *opened, to *handover) {
	if !s.pace.allow(c.from.Addr(), time.Now()) {
		_ = c.Close()
		return
	}
	to.give(c)
}

// NetConn is the connection itself.
func (o *opened) NetConn() net.Conn { return o.TCPConn }

// withoutTLS answers plain HTTP. The control API is not there: its secret must not
// travel unencrypted.
func (s *Server) withoutTLS(tests http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := remoteOfRequest(r)
		if err != nil || !s.pace.allow(from.Addr(), time.Now()) {
			w.Header().Set("Connection", "close")
			http.Error(w, "too many requests: wait a few seconds", http.StatusTooManyRequests)
			return
		}
		if isTest(r) {
			tests.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{from: from})))
			return
		}
		if s.toTLS(w, r) {
			return
		}
		const says = "This is a fullbore far end. Its API is at https:// on this port (/v1/openapi.json); `fullbore test HOST` measures the path to it.\n"
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, says) // a client that is gone needs no answer
	})
}
