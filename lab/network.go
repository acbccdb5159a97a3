package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// Network is many hosts around switches, in place of two and a path. MTU is as that of a
// [Path].
type Network struct {
	MTU      int      `yaml:"mtu" json:"mtu" range:"1280 65535" example:"9000"` // omitted: defaultMTU
	Switches []Switch `yaml:"switches" json:"switches"`
	Hosts    []Member `yaml:"hosts" json:"hosts"`
	Trunks   []Trunk  `yaml:"trunks" json:"trunks,omitempty"`
	Ways     []Way    `yaml:"ways" json:"ways,omitempty"`
}

// Switch forwards what comes, and has a queue before each of its ports.
type Switch struct {
	Name   string    `yaml:"name" json:"name" example:"lan"`
	Buffer unit.Size `yaml:"buffer" json:"buffer_bytes,omitempty" range:"64KiB 1GiB" example:"512KB"` // that the queues of all its ports share; omitted: each has its own
}

// Member is where a host, or some that are alike, is at a switch. The host sends at the rate of
// its port by a queue discipline of its own kernel, as through a network card, which holds its
// connections back instead of dropping what they send; or as up has it.
type Member struct {
	Name   string          `yaml:"name" json:"name" example:"client"`
	Count  int             `yaml:"count" json:"count,omitempty" range:"1 64" example:"5"` // so many, with their numbers behind the name; omitted: one, without
	Switch string          `yaml:"switch" json:"switch" example:"lan"`                    // omitted: the first one
	Port   wire.Direction  `yaml:"port" json:"port"`                                      // from the switch to the host
	Up     *wire.Direction `yaml:"up" json:"up,omitempty"`                                // from the host to the switch; omitted: rate and delay of port
	HostSpec
}

// Trunk joins two switches.
type Trunk struct {
	From string          `yaml:"from" json:"from" example:"west"`
	To   string          `yaml:"to" json:"to" example:"east"`
	Link wire.Direction  `yaml:"link" json:"link"`
	Back *wire.Direction `yaml:"back" json:"back"` // omitted: as link; never nil in a loaded scenario
}

// Way is what only packets from one host to another meet, behind all trunks: one bad cable of
// several that share the load.
type Way struct {
	From string         `yaml:"from" json:"from" example:"host3"`
	To   string         `yaml:"to" json:"to" example:"host6"`
	Link wire.Direction `yaml:"link" json:"link"`
}

// MostHosts is how many a network can have: each is a process with namespaces of its own.
const MostHosts = 64

// Complete fills in what was omitted.
func (n *Network) Complete() {
	if n.MTU == 0 {
		n.MTU = defaultMTU
	}
	for i := range n.Hosts {
		if h := &n.Hosts[i]; h.Switch == "" && len(n.Switches) > 0 {
			h.Switch = n.Switches[0].Name
		}
	}
	for i := range n.Trunks {
		if t := &n.Trunks[i]; t.Back == nil {
			back := t.Link
			t.Back = &back
		}
	}
}

// Names are those of the hosts that a member stands for.
func (m *Member) Names() []string {
	if m.Count == 0 {
		return []string{m.Name}
	}
	names := make([]string, min(max(m.Count, 0), MostHosts+1)) // what is out of its range is an error elsewhere
	for i := range names {
		names[i] = m.Name + strconv.Itoa(i+1)
	}
	return names
}

// netHost is one host of a network.
type netHost struct {
	name string
	*Member
}

func (n *Network) all() (hosts []netHost) {
	for i := range n.Hosts {
		for _, name := range n.Hosts[i].Names() {
			hosts = append(hosts, netHost{name, &n.Hosts[i]})
		}
	}
	return hosts
}

// HostNames are those of all hosts, in the order of the file.
func (n *Network) HostNames() (names []string) {
	for _, h := range n.all() {
		names = append(names, h.name)
	}
	return names
}

// cardQueue is what the queue of a host's own port must hold: it takes what the token bucket of the
// host's kernel lets out at once, also where this machine is late to read it.
const cardQueue = 50 * time.Millisecond

// up is the link from a host to its switch.
func (h *netHost) up(mtu int) wire.Direction {
	if h.Up != nil {
		return *h.Up
	}
	_, burst, _ := bucket(h.Port.Rate, mtu)
	return wire.Direction{Rate: h.Port.Rate, Delay: h.Port.Delay, Queue: wire.Queue{Bytes: max(unit.Size(2*burst)+64*unit.KiB, h.Port.Rate.BytesIn(cardQueue))}}
}

// spec is what is particular about the host.
func (h *netHost) spec() HostSpec {
	s := h.HostSpec
	if h.Up == nil && s.Shape == 0 {
		s.Shape = h.Port.Rate
	}
	return s
}

