package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/tunable"
)

// system adds what Linux tells; indexes are the interfaces' numbers.
func (f *Facts) system(indexes []int) error {
	if err := root("/").collect(f, indexes); err != nil {
		return err
	}
	f.devices(indexes)
	return nil
}

// collect adds the facts found under r. The kernel's version and the size of
// memory must be there; containers hide one or another of the rest.
func (r root) collect(f *Facts, indexes []int) error {
	version, err := r.line("proc/sys/kernel/osrelease")
	if err != nil {
		return fmt.Errorf("read kernel version: %w", err)
	}
	f.Version = version
	f.Distribution = r.distribution()
	f.BootID, _ = r.bootID()
	if f.Memory, err = r.memory(); err != nil {
		return err
	}
	r.processors(f)
	for i := range f.Interfaces {
		r.describe(&f.Interfaces[i], indexes[i])
	}
	return r.tunables(f)
}

// line reads a file of one line.
func (r root) line(path string) (string, error) {
	text, err := readBounded(filepath.Join(string(r), path))
	return strings.TrimSpace(text), err
}

// distribution is PRETTY_NAME of os-release(5).
func (r root) distribution() string {
	for _, path := range []string{"etc/os-release", "usr/lib/os-release"} {
		text, err := readBounded(filepath.Join(string(r), path))
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				return strings.Trim(value, `"'`)
			}
		}
	}
	return ""
}

// processors counts all CPUs that are online, which softirqs use whatever CPUs
// this process may run on.
func (r root) processors(f *Facts) {
	system, err := procfs.NewFS(filepath.Join(string(r), "proc"))
	if err != nil {
		return
	}
	cpus, err := system.CPUInfo()
	if err != nil || len(cpus) == 0 {
		return
	}
	f.CPUs, f.CPUModel = len(cpus), cpus[0].ModelName
}

// describe adds what sysfs knows of an interface. sysfs shows the namespace it
// was mounted in, so an interface is only believed if index and MTU are those of
// ours; and only real devices are asked for a speed, since virtual ones make
// theirs up (a TUN device says 10 Mb/s, a veth 10 Gb/s).
func (r root) describe(i *Interface, number int) {
	dir := filepath.Join("sys/class/net", filepath.Base(i.Name))
	index, _ := r.line(dir + "/ifindex")
	mtu, _ := r.line(dir + "/mtu")
	if index != strconv.Itoa(number) || mtu != strconv.Itoa(i.MTU) {
		return
	}
	driver, err := filepath.EvalSymlinks(filepath.Join(string(r), dir, "device/driver"))
	if err != nil {
		return
	}
	i.Driver = filepath.Base(driver)
	if speed, err := r.line(dir + "/speed"); err == nil {
		if mbps, err := strconv.Atoi(speed); err == nil && mbps > 0 { // -1: unknown
			i.Speed = mbps
		}
	}
	if duplex, err := r.line(dir + "/duplex"); err == nil && (duplex == "full" || duplex == "half") {
		i.Duplex = duplex
	}
}

// tunables adds the catalogue's tunables that this kernel has, and whether they
// can be changed.
func (r root) tunables(f *Facts) error {
	catalogue, err := tunable.Catalogue("linux")
	if err != nil {
		return err
	}
	for _, t := range catalogue {
		value, err := r.get(t.Name)
		if err != nil {
			continue // another version, or hidden in this namespace
		}
		f.Tunables[t.Name] = value
		if r.writable(t.Name) != nil {
			f.ReadOnly = append(f.ReadOnly, t.Name)
		}
	}
	f.Forwards = r.forwards(f.Interfaces)
	f.WhyNot = whyNot(r.writable("net.ipv4.tcp_rmem"))
	f.CanChange = f.WhyNot == ""
	return nil
}

// forwards tells a router or firewall, which stands in two networks with devices
// of its own, from a host that only forwards to its own containers and virtual
// machines: nearly every one that runs Docker has ip_forward set.
func (r root) forwards(interfaces []Interface) bool {
	networks := 0
	for _, i := range interfaces {
		if i.Up && i.Driver != "" && slices.ContainsFunc(i.Addresses, routable) {
			networks++
		}
	}
	for _, name := range []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"} {
		if value, err := r.get(name); err == nil && value != "0" {
			return networks >= 2
		}
	}
	return false
}

// routable says whether an address (CIDR) reaches beyond its link.
func routable(cidr string) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Addr().IsGlobalUnicast()
}

// whyNot says what keeps this process from changing tunables, and what to do.
func whyNot(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, unix.EROFS):
		return "/proc/sys is mounted read-only, as in a container: run fullbore on the host, or inside a container that was started with --privileged"
	case errors.Is(err, fs.ErrPermission):
		return "tunables belong to root: run fullbore with sudo"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no /proc/sys/net/ipv4/tcp_rmem: mount /proc, then run fullbore again"
	default:
		return "tunables cannot be written: " + err.Error()
	}
}
