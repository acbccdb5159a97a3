package mounted

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// readAhead is what the mount's device (its bdi) reads ahead; nil: not known.
func (p *Place) readAhead(sys string) *unit.Size {
	file, err := readAheadOf(func(s *unix.Stat_t) error { return unix.Stat(p.Point, s) })
	if err != nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(sys, file))
	if err != nil {
		return nil
	}
	kib, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return nil
	}
	size := unit.Size(kib) * unit.KiB
	return &size
}
