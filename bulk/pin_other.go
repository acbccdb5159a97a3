//go:build !linux

package bulk

import (
	"fmt"
	"runtime"

	"github.com/fullbore/fullbore/host"
)

// Place pins the i-th stream's thread to no CPU.
func (s Spec) Place(conn Conn, _ int) (cpus []int, note string, err error) {
	if list := s.cpus(conn.Server); list != "" {
		return nil, "", fmt.Errorf("pin to CPUs %s on %s: %w", list, runtime.GOOS, host.ErrUnsupported)
	}
	return nil, "", nil
}

func pin([]int) (unpin func() bool, err error) { return func() bool { return true }, nil }
