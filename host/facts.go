// Package host knows this host: its facts, its counters, and how to read and
// set its tunables. What differs by operating system stands in a file of its
// own behind the same few functions.
package host

import (
	"errors"

	"github.com/fullbore/fullbore/unit"
)

// ErrUnsupported is returned by what this operating system, or this build for
// it, cannot do.
var ErrUnsupported = errors.New("not supported on this operating system")

// Facts describe a host as far as bulk transfers care.
type Facts struct {
	Name         string            `json:"name"`                   // host name
	OS           string            `json:"os"`                     // "linux", as in the catalogue's file names
	Version      string            `json:"version"`                // kernel or system version: "6.18.44"
	Distribution string            `json:"distribution,omitempty"` // "Debian GNU/Linux 12 (bookworm)"
	Arch         string            `json:"arch"`
	CPUs         int               `json:"cpus"`
	CPUModel     string            `json:"cpu_model,omitempty"`
	Memory       int64             `json:"memory_bytes"` // of the machine, or of a control group that limits it
	BootID       string            `json:"boot_id,omitempty"`
	Forwards     bool              `json:"forwards"` // routes between networks: a router or firewall is not tuned (the LAN buffer article)
	Interfaces   []Interface       `json:"interfaces"`
	Tunables     map[string]string `json:"tunables"`            // present values of the catalogue's tunables, blanks normalised; those of an interface or a mount as "link.mtu@eth0"
	ReadOnly     []string          `json:"read_only,omitempty"` // those among Tunables that cannot be set here
	Most         map[string]int64  `json:"most,omitempty"`      // the largest value that the device takes, of those among Tunables where it says so
	Managers     []Manager         `json:"managers,omitempty"`  // what else sets tunables on this host
	CanChange    bool              `json:"can_change"`
	WhyNot       string            `json:"why_not,omitempty"` // if not CanChange, in words
}

// Manager is a program, service or policy that sets tunables too, and may set
// them back.
type Manager struct {
	Name string `json:"name"`           // "tuned", "bpftune", "group policy"
	Sets string `json:"sets,omitempty"` // what it sets: "profile network-throughput", "AutoTuningLevel"
}

// Interface is one network interface.
type Interface struct {
	Name      string   `json:"name"`
	MTU       int      `json:"mtu"`
	Up        bool     `json:"up"`
	Speed     int      `json:"speed_mbps,omitempty"` // 0: unknown
	Duplex    string   `json:"duplex,omitempty"`     // "full", "half", "": unknown
	Driver    string   `json:"driver,omitempty"`
	Addresses []string `json:"addresses,omitempty"` // CIDR

	Autoneg  string          `json:"autoneg,omitempty"`  // "on", "off", "": unknown, or nothing to negotiate
	Offloads map[string]bool `json:"offloads,omitempty"` // what the device does for the kernel, by the names in Offloads
	Qdiscs   []Qdisc         `json:"qdiscs,omitempty"`   // the root first
}

// Offloads are the names of offloads, as ethtool(8) abbreviates them for -K.
var Offloads = []string{"rx", "tx", "sg", "tso", "gso", "gro", "lro"}

// Qdisc is a queue before an interface (tc-qdisc(8)).
type Qdisc struct {
	Kind    string    `json:"kind"`                    // "fq", "tbf", "htb", ...
	Handle  string    `json:"handle"`                  // "1:"
	Parent  string    `json:"parent"`                  // "root", "ingress", or the class that it belongs to: "1:10"
	Rate    unit.Rate `json:"rate_bps,omitempty"`      // nothing leaves faster; 0: not limited here
	PerFlow bool      `json:"per_flow,omitempty"`      // the rate is that of each flow
	Packets int64     `json:"limit_packets,omitempty"` // how much may wait; 0: not counted so
	Bytes   int64     `json:"limit_bytes,omitempty"`   // the same
	Drops   int64     `json:"drops"`                   // packets, since it was set up
	Backlog int64     `json:"backlog_bytes"`           // waiting now
}
