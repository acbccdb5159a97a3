package lab

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Whoever cannot start a lab reads what to do: root in a container, or a user of one
// of the distributions that restrict namespaces, each in its own way.
func TestHints(t *testing.T) {
	for _, test := range []struct {
		what    string
		user    int
		sysctls map[string]string
		err     error
		want    string
	}{
		{"root", 0, map[string]string{"user/max_user_namespaces": "0"}, unix.EPERM, "--privileged"},
		{"Debian", 7, map[string]string{"kernel/unprivileged_userns_clone": "0"}, unix.EPERM, "sudo sysctl kernel.unprivileged_userns_clone=1"},
		{"Ubuntu", 7, map[string]string{"kernel/unprivileged_userns_clone": "1", "kernel/apparmor_restrict_unprivileged_userns": "1"}, unix.EACCES, "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		{"none are allowed", 7, map[string]string{"user/max_user_namespaces": "0"}, unix.EPERM, "sudo sysctl user.max_user_namespaces=15000"},
		{"all are in use", 7, map[string]string{"user/max_user_namespaces": "5"}, unix.ENOSPC, "sudo sysctl user.max_user_namespaces=15000"},
		{"why is not known", 7, map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "0", "user/max_user_namespaces": "5"}, unix.EPERM, ": run it with sudo"},
	} {
		got := namespaceHintFor(test.user, func(key string) string { return test.sysctls[key] }, fmt.Errorf("fork: %w", test.err))
		if !strings.HasSuffix(got, test.want) && !strings.Contains(got, test.want+",") {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
	for err, want := range map[error]string{
		unix.ENOENT: ": sudo modprobe tun; in a container, give it the device: --device /dev/net/tun",
		unix.ENODEV: ": sudo modprobe tun", unix.ENXIO: ": sudo modprobe tun",
		unix.EACCES: ": run it with sudo, or allow it to users: sudo chmod 0666 /dev/net/tun",
		unix.EPERM:  ": run it with sudo, or allow it to users: sudo chmod 0666 /dev/net/tun",
		unix.EBUSY:  "",
	} {
		if got := tunHint(fmt.Errorf("open: %w", err)); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := sysctl("kernel/ostype"); got != "Linux" {
		t.Errorf("kernel.ostype is %q", got)
	}
}
