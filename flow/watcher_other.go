//go:build !linux

package flow

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"

	"github.com/fullbore/fullbore/host"
)

// Watcher looks at the flows of one host, from look to look.
type Watcher struct{}

// New fails on this operating system: its error wraps host.ErrUnsupported.
func New() (*Watcher, error) {
	return nil, fmt.Errorf("watch TCP flows on %s: %w", runtime.GOOS, host.ErrUnsupported)
}

// Look takes a snapshot of all flows.
func (*Watcher) Look(context.Context) (*Snapshot, error) {
	return nil, fmt.Errorf("watch TCP flows on %s: %w", runtime.GOOS, host.ErrUnsupported)
}

// Close ends the watch.
func (*Watcher) Close() error { return nil }

// Sockets fails on this operating system: its error wraps host.ErrUnsupported.
func Sockets(context.Context, netip.AddrPort) ([]Socket, error) {
	return nil, fmt.Errorf("ask for TCP connections on %s: %w", runtime.GOOS, host.ErrUnsupported)
}
