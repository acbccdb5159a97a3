//go:build !linux

package wire

import (
	"fmt"
	"os"

	"github.com/fullbore/fullbore/host"
)

// Wire joins two TUN devices. It exists on Linux only.
type Wire struct{}

// OpenTUN is not supported here.
func OpenTUN(string, int) (*os.File, error) {
	return nil, fmt.Errorf("open TUN device: %w", host.ErrUnsupported)
}

// Start is not supported here.
func Start(_, _ *os.File, _ int, _, _ Direction) (*Wire, error) {
	return nil, fmt.Errorf("start wire: %w", host.ErrUnsupported)
}

// RingDrops is not supported here.
func RingDrops(string) (uint64, error) {
	return 0, fmt.Errorf("read ring drops: %w", host.ErrUnsupported)
}

// Stats is always empty here.
func (*Wire) Stats() Stats { return Stats{} }

// Close does nothing here.
func (*Wire) Close() error { return nil }
