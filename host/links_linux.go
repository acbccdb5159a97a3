package host

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Attributes of an interface (linux/if_link.h) that package unix does not name.
const (
	iflaCarrierChanges = 35
	iflaStats64        = 23
	iflaInfoKind       = 1
	iflaMaxMTU         = 51
)

// ReadLinks reads the counters of all interfaces of the calling thread's network
// namespace. Those by which packets go to the far ends of flows (pairs of a local and a
// remote address) are marked as used, and real ones among them are asked for
// what their drivers count.
func ReadLinks(flows ...[2]netip.Addr) (Links, error) {
	kernel, err := openRTNetlink()
	if err != nil {
		return nil, fmt.Errorf("read interface counters: %w", err)
	}
	defer kernel.close()
	found, err := kernel.links()
	if err != nil {
		return nil, fmt.Errorf("read interface counters: %w", err)
	}
	used := map[int]bool{}
	for _, flow := range flows {
		if index, err := kernel.route(flow[0], flow[1]); err == nil { // there is no way to an address that has gone
			used[index] = true
		}
	}
	routes := maps.Clone(used)
	below(found, used)
	links := Links{}
	for _, d := range found {
		link := Link{Index: d.index, Used: used[d.index], Route: routes[d.index], Counters: d.counters}
		if link.Used && d.real() {
			link.Counters.addDriver(driverCounters(d.name))
		}
		links[d.name] = link
	}
	return links, nil
}

// device is an interface as rtnetlink describes it.
type device struct {
	index, lower, master int
	name, kind           string // kind is that of a virtual device: "vlan", "bond", "tun", ...
	loopback, up         bool
	mtu, largest         uint32 // bytes; the largest MTU that the device takes, 0: it does not say
	queue                uint32 // packets (txqueuelen)
	counters             LinkCounters
}

// real says whether there is hardware, or a hypervisor's idea of it, behind a
// device: only those have no kind.
func (d *device) real() bool { return d.kind == "" && !d.loopback }

// below marks what carries the packets of the devices that are used: the device
// below a VLAN and its kin, and the ports of a bond, team or bridge. Of a
// bridge's ports only real ones lead out of the host.
func below(devices []device, used map[int]bool) {
	kinds := map[int]string{}
	for _, d := range devices {
		kinds[d.index] = d.kind
	}
	for range devices { // as deep as stacks can be
		before := len(used)
		for _, d := range devices {
			if used[d.index] && d.lower != 0 {
				used[d.lower] = true
			}
			master := used[d.master] && d.master != 0
			if master && (kinds[d.master] == "bond" || kinds[d.master] == "team" || kinds[d.master] == "bridge" && d.real()) {
				used[d.index] = true
			}
		}
		if len(used) == before {
			return
		}
	}
}

// links are all interfaces.
func (r *rtnetlink) links() ([]device, error) {
	answers, err := r.dump(unix.RTM_GETLINK, make([]byte, unix.SizeofIfInfomsg))
	if err != nil {
		return nil, err
	}
	var devices []device
	for _, a := range answers {
		if a.Header.Type != unix.RTM_NEWLINK {
			continue
		}
		d, err := parseLink(a.Data)
		if err != nil {
			return nil, err
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// parseLink reads an RTM_NEWLINK message.
func parseLink(message []byte) (device, error) {
	ad, err := attributes(message, unix.SizeofIfInfomsg)
	if err != nil {
		return device{}, err
	}
	d := device{
		index:    int(int32(binary.NativeEndian.Uint32(message[4:]))),
		loopback: binary.NativeEndian.Uint16(message[2:]) == unix.ARPHRD_LOOPBACK,
		up:       binary.NativeEndian.Uint32(message[8:])&unix.IFF_UP != 0,
	}
	lower := 0
	for ad.Next() {
		switch ad.Type() {
		case unix.IFLA_IFNAME:
			d.name = ad.String()
		case unix.IFLA_MTU:
			d.mtu = ad.Uint32()
		case iflaMaxMTU:
			d.largest = ad.Uint32()
		case unix.IFLA_TXQLEN:
			d.queue = ad.Uint32()
		case unix.IFLA_LINK:
			lower = int(ad.Uint32())
		case unix.IFLA_MASTER:
			d.master = int(ad.Uint32())
		case unix.IFLA_LINKINFO:
			ad.Nested(func(info *netlink.AttributeDecoder) error {
				for info.Next() {
					if info.Type() == iflaInfoKind {
						d.kind = info.String()
					}
				}
				return nil
			})
		case iflaStats64:
			d.counters.fromKernel(ad.Bytes())
		case iflaCarrierChanges:
			d.counters.CarrierChanges = int64(ad.Uint32())
		}
	}
	if err := ad.Err(); err != nil {
		return device{}, fmt.Errorf("decode interface: %w", err)
	}
	switch d.kind {
	case "vlan", "macvlan", "ipvlan", "macsec":
		d.lower = lower // of a veth or tunnel, it is something else
	}
	return d, nil
}

// fromKernel reads struct rtnl_link_stats64 (linux/if_link.h), which newer
// kernels make longer.
func (c *LinkCounters) fromKernel(stats []byte) {
	at := func(place int) int64 {
		if len(stats) < 8*(place+1) {
			return 0
		}
		return int64(min(binary.NativeEndian.Uint64(stats[8*place:]), math.MaxInt64))
	}
	c.RxPackets, c.TxPackets, c.RxBytes, c.TxBytes = at(0), at(1), at(2), at(3)
	c.RxErrors, c.TxErrors, c.RxDropped, c.TxDropped = at(4), at(5), at(6), at(7)
	c.Collisions, c.Length, c.CRC, c.Frame = at(9), at(10), at(12), at(13)
	c.RxMissed = max(at(11), at(14), at(15)) // over, fifo and missed: drivers do not agree which is which
	c.Aborted, c.CarrierErrors, c.LateCollisions = at(16), at(17), at(20)
}

// route gives the interface by which packets from one address to another leave.
func (r *rtnetlink) route(from, to netip.Addr) (index int, err error) {
	request, err := routeRequest(from.Unmap(), to.Unmap())
	if err != nil {
		return 0, err
	}
	answers, err := r.ask(unix.RTM_GETROUTE, netlink.Request, request)
	if err != nil {
		return 0, err
	}
	for _, a := range answers {
		ad, err := attributes(a.Data, unix.SizeofRtMsg)
		if err != nil {
			return 0, err
		}
		for ad.Next() {
			if ad.Type() == unix.RTA_OIF {
				return int(ad.Uint32()), ad.Err()
			}
		}
	}
	return 0, fmt.Errorf("find route to %v: there is none", to)
}

// routeRequest is an rtmsg with its attributes (rtnetlink(7)).
func routeRequest(from, to netip.Addr) ([]byte, error) {
	header := make([]byte, unix.SizeofRtMsg)
	header[0] = unix.AF_INET
	if to.Is6() {
		header[0] = unix.AF_INET6
	}
	header[1] = byte(to.BitLen())
	ae := netlink.NewAttributeEncoder()
	ae.Bytes(unix.RTA_DST, to.AsSlice())
	if zone, err := net.InterfaceByName(to.Zone()); err == nil {
		ae.Uint32(unix.RTA_OIF, uint32(zone.Index))
	}
	if from.IsValid() && from.BitLen() == to.BitLen() {
		header[2] = byte(from.BitLen())
		ae.Bytes(unix.RTA_SRC, from.AsSlice())
	}
	attributes, err := ae.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode route request: %w", err)
	}
	return append(header, attributes...), nil
}
