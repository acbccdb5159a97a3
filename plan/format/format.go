// Package format writes one host's part of a plan for the system and the tools
// that are to carry it out, with its undo: one file a format.
package format

import (
	"fmt"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
)

// Format is one way to write a plan.
type Format struct {
	Name  string // "ansible", as in --format
	About string // "an Ansible play"
	For   func(*host.Facts) bool
	// Write gives the files that make the changes; Undo those that take them
	// back. The host is the one whose changes are written.
	Write func(*plan.Plan, *host.Facts) ([]File, error)
	Undo  func(*plan.Plan, *host.Facts) ([]File, error)
}

// File is one file of a format.
type File struct {
	Name string // relative, as it is to be called: "90-fullbore.conf"
	Text string
	Mode uint32 // permission bits: 0o644, or 0o755 for what is run
}

// All gives every format, in the order in which help texts name them.
func All() []Format { return nil }

// Find gives a format by its name, and says which there are for the host if it
// is not one of them.
func Find(name string, h *host.Facts) (*Format, error) {
	return nil, fmt.Errorf("no format %q for %s", name, h.OS)
}
