//go:build !linux

package host

import "fmt"

// ReadTCPMemory reads the memory that TCP holds; here it cannot.
func ReadTCPMemory() (TCPMemory, error) {
	return TCPMemory{}, fmt.Errorf("read TCP's memory: %w", ErrUnsupported)
}
