package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// BootID names the present boot: tunables do not outlive it.
func BootID() (string, error) { return root("/").bootID() }

func (r root) bootID() (string, error) {
	id, err := readBounded(string(r) + "/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(id), nil
}

// Namespace names the calling thread's network namespace, which has its own
// tunables. The kernel never uses a cookie twice in one boot (socket option
// SO_NETNS_COOKIE, since 5.14); inode numbers, which older kernels are left
// with, come back.
func Namespace() (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(fd)
		cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
		if err == nil {
			return fmt.Sprintf("net:cookie:%d", cookie), nil
		}
	}
	link, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		return "", fmt.Errorf("name the network namespace: %w", err)
	}
	return link, nil
}

// BootsHere reports whether this is the network namespace of the first process:
// the one that the boot's settings (sysctl.d) are made for. Where the first
// process does not let itself be looked at, it is taken for the initial
// namespace if that is what this one is: only there is tcp_mem to be seen.
func BootsHere() (bool, error) {
	ours, err := os.Stat("/proc/thread-self/ns/net")
	if err != nil {
		return false, fmt.Errorf("find the network namespace: %w", err)
	}
	first, err := os.Stat("/proc/1/ns/net")
	if errors.Is(err, fs.ErrPermission) {
		_, err := os.Stat("/proc/sys/net/ipv4/tcp_mem")
		return err == nil, nil
	}
	if err != nil {
		return false, fmt.Errorf("find the first process's network namespace: %w", err)
	}
	return os.SameFile(ours, first), nil
}
