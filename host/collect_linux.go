package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/tunable"
)

// system adds what Linux reports; indexes are the interfaces' numbers.
func (f *Facts) system(indexes []int) error {
	if err := root("/").collect(f, indexes); err != nil {
		return err
	}
	s := root("/").openSession()
	defer s.close()
	s.describe(f.Interfaces, indexes)
	s.linkTunables(f)
	s.routeTunables(f)
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
	f.Managers = r.managers()
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

// tunables adds the catalogue's tunables that are found in files, and whether
// they can be changed.
func (r root) tunables(f *Facts) error {
	catalogue, err := tunable.Catalogue("linux")
	if err != nil {
		return err
	}
	s := &session{root: r, socket: -1, why: errors.New("no kernel is asked")}
	defer s.close()
	mounts, _ := r.nfsMounts()
	for _, t := range catalogue {
		switch t.Scope {
		case tunable.OfInterface, tunable.OfRoute:
		case tunable.OfMount:
			for _, m := range mounts {
				s.add(f, tunable.Join(t.Name, m.dir))
			}
		default:
			s.add(f, t.Name)
		}
	}
	f.Forwards = r.forwards(f.Interfaces)
	f.WhyNot = whyNot(r.writable("net.ipv4.tcp_rmem"))
	f.CanChange = f.WhyNot == ""
	return nil
}

// add reads a tunable into the facts. One that is not there is left out:
// another version, another device, or hidden in this namespace.
func (s *session) add(f *Facts, name string) {
	value, err := s.get(name)
	if err != nil {
		return
	}
	f.Tunables[name] = value
	if s.settable(name) != nil {
		f.ReadOnly = append(f.ReadOnly, name)
	}
	if most, ok := s.most(name); ok {
		if f.Most == nil {
			f.Most = map[string]int64{}
		}
		f.Most[name] = most
	}
}

// maxTuned bounds how many interfaces the facts have tunables of: hosts with
// containers have hundreds.
const maxTuned = 64

// linkTunables adds those of interfaces that are up and lead somewhere, real
// devices first.
func (s *session) linkTunables(f *Facts) {
	catalogue, err := tunable.Catalogue("linux")
	if err != nil {
		return
	}
	for _, i := range tuned(f.Interfaces) {
		if d, err := s.device(i.Name); err != nil || d.loopback {
			continue
		}
		for _, t := range catalogue {
			if t.Scope == tunable.OfInterface && ways[t.Name] != nil {
				s.add(f, tunable.Join(t.Name, i.Name))
			}
		}
	}
}

// tuned are the interfaces whose tunables the facts have: those that are up,
// real ones first, then those with an address, then all others.
func tuned(interfaces []Interface) []Interface {
	rank := func(i Interface) int {
		switch {
		case i.Driver != "":
			return 0
		case slices.ContainsFunc(i.Addresses, routable):
			return 1
		}
		return 2
	}
	up := slices.DeleteFunc(slices.Clone(interfaces), func(i Interface) bool { return !i.Up || i.Name == "lo" })
	slices.SortStableFunc(up, func(a, b Interface) int { return cmp.Compare(rank(a), rank(b)) })
	return up[:min(len(up), maxTuned)]
}

// routeTunables adds the congestion control of the routes by which bulk data may
// leave: those that lead beyond the link, and those that have one of their own.
// In a full table of the Internet only the first routes are looked at; the time is
// for kernels before 4.20, which send the other tables as well.
func (s *session) routeTunables(f *Facts) {
	const (
		most   = 16
		looked = 1000
		within = time.Second
	)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		var found []route
		seen := 0
		_ = routes(family, within, func(r route) bool { // what came before an error counts
			seen++
			if (r.gateway || r.congestion != "") && r.check() == nil {
				found = append(found, r)
			}
			return seen < looked
		})
		for i, r := range found {
			same := func(o route) bool { return o.to == r.to }
			name := tunable.Join("route.congctl", r.to.String())
			if i >= most || slices.IndexFunc(found, same) != i || slices.ContainsFunc(found[i+1:], same) {
				continue // one of several to there: a name for none of them
			}
			f.Tunables[name] = r.algorithm()
			if s.settable(name) != nil {
				f.ReadOnly = append(f.ReadOnly, name)
			}
		}
	}
}

// forwards recognises a router or firewall, which stands in two networks with devices
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
