//go:build !linux

package mounted

import "github.com/fullbore/fullbore/unit"

// readAhead is not known on this operating system.
func (*Place) readAhead(string) *unit.Size { return nil }
