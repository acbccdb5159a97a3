package mounted

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// readAhead is what the mount's device (its bdi) reads ahead; nil: not known.
func (p *Place) readAhead(sys string) *unit.Size {
	var s unix.Stat_t
	if unix.Stat(p.Point, &s) != nil {
		return nil
	}
	device := fmt.Sprintf("%d:%d", unix.Major(s.Dev), unix.Minor(s.Dev))
	text, err := os.ReadFile(filepath.Join(sys, "class/bdi", device, "read_ahead_kb"))
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
