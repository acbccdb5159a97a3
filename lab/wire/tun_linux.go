package wire

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// offloads are what a TUN device may leave to us: checksums and cutting
// super-packets of TCP over IPv4 and IPv6, also those that carry CWR.
const offloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_TSO_ECN

// OpenTUN creates the TUN device name in the network namespace of the calling
// thread, with checksum and segmentation offloads and the given MTU. The device
// is down and has no address; give it [TxQueueLen] too. It goes away with the
// last descriptor.
//
// The file is blocking and therefore unknown to Go's poller, which would
// otherwise be woken by each packet; [Start] works on a duplicate.
func OpenTUN(name string, mtu int) (_ *os.File, err error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun (the tun module must be loaded and the device writable): %w", err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	req, err := unix.NewIfreq(name)
	if err != nil {
		return nil, fmt.Errorf("create TUN device %q: %w", name, err)
	}
	req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_TUN_EXCL)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		return nil, fmt.Errorf("create TUN device %q (this needs CAP_NET_ADMIN in the network namespace, and an unused name): %w", name, err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, vnetLen); err != nil {
		return nil, fmt.Errorf("set header size of TUN device %q: %w", name, err)
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offloads); err != nil {
		return nil, fmt.Errorf("set offloads of TUN device %q: %w", name, err)
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("find TUN device %q: %w", name, err)
	}
	if err := netlink.LinkSetMTU(link, mtu); err != nil {
		return nil, fmt.Errorf("set MTU %d of TUN device %q: %w", mtu, name, err)
	}
	return os.NewFile(uintptr(fd), "tun:"+name), nil
}

// addressTime bounds how long the kernel may take to make an address its own;
// mostly that takes less than a millisecond.
const addressTime = 5 * time.Second

// AwaitAddress waits until the network namespace of the calling thread takes
// packets to an address that it was given. The kernel does the last step of an IPv6
// address on a queue of work (addrconf_dad_work, net/ipv6/addrconf.c), and drops
// what comes before.
func AwaitAddress(address netip.Addr) error {
	for began := time.Now(); time.Since(began) < addressTime; time.Sleep(time.Millisecond) {
		routes, err := netlink.RouteGet(address.AsSlice())
		if err == nil && len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL {
			return nil
		}
	}
	return fmt.Errorf("the address %s is not in use after %s", address, addressTime)
}

// RingDrops is how many packets and super-packets the TUN device name, in the
// network namespace of the calling thread, dropped because they came faster than
// the wire took them. Above 0, the path lost what it was not asked to lose, and
// the run is void.
func RingDrops(name string) (uint64, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return 0, fmt.Errorf("find TUN device %q: %w", name, err)
	}
	if s := link.Attrs().Statistics; s != nil {
		return s.TxDropped, nil
	}
	return 0, fmt.Errorf("read statistics of TUN device %q: the kernel gave none", name)
}
