package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// device is the name of a host's end of the path.
const device = "path0"

// setup is what an agent needs to know to become a host.
type setup struct {
	Scenario string
	Dir      string // the lab's place, for lab exec
	Name     string
	Many     bool // there are others than a and b
	Host     HostSpec
	MTU      int
	Addr     netip.Addr
	Addr6    netip.Addr
	Peer     netip.Addr   // whom to send echoes and traffic to
	To, To6  netip.Prefix // where the path leads
	StateDir string       // an empty directory, where the host mounts one of its own
	Names    string       // a file for /etc/hosts
	Sink     bool         // competing traffic will arrive
}

// apply makes the namespaces of this process the host, and gives its end of the
// path.
func (s *setup) apply() (_ *os.File, err error) {
	if err := unix.Sethostname([]byte(s.Name)); err != nil {
		return nil, fmt.Errorf("set host name: %w", err)
	}
	if err := s.mount(); err != nil {
		return nil, err
	}
	tun, err := wire.OpenTUN(device, s.MTU)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, tunHint(err))
	}
	defer func() {
		if err != nil {
			_ = tun.Close()
		}
	}()
	if err := s.sysctls(); err != nil {
		return nil, err
	}
	if err := s.network(congestionByRoute(s.Host.Congestion)); err != nil {
		return nil, err
	}
	if s.Sink {
		if err := listenSink(); err != nil {
			return nil, err
		}
	}
	return tun, nil
}

// sysctls sets the host's own.
func (s *setup) sysctls() error {
	for _, key := range slices.Sorted(maps.Keys(s.Host.Sysctl)) {
		if err := setSysctl(key, s.Host.Sysctl[key]); err != nil {
			return fmt.Errorf("host %s: %w", s.Name, err)
		}
	}
	return nil
}

// congestionByRoute makes a congestion control the host's default. Where that is
// refused, because the kernel restricts the algorithm to the machine's first
// network namespace, it gives the name for the routes to carry, which works.
func congestionByRoute(name string) string {
	if name == "" || setSysctl("net.ipv4.tcp_congestion_control", name) == nil {
		return ""
	}
	return name
}

// setSysctl sets a sysctl of this network namespace and reads it back. Others
// belong to the whole machine and are refused.
func setSysctl(key, value string) error {
	file := strings.ReplaceAll(key, ".", "/")
	if strings.Contains(key, "/") {
		file = key // then a dot is part of a name, such as an interface's
	}
	if !strings.HasPrefix(file, "net/") {
		return fmt.Errorf("set %s: it belongs to the whole machine, a lab sets only net.*", key)
	}
	file = filepath.Join("/proc/sys", file)
	err := os.WriteFile(file, []byte(value), 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("set %s: this kernel has no such setting in a network namespace of its own", key)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("set %s: read-only in a network namespace of its own: it follows the machine's", key)
	case err != nil:
		return fmt.Errorf("set %s to %q: %w", key, value, err)
	}
	now, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read back %s: %w", key, err)
	}
	if got := strings.Fields(string(now)); !slices.Equal(got, strings.Fields(value)) {
		return fmt.Errorf("set %s to %q: it reads back as %q", key, value, strings.Join(got, " "))
	}
	return nil
}

// network brings the interfaces up and routes to the peer.
func (s *setup) network(congestion string) error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find loopback: %w", err)
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		return fmt.Errorf("bring up loopback: %w", err)
	}
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("find %s: %w", device, err)
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"set queue length", func() error { return netlink.LinkSetTxQLen(link, wire.TxQueueLen) }},
		{"silence address autoconfiguration", func() error { return netlink.LinkSetIP6AddrGenMode(link, 1) }}, // IN6_ADDR_GEN_MODE_NONE
		{"silence multicast", func() error { return netlink.LinkSetMulticastOff(link) }},
		{"add address", func() error { return addAddress(link, s.Addr) }},
		{"add IPv6 address", func() error { return addAddress(link, s.Addr6) }},
		{"shape", func() error { return shape(link, s.Host.Shape, s.MTU) }},
		{"bring up", func() error { return netlink.LinkSetUp(link) }},
		{"route to peer", func() error { return addRoute(link, s.Addr, s.To, congestion) }},
		{"route to peer by IPv6", func() error { return addRoute(link, s.Addr6, s.To6, congestion) }},
		{"wait for IPv6 address", func() error { return wire.AwaitAddress(s.Addr6) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("host %s: %s: %s: %w", s.Name, device, step.what, err)
		}
	}
	return nil
}

func addAddress(link netlink.Link, addr netip.Addr) error {
	address := &netlink.Addr{IPNet: network(single(addr))}
	if addr.Is6() {
		address.Flags = unix.IFA_F_NODAD // there is nobody to have it too
	}
	return netlink.AddrAdd(link, address)
}

func addRoute(link netlink.Link, from netip.Addr, to netip.Prefix, congestion string) error {
	err := netlink.RouteAdd(&netlink.Route{
		LinkIndex: link.Attrs().Index,
		Scope:     netlink.SCOPE_LINK,
		Dst:       network(to),
		Src:       from.AsSlice(),
		Congctl:   congestion,
	})
	if err != nil && congestion != "" {
		available, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control") // for the message only
		return fmt.Errorf("with congestion control %q (this kernel has %s; modprobe tcp_%s may add it): %w",
			congestion, strings.TrimSpace(string(available)), congestion, err)
	}
	return err
}

// single is what has that address only.
func single(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }

func network(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// shape puts a token bucket on the host's egress. The kernel cuts super-packets
// larger than the bucket into segments, so the bucket may be small.
func shape(link netlink.Link, rate unit.Rate, mtu int) error {
	if rate == 0 {
		return nil
	}
	bytes, burst, limit := bucket(rate, mtu)
	return netlink.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       bytes,
		Buffer:     netlink.Xmittime(bytes, burst),
		Limit:      limit,
	})
}

// environment is what every command on the host has in its environment.
func (s *setup) environment() []string {
	a, b := s.Addr, s.Peer
	if s.Name == "b" {
		a, b = b, a
	}
	env := []string{
		"FULLBORE_LAB=" + s.Scenario,
		"FULLBORE_LAB_ID=" + s.Dir,
		"FULLBORE_HOST=" + s.Name,
	}
	if !s.Many {
		env = append(env, "FULLBORE_A="+a.String(), "FULLBORE_B="+b.String())
	}
	env = append(env, "FULLBORE_STATE="+s.StateDir)
	if s.Host.SlowReader > 0 {
		env = append(env, fmt.Sprintf("FULLBORE_SLOW_READER=%.0f", float64(s.Host.SlowReader)))
	}
	if s.Host.SlowWriter > 0 {
		env = append(env, fmt.Sprintf("FULLBORE_SLOW_WRITER=%.0f", float64(s.Host.SlowWriter)))
	}
	return env
}
