//go:build !linux

package host

import (
	"fmt"
	"net/netip"
)

// ReadLinks reads the counters of all interfaces; here it cannot.
func ReadLinks(...[2]netip.Addr) (Links, error) {
	return nil, fmt.Errorf("read interface counters: %w", ErrUnsupported)
}
