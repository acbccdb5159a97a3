package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/fullbore/fullbore/metrics"
	"github.com/fullbore/fullbore/peer"
)

// The files that Prometheus needs to scrape a far end (docs/prometheus.md).
const (
	credentialsFile = "credentials"     // authorization: credentials_file
	certificateFile = "certificate.pem" // tls_config: ca_file
)

// metricsFor makes a far end's metrics, and the files for who may read them.
func (c *serveCmd) metricsFor(identity *peer.Identity, log *slog.Logger, serving func() peer.Activity) (*metrics.Metrics, error) {
	for name, text := range map[string][]byte{credentialsFile: []byte(identity.MetricsSecret() + "\n"), certificateFile: identity.Certificate()} {
		if err := writeWhole(c.Metrics, name, text); err != nil {
			return nil, &hinted{err: fmt.Errorf("write what Prometheus needs: %w", err), hint: "--metrics takes a folder that this user may write to", code: exitFailed}
		}
	}
	sources := metrics.ThisHost(log)
	sources.Serving = serving
	return metrics.New(sources), nil
}

// writeWhole replaces a file of a folder, for its owner only, so that who reads it
// meanwhile has the old or the new one.
func writeWhole(dir, name string, text []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(dir, "."+name+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // once renamed it is gone
	_, err = temporary.Write(text)
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), filepath.Join(dir, name))
}

// metricsURL is where metrics are; empty: there are none.
func (c *serveCmd) metricsURL(at net.Addr) string {
	if c.Metrics == "" {
		return ""
	}
	return "https://" + at.String() + peer.MetricsPath
}
