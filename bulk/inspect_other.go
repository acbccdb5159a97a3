//go:build !linux

package bulk

import (
	"fmt"
	"runtime"
	"syscall"

	"github.com/fullbore/fullbore/host"
)

// Inspect is what the kernel knows of a connection now. Where it reports nothing,
// the error is host.ErrUnsupported.
func Inspect(syscall.Conn) (TCPInfo, error) {
	return TCPInfo{}, fmt.Errorf("get TCP_INFO on %s: %w", runtime.GOOS, host.ErrUnsupported)
}
