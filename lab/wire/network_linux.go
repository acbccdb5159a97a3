package wire

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Network is a fabric that runs. One thread carries all of it: what passes from one link to the
// next does so at its virtual time, so that only the last link, which writes to a device, can be
// late.
type Network struct {
	sleeper
	fabric   *Fabric
	lanes    []*lane
	routes   [][]route // of devices, from and to
	at       map[netip.Addr]int
	ports    []int // descriptors of the devices
	stopping atomic.Bool
	thread   sync.WaitGroup
	awake    *os.File
	close    func() error
	arena    arena
	writer   writer
	bit      *rand.Rand    // which bit of a corrupted segment is flipped
	nowhere  atomic.Uint64 // packets to an address that no device has, or that no route leads to

	err      error // why it stopped early
	writeErr error // the last one
}

// StartFabric joins the devices, which [OpenTUN] opened, in the order of the fabric's. Else it is
// as [Start].
func StartFabric(devices []*os.File, mtu int, fabric *Fabric) (_ *Network, err error) {
	if mtu < 68 || mtu > 65535 {
		return nil, fmt.Errorf("start network: MTU %d is not between 68 and 65535", mtu)
	}
	if len(devices) != len(fabric.Devices) {
		return nil, fmt.Errorf("start network: %d devices, the fabric has %d", len(devices), len(fabric.Devices))
	}
	if err := fabric.check(mtu); err != nil {
		return nil, fmt.Errorf("start network: %w", err)
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("start network: create eventfd: %w", err)
	}
	n := &Network{fabric: fabric, lanes: fabric.lanes(mtu), at: map[netip.Addr]int{}, bit: rand.New(rand.NewPCG(0, streamBit)), sleeper: newSleeper(time.Now(), stop)}
	for i, device := range devices {
		fd, err := duplicate(device)
		if err != nil {
			n.closeAll()
			return nil, fmt.Errorf("start network: %w", err)
		}
		n.ports = append(n.ports, fd)
		n.watch(fd)
		for _, address := range fabric.Devices[i].Addresses {
			n.at[address] = i
		}
	}
	n.plan()
	n.arena.limit = MaxInFlight
	n.close = sync.OnceValue(n.shut)
	n.awake = keepAwake()
	addProcessors(+1)
	n.thread.Go(n.run)
	return n, nil
}

// plan looks the routes' links up.
func (n *Network) plan() {
	n.routes = make([][]route, len(n.ports))
	for from, to := range n.fabric.Routes {
		n.routes[from] = make([]route, len(n.ports))
		for i, links := range to {
			r := route{out: n.ports[i]}
			for _, link := range links {
				r.lanes = append(r.lanes, n.lanes[link])
			}
			n.routes[from][i] = r
		}
	}
}

func (n *Network) run() {
	runtime.LockOSThread() // and never unlock: the thread ends with its settings
	defer n.arena.close()
	sharpen()
	n.waking.learn(n.now)
	for {
		_, next := n.next()
		if n.err = n.sleep(next); n.err != nil || n.stopped() {
			return
		}
		for busy := true; busy && !n.stopping.Load(); {
			busy = false
			for i := range n.ports {
				if !n.readable(i) {
					continue
				}
				more, err := n.read(i)
				if err != nil {
					n.err = err
					return
				}
				if busy = busy || more; !more {
					n.polled[i+1].Revents = 0
				}
			}
			busy = n.carry() || busy
		}
	}
}

// next is what is due first.
func (n *Network) next() (first *lane, way *ring[chunk]) {
	for _, l := range n.lanes {
		if w := l.next(); w != nil && (way == nil || w.at(0).due < way.at(0).due) {
			first, way = l, w
		}
	}
	return first, way
}

// read takes one packet of a device, if there is one.
func (n *Network) read(device int) (more bool, err error) {
	buf, kept, err := n.arena.read(n.ports[device], n.writer.scratch[:])
	if buf == nil {
		return false, err
	}
	var to *route
	if len(buf) > vnetLen {
		if i, known := n.at[destination(buf[vnetLen:])]; known {
			to = &n.routes[device][i]
		}
	}
	if to == nil || len(to.lanes) == 0 {
		n.nowhere.Add(1)
		return true, nil
	}
	n.arena.enter(to.lanes[0], buf, kept, to, n.now())
	return true, nil
}

// carry takes some chunks that are due on to their next link, or to their device, and says whether
// there were any: as many as the packets that all devices were just asked for can make, on two links
// and cut in two.
func (n *Network) carry() (carried bool) {
	for range 4 * len(n.ports) {
		l, way := n.next()
		if way == nil {
			return carried
		}
		now := n.now()
		if way.at(0).due > now {
			return carried
		}
		c := *way.at(0) // the next link may be this one again, and its ring grow
		way.pop()
		p := c.packet
		if c.hop++; c.hop < len(p.route.lanes) {
			l.passed(&c)
			p.route.lanes[c.hop].take(c)
		} else {
			errno := n.writer.deliver(p.route.out, &c, n.bit)
			if errno != 0 {
				n.writeErr = os.NewSyscallError("write", errno)
			}
			l.delivered(&c, now, errno != 0)
		}
		if p.refs--; p.refs == 0 {
			n.arena.release(p)
		}
		carried = true
	}
	return true
}

// Shorten takes a time off the delay of a link, as [Wire.Shorten] does. No delay becomes negative.
func (n *Network) Shorten(link int, by time.Duration) {
	delay := &n.lanes[link].delay
	delay.Store(max(0, delay.Load()-int64(by)))
}

// Stats reads the counters of all links, in the order of the fabric's; they go on counting.
func (n *Network) Stats() []DirectionStats {
	all := make([]DirectionStats, len(n.lanes))
	for i, l := range n.lanes {
		all[i] = l.stats()
	}
	return all
}

// Nowhere is how many packets had a destination that no device has.
func (n *Network) Nowhere() uint64 { return n.nowhere.Load() }

// Close stops the network, as [Wire.Close] does a wire.
func (n *Network) Close() error { return n.close() }

func (n *Network) shut() error {
	n.stopping.Store(true)
	if _, err := unix.Write(int(n.polled[0].Fd), []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil { // the thread goes on: leave it what it uses
		return fmt.Errorf("stop network: %w", err)
	}
	n.thread.Wait()
	addProcessors(-1)
	_ = n.awake.Close() // nil is refused, which is fine
	n.closeAll()
	var errs []error
	if n.err != nil {
		errs = append(errs, fmt.Errorf("network stopped early: %w", n.err))
	}
	if n.writeErr != nil {
		errs = append(errs, fmt.Errorf("network: %w", n.writeErr))
	}
	for i, l := range n.lanes {
		stats := l.stats()
		for _, fault := range stats.Faults() {
			errs = append(errs, fmt.Errorf("link %s: %s", n.fabric.Links[i].Name, fault))
		}
	}
	return errors.Join(errs...)
}

func (n *Network) closeAll() {
	for _, p := range n.polled {
		unix.Close(int(p.Fd))
	}
}
