//go:build !linux

package mounted

import (
	"fmt"
	"os"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

func mountApart([]setting) (*os.File, error) {
	return nil, fmt.Errorf("a mount that stands in no namespace: %w", host.ErrUnsupported)
}

func openIn(*os.File, string, bool) (*os.File, error) { return nil, host.ErrUnsupported }

func (*Trial) readAhead(unit.Size) error { return host.ErrUnsupported }
