package lab

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/near"
)

// validHost is a name of a host or a switch that also fits into a socket's path.
var validHost = regexp.MustCompile(`^[a-z][a-z0-9-]{0,14}$`)

// network finds what cannot be meant of a network.
func (c *checker) network(s *Scenario) {
	n := s.Network
	for _, other := range []struct {
		key   string
		given any
	}{{"path", s.Path}, {"hosts", s.Hosts}, {"traffic", s.Traffic}, {"nfs", s.NFS}, {"expect", s.Expect}} {
		c.Reject(!reflect.ValueOf(other.given).IsZero(), other.key, "%s is for two hosts and a path; this scenario has a network", other.key)
	}
	c.Reject(len(n.Switches) == 0, "network", "a network needs switches, one at least: [{name: lan}]")
	c.Reject(len(n.Hosts) == 0, "network", "a network needs hosts")
	switches, hosts := c.names(n)
	known := func(at, kind, name string, names []string) bool {
		there := slices.Contains(names, name)
		c.Reject(!there, at, "there is no %s %q%s", kind, name, near.DidYouMean(name, names))
		return there
	}
	whole := true // enough of it to look at the rest
	for i, h := range n.Hosts {
		at := fmt.Sprintf("network.hosts[%d]", i)
		whole = known(at+".switch", "switch", h.Switch, switches) && whole
		c.Reject(h.Port.Rate == 0, at+".port", "a rate such as 1gbit is needed")
		c.host(at, &n.Hosts[i].HostSpec)
	}
	for i, t := range n.Trunks {
		at := fmt.Sprintf("network.trunks[%d]", i)
		whole = known(at+".from", "switch", t.From, switches) && known(at+".to", "switch", t.To, switches) && whole
		c.Reject(t.From == t.To, at, "a trunk from %s to itself", t.From)
		c.Reject(t.Link.Rate == 0, at+".link", "a rate such as 1gbit is needed")
	}
	seen := map[string]bool{}
	for i, w := range n.Ways {
		at := fmt.Sprintf("network.ways[%d]", i)
		whole = known(at+".from", "host", w.From, hosts) && known(at+".to", "host", w.To, hosts) && whole
		c.Reject(w.From == w.To, at, "a way from %s to itself", w.From)
		c.Reject(seen[w.From+" "+w.To], at, "there is a way from %s to %s already", w.From, w.To)
		seen[w.From+" "+w.To] = true
	}
	if whole && len(c.Found) == 0 {
		c.links(n)
	}
}

// names are those of the switches and the hosts, each of which there may be once.
func (c *checker) names(n *Network) (switches, hosts []string) {
	seen := map[string]bool{}
	add := func(at, name string) {
		c.Reject(!validHost.MatchString(name), at, "a name of small letters, digits and hyphens is needed, 15 at most that begin with a letter, not %q", name)
		c.Reject(seen[name], at, "%q is there twice", name)
		c.Reject(name == "localhost", at, "localhost is each host's own name")
		seen[name] = true
	}
	for i, s := range n.Switches {
		add(fmt.Sprintf("network.switches[%d].name", i), s.Name)
		switches = append(switches, s.Name)
	}
	for i := range n.Hosts {
		for _, name := range n.Hosts[i].Names() {
			add(fmt.Sprintf("network.hosts[%d].name", i), name)
			hosts = append(hosts, name)
		}
	}
	c.Reject(len(hosts) > MostHosts, "network.hosts", "%d hosts: at most %d are possible", len(hosts), MostHosts)
	return switches, hosts
}

// links finds what does not go together on each link.
func (c *checker) links(n *Network) {
	f, err := n.fabric(addressesOf(len(n.all())))
	if err != nil {
		c.Reject(true, "network.trunks", "%w", err)
		return
	}
	conflicts := func(at string, link int, d *wire.Direction) {
		if d == nil {
			return
		}
		for _, fault := range d.Conflicts(f.Links[link].RTT, n.MTU) {
			c.Reject(true, at+"."+fault.Key, "%w", fault.Err)
		}
	}
	host := 0
	for i := range n.Hosts {
		at := fmt.Sprintf("network.hosts[%d]", i)
		conflicts(at+".up", 2*host, n.Hosts[i].Up)
		conflicts(at+".port", 2*host+1, &n.Hosts[i].Port)
		host += len(n.Hosts[i].Names())
	}
	for i := range n.Trunks {
		at := fmt.Sprintf("network.trunks[%d]", i)
		conflicts(at+".link", n.trunkLink(i), &n.Trunks[i].Link)
		if !reflect.DeepEqual(n.Trunks[i].Back, &n.Trunks[i].Link) { // mostly as it was omitted
			conflicts(at+".back", n.trunkLink(i)+1, n.Trunks[i].Back)
		}
	}
	for i := range n.Ways {
		conflicts(fmt.Sprintf("network.ways[%d].link", i), n.wayLink(i), &n.Ways[i].Link)
	}
	longest := 0
	for _, to := range f.Routes {
		for _, route := range to {
			longest = max(longest, len(route))
		}
	}
	c.Reject(longest > wire.MostHops, "network.trunks", "the way between two hosts has %d links: at most %d are possible", longest, wire.MostHops)
}

// ErrNetwork says that a scenario has many hosts where two and a path are needed.
type ErrNetwork struct{ Scenario *Scenario }

func (e *ErrNetwork) Error() string {
	names := e.Scenario.Network.HostNames()
	return fmt.Sprintf("scenario %s has %d hosts around a switch (%s): here two hosts and a path are needed; fullbore lab run takes it", e.Scenario.Name, len(names), strings.Join(names, ", "))
}
