package lab

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// namespaceHint says what to do when the kernel does not give this user
// namespaces.
func namespaceHint(err error) string { return namespaceHintFor(os.Geteuid(), sysctl, err) }

func namespaceHintFor(user int, sysctl func(key string) string, err error) string {
	switch {
	case user == 0:
		return ": root may not make namespaces here: a container needs --privileged, or CAP_SYS_ADMIN and CAP_NET_ADMIN"
	case sysctl("kernel/unprivileged_userns_clone") == "0":
		return ": run it with sudo, or allow it to users: sudo sysctl kernel.unprivileged_userns_clone=1"
	case sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return ": run it with sudo, or allow it to users: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
	case sysctl("user/max_user_namespaces") == "0", errors.Is(err, unix.ENOSPC):
		return ": run it with sudo, or allow it to users: sudo sysctl user.max_user_namespaces=15000"
	}
	return ": run it with sudo"
}

// tunHint says what to do when a TUN device cannot be opened.
func tunHint(err error) string {
	switch {
	case errors.Is(err, unix.ENOENT):
		return ": sudo modprobe tun; in a container, give it the device: --device /dev/net/tun"
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return ": sudo modprobe tun"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return ": run it with sudo, or allow it to users: sudo chmod 0666 /dev/net/tun"
	}
	return ""
}

// sysctl is the value of a setting of this machine, "" if there is none.
func sysctl(key string) string {
	data, _ := os.ReadFile("/proc/sys/" + key)
	return strings.TrimSpace(string(data))
}
