//go:build !linux

package host

import "fmt"

// Get reads a tunable's present value, blanks normalised.
func Get(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return "", fmt.Errorf("read tunable %s: %w", name, ErrUnsupported)
}

// Set writes a tunable and reads it back.
func Set(name, _ string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return fmt.Errorf("set %s: %w", name, ErrUnsupported)
}

// BootID names the present boot: tunables do not outlive it.
func BootID() (string, error) { return "", fmt.Errorf("read boot id: %w", ErrUnsupported) }

// Namespace names the calling thread's network namespace.
func Namespace() (string, error) {
	return "", fmt.Errorf("name the network namespace: %w", ErrUnsupported)
}

// BootsHere reports whether this is the network namespace that the boot's
// settings are made for.
func BootsHere() (bool, error) {
	return false, fmt.Errorf("find the network namespace: %w", ErrUnsupported)
}
