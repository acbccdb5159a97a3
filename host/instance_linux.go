package host

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/tunable"
)

// maxInstance bounds the name of what a tunable is of, in bytes. The longest are
// mount points; a file's name alone may have 255 bytes.
const maxInstance = 256

// checkInstance says what is wrong with the part after the @ of a tunable's
// name. What passes is an interface, a mount point or a prefix to be looked for
// among those of this host: it is never a path that is opened as it stands.
func checkInstance(scope tunable.Scope, instance string) error {
	switch scope {
	case tunable.OfInterface:
		return checkInterface(instance)
	case tunable.OfMount:
		return checkMount(instance)
	case tunable.OfRoute:
		_, err := parseDestination(instance)
		return err
	}
	if instance != "" {
		return fmt.Errorf("%.40q follows the @, but there is only one on a host", instance)
	}
	return nil
}

// checkInterface takes what the kernel takes for a name (dev_valid_name in
// net/core/dev.c), if it can be printed.
func checkInterface(name string) error {
	odd := func(r rune) bool { return r == '/' || r == ':' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if name == "" || len(name) >= unix.IFNAMSIZ || name == "." || name == ".." || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("%.40q is not the name of an interface, such as eth0", name)
	}
	return nil
}

func checkMount(dir string) error {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(dir) > maxInstance || !path.IsAbs(dir) || path.Clean(dir) != dir || strings.ContainsFunc(dir, odd) {
		return fmt.Errorf("%.40q is not a mount point, such as /mnt", dir)
	}
	return nil
}

// parseDestination reads the destination of a route in its one form:
// "198.18.0.0/15", "::/0".
func parseDestination(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Masked().String() != text || prefix.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%.40q is not the destination of a route, such as 198.18.0.0/15 or 0.0.0.0/0", text)
	}
	return prefix, nil
}

// errInstance: the name is right, but nothing of that name is here.
var errInstance = errors.New("not there")
