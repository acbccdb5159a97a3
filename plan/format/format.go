// Package format writes one host's part of a plan for the system and the tools
// that carry it out, with its undo: one file a format, which registers it.
//
// Its words: a sheet is the part of a plan for one host. It has settings, each a
// tunable with the one value that it should have, and its entry in the catalogue;
// and what is left out, each with the reason. A setting is live if it can be made
// immediately and read back; its keeper is what makes it outlive a boot: a line of a
// file, or a command. A page is a file in the making, whose comments stay comments
// whatever text is in them.
//
// What a format writes may be run as root, and much of what it is made from was
// written by others: host names, reasons, names of interfaces and mounts. Text
// goes into comments, where it is one line without anything that ends a comment;
// names and values go where they are needed, checked against the catalogue and
// quoted for their place.
package format

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/printable"
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

	General bool   // it needs nothing but the system itself, on most systems: help texts name it first
	Manager string // the program that carries it out, if that sets tunables by itself too: part of host.Manager.Name, in small letters
	Remedy  string // what to do where that program is on the host
}

// File is one file of a format.
type File struct {
	Name string // relative, as it is to be called: "90-fullbore.conf"
	Text string
	Mode uint32 // permission bits: 0o644, or 0o755 for what is run

	comments *comments // how its reader tells comments from the rest
}

// registered are the formats, as their files declare them.
var registered []Format

// register makes a format known, and what its program's manager has to be told
// about. Each format's own file calls it, in its declaration.
func register(f Format) Format {
	registered = append(registered, f)
	if f.Manager != "" {
		plan.AddRemedy(f.Manager, f.Remedy)
	}
	return f
}

// All gives every format, in the order in which help texts name them: general
// ones first, then by name.
func All() []Format {
	return slices.SortedFunc(slices.Values(registered), func(a, b Format) int {
		if a.General != b.General {
			if a.General {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
}

// Find gives a format by its name, and says which there are for the host if it
// is not one of them.
func Find(name string, h *host.Facts) (*Format, error) {
	if h == nil {
		return nil, errNoHost
	}
	var names []string
	for _, f := range All() {
		if !f.For(h) {
			continue
		}
		if f.Name == name {
			return &f, nil
		}
		names = append(names, f.Name)
	}
	system := printable.Line(strings.TrimSpace(h.OS + " " + h.Version))
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no format for %s", system)
	}
	return nil, fmt.Errorf("no format %q for %s: there are %s", name, system, strings.Join(names, ", "))
}

// errNoHost is what a plan without its host's facts cannot be written for.
var errNoHost = errors.New("write plan: the facts of the host are missing")

// of makes the functions of a format from those that take a sheet.
func of(write func(*sheet) ([]File, error)) func(*plan.Plan, *host.Facts) ([]File, error) {
	return func(p *plan.Plan, h *host.Facts) ([]File, error) {
		if p == nil {
			return nil, errors.New("write plan: there is none")
		}
		if h == nil {
			return nil, errNoHost
		}
		return write(newSheet(p, h))
	}
}
