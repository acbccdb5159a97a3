//go:build !linux

package change

import (
	"context"
	"fmt"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/fullbore/fullbore/host"
)

func lock(context.Context, string, time.Duration) (unlock func(), err error) {
	return nil, fmt.Errorf("change tunables: %w", host.ErrUnsupported)
}

func syncDir(string) error { return nil }

// StartWatchdog starts a process that reverts the change set at its deadline,
// and immediately when this process ends without confirming.
func StartWatchdog(_, _ string) error {
	return fmt.Errorf("start watchdog: %w", host.ErrUnsupported)
}

// StartDetachedWatchdog starts a watchdog that only looks at the deadline.
func StartDetachedWatchdog(_, _ string) error {
	return fmt.Errorf("start watchdog: %w", host.ErrUnsupported)
}

func holdWatch(_, _ string) (release func()) { return func() {} }

func watched(_, _ string) bool { return false }

func mayWatch(string) bool { return false }

func replaceFile(path string, data []byte) error { return maybe.WriteFile(path, data, 0o644) }
