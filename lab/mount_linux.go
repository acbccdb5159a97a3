package lab

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// private are directories of the machine that a host of the lab has empty
// copies of, so that nothing done there outlives the lab or reaches the machine.
var private = []string{"/etc/sysctl.d", "/run/sysctl.d", "/var/lib/fullbore", "/run/fullbore"}

// mount gives the host views of its own: its processes, its devices' counters,
// its state, its names.
func (s *setup) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// A container may forbid a new /proc. The old one serves too, since
	// /proc/sys/net is always that of the reader's namespace; only ps shows
	// more than it should.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	mountSys()
	if err := mountEmpty(s.StateDir); err != nil {
		return err
	}
	for _, dir := range private {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			if err := mountEmpty(dir); err != nil {
				return err
			}
		}
	}
	return mountNames(s.Names)
}

// mountSys shows the host's own interfaces in /sys/class/net, and keeps the
// machine's control groups, which a new /sys would hide. It is a convenience:
// what cannot be mounted stays as it was.
func mountSys() {
	cgroups, err := unix.Open("/sys/fs/cgroup", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") != nil || err != nil {
		return
	}
	_ = unix.Mount(fmt.Sprintf("/proc/self/fd/%d", cgroups), "/sys/fs/cgroup", "", unix.MS_BIND|unix.MS_REC, "")
	_ = unix.Close(cgroups)
}

func mountEmpty(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=16m,mode=0755"); err != nil {
		return fmt.Errorf("mount an empty %s: %w", dir, err)
	}
	return nil
}

// mountNames lets the hosts call each other a and b.
func mountNames(file string) error {
	err := unix.Mount(file, "/etc/hosts", "", unix.MS_BIND, "")
	if err != nil && !errors.Is(err, unix.ENOENT) { // nothing to mount over: addresses serve
		return fmt.Errorf("mount host names: %w", err)
	}
	return nil
}
