package peer

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// handler is the control API, and tests, behind what holds for every request: a
// pace, the token, compressed results.
func (s *Server) handler(tests http.Handler) http.Handler {
	router := s.router()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.metrics != nil && r.URL.Path == MetricsPath {
			s.serveMetrics(w, r)
			return
		}
		if s.forPage(r) {
			s.showPage(w, r)
			return
		}
		who, err := s.admit(r)
		if err != nil {
			writeProblem(w, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
		if isTest(r) {
			tests.ServeHTTP(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/result") && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			compressed := &gzipWriter{ResponseWriter: w}
			defer compressed.finish()
			w = compressed
		}
		router.ServeHTTP(w, r)
	})
}

// router is the control API, and what is said of all other addresses.
func (s *Server) router() *http.ServeMux {
	router := http.NewServeMux()
	s.api(router)
	router.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, problem(ErrGone, "there is no %s %s here: /v1/openapi.json has what there is", r.Method, oneLine(r.URL.Path)))
	})
	return router
}

// Carried is the control API for another carrier than the port's TLS: one that has made sure by itself
// that who asks may do what the token allows. It answers once Serve runs.
func (s *Server) Carried() http.Handler {
	router := s.router()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Who asks has no address here: what needs one, such as path probes, says so.
		router.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{authorised: true})))
	})
}

// admit says who sends the request, or why it is not answered.
func (s *Server) admit(r *http.Request) (caller, error) {
	from, err := remoteOfRequest(r)
	if err != nil {
		return caller{}, problem(ErrRefused, "request from the address %q", r.RemoteAddr)
	}
	who := caller{from: from}
	bearer, sent := bearerOf(r)
	who.authorised = sent && s.secret.accepts(bearer)
	if sent && !who.authorised && s.leaves.accepts(bearer) {
		who.authorised, who.guest = true, true
	}
	if who.authorised {
		return who, nil
	}
	if !s.pace.allow(from.Addr(), time.Now()) {
		return who, problem(ErrBusy, "too many requests from %v: wait a few seconds", client(from.Addr()))
	}
	if sent {
		return who, problem(ErrToken, "this far end does not know that token: use the one `fullbore serve` prints there")
	}
	return who, nil
}

// bearerOf is the secret that a request carries.
func bearerOf(r *http.Request) (bearer string, sent bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func remoteOfRequest(r *http.Request) (netip.AddrPort, error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), err
}

func writeProblem(w http.ResponseWriter, err error) {
	var model *huma.ErrorModel
	if !errors.As(err, &model) {
		model = &huma.ErrorModel{Status: http.StatusInternalServerError, Detail: err.Error()}
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(model.Status)
	_ = json.NewEncoder(w).Encode(model) // a client that is gone needs no answer
}

// gzipWriter compresses a result: samples repeat themselves, so that it shrinks
// to about a tenth, and a result should not take longer than the transfer.
type gzipWriter struct {
	http.ResponseWriter
	zip *gzip.Writer
}

func (w *gzipWriter) WriteHeader(status int) {
	if status == http.StatusOK {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Del("Content-Length")
		w.zip = gzip.NewWriter(w.ResponseWriter)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *gzipWriter) Write(b []byte) (int, error) {
	if w.zip == nil {
		return w.ResponseWriter.Write(b)
	}
	return w.zip.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *gzipWriter) finish() {
	if w.zip != nil {
		_ = w.zip.Close()
	}
}