// Links of a fabric: of host i the one up is 2i and the one down 2i+1; then come both of each
// trunk, and the ways.
func (n *Network) trunkLink(trunk int) int { return 2*len(n.all()) + 2*trunk }

func (n *Network) wayLink(way int) int { return n.trunkLink(len(n.Trunks)) + way }

// Fabric is what package wire makes of the network, for hosts of these addresses.
func (n *Network) fabric(addresses [][]netip.Addr) (*wire.Fabric, error) {
	f, hosts := &wire.Fabric{}, n.all()
	buffers := map[string]int{}
	for _, s := range n.Switches {
		if s.Buffer > 0 {
			f.Buffers = append(f.Buffers, s.Buffer)
			buffers[s.Name] = len(f.Buffers)
		}
	}
	add := func(from, to string, d wire.Direction) {
		f.Links = append(f.Links, wire.Link{Name: from + " to " + to, Direction: d, Buffer: buffers[from]})
	}
	for i, h := range hosts {
		add(h.name, h.Switch, h.up(n.MTU))
		add(h.Switch, h.name, h.Port)
		f.Devices = append(f.Devices, wire.Device{Name: h.name, Addresses: addresses[i]})
	}
	for _, t := range n.Trunks {
		add(t.From, t.To, t.Link)
		add(t.To, t.From, *t.Back)
	}
	for _, w := range n.Ways {
		add(w.From, w.To, w.Link)
	}
	f.Routes = make([][][]int, len(hosts))
	for i := range hosts {
		f.Routes[i] = make([][]int, len(hosts))
		for j := range hosts {
			if i == j {
				continue
			}
			between, ok := n.between(hosts[i].Switch, hosts[j].Switch)
			if !ok {
				return nil, fmt.Errorf("no trunks lead from %s to %s, so %s does not reach %s", hosts[i].Switch, hosts[j].Switch, hosts[i].name, hosts[j].name)
			}
			route := append([]int{2 * i}, between...)
			if w := slices.IndexFunc(n.Ways, func(w Way) bool { return w.From == hosts[i].name && w.To == hosts[j].name }); w >= 0 {
				route = append(route, n.wayLink(w))
			}
			f.Routes[i][j] = append(route, 2*j+1)
		}
	}
	n.measure(f)
	return f, nil
}

// between are the links of the trunks between two switches, the fewest that there can be.
func (n *Network) between(from, to string) (links []int, ok bool) {
	came := map[string][]int{from: {}}
	for reached := []string{from}; len(reached) > 0; reached = reached[1:] {
		at := reached[0]
		if at == to {
			return came[at], true
		}
		for i, t := range n.Trunks {
			next, link := t.To, n.trunkLink(i)
			if t.To == at {
				next, link = t.From, link+1
			} else if t.From != at {
				continue
			}
			if _, been := came[next]; !been {
				came[next] = append(slices.Clone(came[at]), link)
				reached = append(reached, next)
			}
		}
	}
	return nil, false
}

// measure gives each link the longest round trip of those that go over it.
func (n *Network) measure(f *wire.Fabric) {
	for i := range f.Routes {
		for j := range f.Routes[i] {
			rtt := roundTrip(f, i, j)
			for _, link := range f.Routes[i][j] {
				f.Links[link].RTT = max(f.Links[link].RTT, rtt)
			}
		}
	}
}

// roundTrip is that of a small packet between two hosts, on the idle network.
func roundTrip(f *wire.Fabric, from, to int) (rtt time.Duration) {
	for _, link := range slices.Concat(f.Routes[from][to], f.Routes[to][from]) {
		rtt += f.Links[link].Delay
	}
	return rtt
}

// addressesOf are those of so many hosts, from the ranges of two.
func addressesOf(count int) (all [][]netip.Addr) {
	v4, v6 := addressA, address6A
	for range count {
		all = append(all, []netip.Addr{v4, v6})
		v4, v6 = v4.Next(), v6.Next()
	}
	return all
}

// Bounds of a shaper, as time at its rate: how much may go out at once, and how
// much may wait.
const (
	shapeBurst = 0.002 // seconds
	shapeQueue = 0.100 // seconds
)

// bucket is a shaper's rate in bytes a second, how many bytes may go out at once (two
// packets at least), and how many may wait.
func bucket(rate unit.Rate, mtu int) (bytes uint64, burst, limit uint32) {
	bytes = uint64(float64(rate) / 8)
	burst = uint32(max(2*float64(mtu), shapeBurst*float64(bytes)))
	limit = uint32(max(128<<10, shapeQueue*float64(bytes)))
	return bytes, burst, limit
}
