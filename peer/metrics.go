package peer

import (
	"encoding/pem"
	"net/http"
	"strings"
	"time"
)

// MetricsPath is where a far end has its metrics, if it has any.
const MetricsPath = "/metrics"

// metricsGate lets in who may read metrics: they name hosts, paths and the far ends of
// this host's connections.
type metricsGate struct {
	secret  secretHash
	handler http.Handler
}

// MetricsSecret opens the metrics and nothing else, so that it can lie on a monitoring
// host that must not change tunables. It is derived from the token's secret and holds
// as long as that.
func (i *Identity) MetricsSecret() string {
	secret := i.metricsSecret()
	return encoding.EncodeToString(secret[:])
}

func (i *Identity) metricsSecret() [secretSize]byte { return i.derived("fullbore metrics") }

// Certificate is that of the authority which a program has to trust, in PEM, that is to
// know this far end; the name to ask for is CertificateName. Later starts of the far end
// make others of the same key: with one of them all are trusted.
func (i *Identity) Certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.authority})
}

// serveMetrics answers who has the metrics' secret or the token.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	from, err := remoteOfRequest(r)
	if err != nil {
		writeProblem(w, problem(ErrRefused, "request from the address %q", r.RemoteAddr))
		return
	}
	bearer, _ := bearerOf(r)
	bearer = strings.TrimSpace(bearer) // a file's last line has its end
	if s.metrics.secret.accepts(bearer) || s.secret.accepts(bearer) {
		s.metrics.handler.ServeHTTP(w, r)
		return
	}
	if !s.pace.allow(from.Addr(), time.Now()) {
		writeProblem(w, problem(ErrBusy, "too many requests from %v: wait a few seconds", client(from.Addr())))
		return
	}
	writeProblem(w, problem(ErrToken, "metrics need the credentials that `fullbore serve --metrics` wrote there, or the secret of its token"))
}
