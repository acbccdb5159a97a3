// Package collector knows hosts that are not at hand: it prints a command that
// collects a host's facts with nothing but what its operating system comes
// with, reads what that command prints, and assumes what a system comes with
// where nobody asked it.
package collector

import (
	"fmt"
	"io"

	"github.com/fullbore/fullbore/host"
)

// Script gives the one command to run, as root where that shows more, on a host
// of an operating system ("solaris") and version ("10"; "": any), whose output
// Read understands.
func Script(os, version string) (string, error) {
	return "", fmt.Errorf("collect facts of %s %s: %w", os, version, host.ErrUnsupported)
}

// Read understands what a command of Script printed, and the JSON of "fullbore
// facts". It reads at most a few MB.
func Read(r io.Reader) (*host.Facts, error) {
	return nil, fmt.Errorf("read facts: %w", host.ErrUnsupported)
}

// Assume gives the facts of a host that has every tunable as its version comes
// with it. The name is of a system with a version behind it or not, as people
// write it: "solaris10", "windows2003", "linux2.4", "macos10.4", "illumos".
// Memory is in bytes, 0 if it is not known.
func Assume(name string, memory int64) (*host.Facts, error) {
	return nil, fmt.Errorf("assume facts of %s: %w", name, host.ErrUnsupported)
}
