//go:build !linux

package mounted

import (
	"fmt"
	"os"

	"github.com/fullbore/fullbore/host"
)

func open(string, bool) (*os.File, error) {
	return nil, fmt.Errorf("read past this host's memory: %w", host.ErrUnsupported)
}

func forget(*os.File) error { return host.ErrUnsupported }
