package collector

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// versionNumber is what a version begins with. Its numbers are bounded, so that
// they can be compared.
var versionNumber = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9}){0,5}`)

// check says what is wrong with facts: they come from a file or from a far end,
// and a plan, a script or a terminal relies on them. Only a host that reports no
// tunables need not report its version: nothing is planned for it.
func check(f *host.Facts) error {
	if _, err := tunable.Of(f.OS); err != nil {
		return fmt.Errorf("os %.40q is not known: there are %s", f.OS, strings.Join(tunable.Systems(), ", "))
	}
	if !versionNumber.MatchString(f.Version) && (f.Version != "" || len(f.Tunables) > 0) {
		return fmt.Errorf("version %.40q does not begin with a number", f.Version)
	}
	for what, text := range map[string]string{
		"name": f.Name, "version": f.Version, "distribution": f.Distribution, "arch": f.Arch,
		"cpu_model": f.CPUModel, "boot_id": f.BootID,
	} {
		if err := checkText(what, text, maxWord); err != nil {
			return err
		}
	}
	if err := checkText("why_not", f.WhyNot, 4*maxWord); err != nil {
		return err
	}
	switch {
	case f.Name == "":
		return fmt.Errorf("the host has no name")
	case f.CPUs < 0 || f.CPUs > maxCPUs:
		return fmt.Errorf("cpus is %d, want 0..%d", f.CPUs, maxCPUs)
	case f.Memory < 0 || f.Memory > maxMemory:
		return fmt.Errorf("memory_bytes is %d, want 0..%d", f.Memory, int64(maxMemory))
	case len(f.Interfaces) > maxInterfaces:
		return fmt.Errorf("%d interfaces, want at most %d", len(f.Interfaces), maxInterfaces)
	case len(f.Tunables) > maxTunables || len(f.ReadOnly) > maxTunables || len(f.Most) > maxTunables:
		return fmt.Errorf("%d tunables, want at most %d", len(f.Tunables), maxTunables)
	case len(f.Managers) > maxManagers:
		return fmt.Errorf("%d managers, want at most %d", len(f.Managers), maxManagers)
	}
	for i := range f.Interfaces {
		if err := checkInterface(&f.Interfaces[i]); err != nil {
			return fmt.Errorf("interface %d: %w", i+1, err)
		}
	}
	for name := range f.Tunables {
		if len(name) > maxName {
			return fmt.Errorf("tunable %.40q... has a name of %d bytes, want at most %d", name, len(name), maxName)
		}
	}
	for _, m := range f.Managers {
		if m.Name == "" {
			return fmt.Errorf("a manager has no name")
		}
		if err := checkText("manager", m.Name+" "+m.Sets, 4*maxWord); err != nil {
			return err
		}
	}
	return nil
}

func checkInterface(n *host.Interface) error {
	if !plausible(n.Name) {
		return fmt.Errorf("name %.40q: want 1 to %d printable bytes", n.Name, maxWord)
	}
	for what, text := range map[string]string{"duplex": n.Duplex, "driver": n.Driver, "autoneg": n.Autoneg} {
		if err := checkText(what, text, maxWord); err != nil {
			return err
		}
	}
	switch {
	case n.MTU < 0 || int64(n.MTU) >= maxMTU:
		return fmt.Errorf("mtu is %d, want 0..%d", n.MTU, int64(maxMTU-1))
	case n.Speed < 0 || n.Speed > maxSpeed:
		return fmt.Errorf("speed_mbps is %d, want 0..%d", n.Speed, maxSpeed)
	case len(n.Addresses) > maxInterfaces || len(n.Qdiscs) > maxInterfaces || len(n.Offloads) > maxWord:
		return fmt.Errorf("more addresses, queues or offloads than an interface has")
	}
	for _, a := range n.Addresses {
		if _, err := netip.ParsePrefix(a); err != nil {
			return fmt.Errorf("address %.60q is not one with the length of its prefix, as 198.18.0.1/24", a)
		}
	}
	for name := range n.Offloads {
		if err := checkText("offload", name, maxWord); err != nil {
			return err
		}
	}
	for _, q := range n.Qdiscs {
		if err := checkText("queue", q.Kind+" "+q.Handle+" "+q.Parent, maxWord); err != nil {
			return err
		}
		if q.Rate < 0 || q.Packets < 0 || q.Bytes < 0 || q.Drops < 0 || q.Backlog < 0 {
			return fmt.Errorf("queue %q has numbers below 0", q.Kind)
		}
	}
	return nil
}

// checkText wants printable text on one line.
func checkText(what, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%s has %d bytes, want at most %d", what, len(text), most)
	}
	if at := strings.IndexFunc(text, unprintable); at >= 0 {
		return fmt.Errorf("%s %.40q has something in it that cannot be printed", what, text)
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// plausible says whether a name can be one of an interface, a mount point or a
// route. Windows's have blanks, and letters of all scripts.
func plausible(name string) bool {
	return name != "" && len(name) <= maxWord && name == strings.TrimSpace(name) && !strings.ContainsFunc(name, unprintable)
}

// networks counts the interfaces that are up and have an address that reaches
// beyond their link, without those that a host makes for its own guests.
func networks(all []host.Interface) int {
	count := 0
	for _, n := range all {
		if n.Up && !virtual.MatchString(n.Name) && reaches(n.Addresses) {
			count++
		}
	}
	return count
}

// virtual are names of interfaces that lead to no other machine: loopbacks,
// bridges to guests, tunnels.
var virtual = regexp.MustCompile(`^(lo|loopback|docker|br-|virbr|bridge|veth|tap|tun|utun|epair|vnet|vboxnet|vmnet|vethernet|cni|flannel|cali|wg|gif|stf|awdl|llw|pflog)`)

func reaches(addresses []string) bool {
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a); err == nil && p.Addr().IsGlobalUnicast() {
			return true
		}
	}
	return false
}
