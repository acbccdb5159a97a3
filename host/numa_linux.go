package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
)

// NodeCPUs gives the CPUs of the NUMA node that a network interface is attached
// to. Without an error, a node of -1 means that it is attached to none, as a
// virtual one is, and any one on a machine with one node.
func NodeCPUs(nic string) (node int, cpus []int, err error) { return root("/").nodeCPUs(nic) }

func (r root) nodeCPUs(nic string) (node int, cpus []int, err error) {
	if nic != filepath.Base(nic) {
		return -1, nil, fmt.Errorf("%q is no network interface", nic)
	}
	text, err := r.line(filepath.Join("sys/class/net", nic, "device/numa_node"))
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil, nil // no device of its own, or a kernel without NUMA
	}
	if err != nil {
		return -1, nil, fmt.Errorf("read NUMA node of %s: %w", nic, err)
	}
	if node, err = strconv.Atoi(text); err != nil {
		return -1, nil, fmt.Errorf("read NUMA node of %s: %w", nic, err)
	}
	if node < 0 {
		return -1, nil, nil
	}
	if text, err = r.line(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", node)); err != nil {
		return -1, nil, fmt.Errorf("read CPUs of NUMA node %d: %w", node, err)
	}
	if cpus, err = ParseCPUs(text); err != nil {
		return -1, nil, fmt.Errorf("read CPUs of NUMA node %d: %w", node, err)
	}
	return node, cpus, nil
}
