package bulk

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/host"
)

// Place says to which CPU the i-th stream's thread is to be pinned: spec's CPUs for
// this end, in turn. None: it is not pinned, and note says why if that was asked for.
// An error says which CPU is not available.
func (s Spec) Place(conn Conn, i int) (cpus []int, note string, err error) {
	list := s.cpus(conn.Server)
	if list == "" {
		return nil, "", nil
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, "", fmt.Errorf("get CPU affinity: %w", err)
	}
	barred := func(cpu int) bool { return !allowed.IsSet(cpu) }
	if list == nicCPUs {
		cpus, note, err = nearNIC(conn.local())
		if cpus = slices.DeleteFunc(cpus, barred); len(cpus) == 0 && note == "" {
			note = "not pinned: this process may not use the CPUs of the NIC's NUMA node"
		}
		if len(cpus) == 0 || err != nil {
			return nil, note, err
		}
	} else if cpus, err = host.ParseCPUs(list); err != nil {
		return nil, "", fmt.Errorf("list of CPUs: %w", err)
	}
	if at := slices.IndexFunc(cpus, barred); at >= 0 {
		return nil, "", noCPU(cpus[at])
	}
	return []int{cpus[i%len(cpus)]}, "", nil
}

// noCPU says why a CPU cannot be used.
func noCPU(cpu int) error {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return fmt.Errorf("pin to CPU %d: it does not exist here, or this process may not use it", cpu)
	}
	online := strings.TrimSpace(string(text))
	if have, err := host.ParseCPUs(online); err == nil && slices.Contains(have, cpu) {
		return fmt.Errorf("pin to CPU %d: this process may not use it (a cpuset, or taskset)", cpu)
	}
	return fmt.Errorf("pin to CPU %d: this host has CPUs %s", cpu, online)
}

// nearNIC gives the CPUs of the NUMA node of the NIC with an address; none:
// note says why.
func nearNIC(local net.Addr) (cpus []int, note string, err error) {
	nic := interfaceOf(local)
	if nic == nil {
		return nil, fmt.Sprintf("not pinned: no interface has the address of %v", local), nil
	}
	node, cpus, err := host.NodeCPUs(nic.Name)
	if node < 0 && err == nil {
		note = fmt.Sprintf("not pinned: %s belongs to no NUMA node", nic.Name)
	}
	return cpus, note, err
}

// interfaceOf is the interface that has an address, or nil.
func interfaceOf(local net.Addr) *net.Interface {
	var ip net.IP
	var zone string
	switch a := local.(type) {
	case *net.TCPAddr:
		ip, zone = a.IP, a.Zone
	case *net.UDPAddr:
		ip, zone = a.IP, a.Zone
	}
	nics, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for i := range nics {
		addresses, err := nics[i].Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			have, ok := a.(*net.IPNet)
			if ok && have.IP.Equal(ip) && (zone == "" || zone == nics[i].Name) {
				return &nics[i]
			}
		}
	}
	return nil
}

// pin restricts this thread, to which the goroutine is locked, to cpus; none:
// not at all. unpin undoes that, and says whether other goroutines may have the
// thread again.
func pin(cpus []int) (unpin func() bool, err error) {
	unpin = func() bool { return true }
	if len(cpus) == 0 {
		return unpin, nil
	}
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return unpin, fmt.Errorf("get CPU affinity: %w", err)
	}
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return unpin, fmt.Errorf("pin to CPU %v: %w", cpus, err)
	}
	return func() bool { return unix.SchedSetaffinity(0, &before) == nil }, nil
}
