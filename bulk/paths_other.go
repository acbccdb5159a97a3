//go:build !linux

package bulk

import (
	"fmt"
	"runtime"

	"github.com/fullbore/fullbore/host"
)

func newSendPath(path SendPath, _ *socket, _ *payload) (outlet, error) {
	return nil, fmt.Errorf("send by %s on %s: %w", path, runtime.GOOS, host.ErrUnsupported)
}

func newRecvPath(path RecvPath, _ *socket, _ int, _ bool) (inlet, error) {
	return nil, fmt.Errorf("receive by %s on %s: %w", path, runtime.GOOS, host.ErrUnsupported)
}
