package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/fullbore/fullbore/metrics"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/statedir"
)

// The files that Prometheus needs to scrape a far end (docs/prometheus.md).
const (
	credentialsFile = "credentials"     // authorization: credentials_file
	certificateFile = "certificate.pem" // tls_config: ca_file
)

// metricsFor makes a far end's metrics, and the files for who may read them.
func (c *serveCmd) metricsFor(identity *peer.Identity, log *slog.Logger, serving func() peer.Activity) (*metrics.Metrics, error) {
	if err := os.MkdirAll(c.Metrics, 0o700); err != nil {
		return nil, c.noFolder(err)
	}
	for name, text := range map[string][]byte{credentialsFile: []byte(identity.MetricsSecret() + "\n"), certificateFile: identity.Certificate()} {
		if err := statedir.Keep(filepath.Join(c.Metrics, name), text); err != nil {
			return nil, c.noFolder(err)
		}
	}
	sources := metrics.ThisHost(log)
	sources.Serving = serving
	return metrics.New(sources), nil
}

func (c *serveCmd) noFolder(err error) error {
	return &hinted{err: fmt.Errorf("write what Prometheus needs: %w", err), hint: "--metrics takes a folder that this user may write to", code: exitFailed}
}

// metricsURL is where metrics are; empty: there are none.
func (c *serveCmd) metricsURL(at net.Addr) string {
	if c.Metrics == "" {
		return ""
	}
	return "https://" + at.String() + peer.MetricsPath
}
