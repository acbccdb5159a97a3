//go:build !linux

package host

import "fmt"

// Counters reads the kernel's protocol counters; here it cannot.
func Counters() (map[string]int64, error) {
	return nil, fmt.Errorf("read counters: %w", ErrUnsupported)
}
