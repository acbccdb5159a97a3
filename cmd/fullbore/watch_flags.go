package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/report"
)

// selection reads the flags.
func (c *watchCmd) selection() (*report.Selection, error) {
	switch {
	case c.Interval < shortestInterval || c.Interval > longestInterval:
		return nil, usageError("--interval: %v: use %v to %v", c.Interval, shortestInterval, longestInterval)
	case c.For < 0 || c.For > 0 && c.For < c.Interval:
		return nil, usageError("--for: %v ends before the first look, after %v", c.For, c.Interval)
	case c.Count < 0:
		return nil, usageError("--count: %d: use 1 or more", c.Count)
	case c.Top < 0:
		return nil, usageError("--top: %d: use 1 or more", c.Top)
	case c.PrometheusFlows < 0 || c.PrometheusFlows > mostExported:
		return nil, usageError("--prometheus-flows: %d: use 0 to %d", c.PrometheusFlows, mostExported)
	case c.Once && c.PrometheusListen != "":
		return nil, usageError("--once ends before anyone could ask for metrics: use --prometheus-listen without it")
	case c.Once && (c.For > 0 || c.Count > 0):
		return nil, usageError("--once is one look: use --for and --count without it")
	}
	s := &report.Selection{Processes: c.Process, Ports: c.Port, Causes: c.Cause, Idle: c.All, Sort: report.Order(c.Sort), Top: c.Top}
	for _, text := range c.Remote {
		remote, err := parseRemote(text)
		if err != nil {
			return nil, usageError("--remote: %w", err)
		}
		s.Remotes = append(s.Remotes, remote)
	}
	for _, cause := range c.Cause {
		if !diagnose.Known(cause) {
			return nil, usageError("--cause: %q is not a cause: use %s", cause, strings.Join(causes(), ", "))
		}
	}
	if slices.Contains(c.Port, 0) {
		return nil, usageError("--port: 0: use 1 to 65535")
	}
	return s, nil
}

// Looking more often costs more than it shows; a flow's state of an hour ago is
// nothing that limits it now.
const (
	shortestInterval = 100 * time.Millisecond
	longestInterval  = time.Hour
)

// mostExported flows with series of their own are far more than anyone graphs.
const mostExported = 1000

// parseRemote reads an address or a prefix of addresses.
func parseRemote(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		address = address.Unmap().WithZone("")
		return address.Prefix(address.BitLen())
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, fmt.Errorf("%q is neither an address nor a prefix such as 192.0.2.0/24", text)
	}
	return prefix.Masked(), nil
}

func causes() []string {
	var out []string
	for _, c := range diagnose.Causes {
		out = append(out, c.ID)
	}
	return out
}
