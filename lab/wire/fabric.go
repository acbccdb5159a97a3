package wire

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Fabric is a network between many devices: links in a row, as a packet from a host through
// switches to another takes them.
type Fabric struct {
	Links   []Link
	Buffers []unit.Size // in bytes, that the queues of several links share: the memory of a switch
	Devices []Device
	// Routes are the links that a packet takes from one device to another, by their places in
	// Links; without any it goes nowhere.
	Routes [][][]int
}

// Link is one way between two neighbours, with the queue of the port before it.
type Link struct {
	Name string
	Direction
	RTT    time.Duration // of the paths over it, which a queue in bandwidth-delay products needs
	Buffer int           // that its queue is part of: a place in Buffers, from 1 on; 0: its queue is its own
}

// Device is a host's end of the network.
type Device struct {
	Name      string
	Addresses []netip.Addr
}

// check is what is wrong with a fabric, for packets of that size at most.
func (f *Fabric) check(mtu int) error {
	for _, link := range f.Links {
		for _, fault := range link.Faults(link.RTT, mtu) {
			return fmt.Errorf("link %s: %w", link.Name, fault.Err)
		}
		if link.Buffer < 0 || link.Buffer > len(f.Buffers) {
			return fmt.Errorf("link %s: there is no buffer %d", link.Name, link.Buffer)
		}
	}
	for _, size := range f.Buffers {
		if size < unit.Size(mtu) {
			return fmt.Errorf("a buffer of %d bytes is below the MTU %d: nothing of that size would ever pass", size, mtu)
		}
	}
	if len(f.Routes) != len(f.Devices) {
		return errors.New("routes are not those between all devices")
	}
	for _, to := range f.Routes {
		if len(to) != len(f.Devices) {
			return errors.New("routes are not those between all devices")
		}
		for _, route := range to {
			if len(route) > MostHops {
				return fmt.Errorf("a route over %d links: at most %d are possible", len(route), MostHops)
			}
			for _, link := range route {
				if link < 0 || link >= len(f.Links) {
					return fmt.Errorf("a route over link %d, which there is not", link)
				}
			}
		}
	}
	return nil
}

// MostHops is how many links a route can have.
const MostHops = 16

// route is how a packet gets to a device.
type route struct {
	lanes []*lane
	out   int // descriptor
}

// pool is memory that the queues of several links share: any of them may take all that is left
// (complete sharing: F. Kamoun and L. Kleinrock, IEEE Transactions on Communications 28, 1980).
type pool struct {
	limit   float64 // bytes
	members []*bottleneck
}

// holds is how many bytes wait in all queues.
func (p *pool) holds(now int64) (bytes float64) {
	for _, b := range p.members {
		bytes += max(0, b.idle-float64(now)) / b.perByte
	}
	return bytes
}

// lanes are those of the links.
func (f *Fabric) lanes(mtu int) []*lane {
	pools := make([]*pool, len(f.Buffers))
	for i, size := range f.Buffers {
		pools[i] = &pool{limit: float64(size)}
	}
	lanes := make([]*lane, len(f.Links))
	for i := range f.Links {
		link := &f.Links[i]
		l := newLane(link.Direction, link.RTT-link.Delay, mtu)
		if b := &l.bottleneck; link.Buffer > 0 && b.perByte > 0 {
			b.pool = pools[link.Buffer-1]
			b.pool.members = append(b.pool.members, b)
			if link.Queue == (Queue{}) {
				b.limitBytes = 0 // the pool's
			}
		}
		lanes[i] = l
	}
	return lanes
}

// destination is where an IP packet wants to, not valid if it does not say.
func destination(ip []byte) netip.Addr {
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(ip[16:20]))
	case len(ip) >= 40 && ip[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(ip[24:40]))
	}
	return netip.Addr{}
}
