package host

import (
	"errors"
	"fmt"
	"regexp"
)

// tunableName is what a tunable's name looks like: words joined by dots. There
// is no way to write a path with it.
var tunableName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z0-9_-]+)+$`)

// ErrName is returned for what cannot be a tunable's name.
var ErrName = errors.New("not the name of a tunable, such as net.ipv4.tcp_rmem")

func checkName(name string) error {
	if len(name) > 128 || !tunableName.MatchString(name) {
		return fmt.Errorf("tunable %.40q: %w", name, ErrName)
	}
	return nil
}
