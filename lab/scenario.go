package lab

import (
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Scenario describes two hosts, a and b, and the path between them.
type Scenario struct {
	Name    string    `yaml:"name" json:"name"`
	About   string    `yaml:"about" json:"about,omitempty"`
	Path    Path      `yaml:"path" json:"path"`
	Hosts   Hosts     `yaml:"hosts" json:"hosts"`
	Traffic []Traffic `yaml:"traffic" json:"traffic,omitempty"`
	Expect  Expect    `yaml:"expect" json:"expect,omitzero"`
}

// Path is what lies between the hosts.
type Path struct {
	MTU  int        `yaml:"mtu" json:"mtu"` // bytes of the largest IP packet on the hosts' links; omitted: 1500
	AToB Direction  `yaml:"a_to_b" json:"a_to_b"`
	BToA *Direction `yaml:"b_to_a" json:"b_to_a"` // omitted: as AToB; never nil in a loaded scenario
}

// RTT is the round-trip time of a small packet on the idle path.
func (p *Path) RTT() time.Duration {
	return time.Duration(p.AToB.Delay) + time.Duration(p.BToA.Delay)
}

// BDP is the bandwidth-delay product of one direction: its rate times the RTT
// of both.
func (p *Path) BDP(d *Direction) unit.Size { return unit.Rate(d.Rate).BytesIn(p.RTT()) }

// Goodput is the most that TCP over IPv4 with timestamps can deliver in one
// direction: of every full packet, 20 bytes are IP, 20 TCP and 12 timestamps.
// Rates count IP bytes, so no link header is in the arithmetic.
func (p *Path) Goodput(d *Direction) unit.Rate {
	return unit.Rate(d.Rate) * unit.Rate(p.MTU-52) / unit.Rate(p.MTU)
}

// Direction is one way of the path: a link of a rate with a queue before it,
// a delay after it, and what may happen to packets on the way.
type Direction struct {
	Rate           Rate     `yaml:"rate" json:"rate_bps"`
	Delay          Duration `yaml:"delay" json:"delay_ns"`
	Jitter         Duration `yaml:"jitter" json:"jitter_ns,omitempty"` // the delay wanders between delay-jitter and delay+jitter; never reorders
	Loss           Loss     `yaml:"loss" json:"loss,omitzero"`
	Reorder        Reorder  `yaml:"reorder" json:"reorder,omitzero"`
	Duplicate      Share    `yaml:"duplicate" json:"duplicate,omitempty"`
	Corrupt        Share    `yaml:"corrupt" json:"corrupt,omitempty"`
	Queue          Queue    `yaml:"queue" json:"queue,omitzero"` // omitted: 1bdp, at least wire.MinQueuePackets
	Policer        Policer  `yaml:"policer" json:"policer,omitzero"`
	ECN            ECN      `yaml:"ecn" json:"ecn,omitzero"`
	BlackHoleAbove int      `yaml:"black_hole_above" json:"black_hole_above,omitempty"` // bytes; larger IP packets vanish
	MSSClamp       int      `yaml:"mss_clamp" json:"mss_clamp,omitempty"`               // bytes; lowers the MSS option of SYNs
	Strip          []string `yaml:"strip" json:"strip,omitempty"`                       // TCP options taken from SYNs: wscale, sack, timestamps
	Seed           uint64   `yaml:"seed" json:"seed,omitempty"`                         // of everything random in this direction
}

// Reorder delays some packets so that later ones overtake them.
type Reorder struct {
	Share Share    `yaml:"share" json:"share"`
	By    Duration `yaml:"by" json:"by_ns"`
}

// Policer drops what exceeds a token bucket.
type Policer struct {
	Rate  Rate `yaml:"rate" json:"rate_bps"`
	Burst Size `yaml:"burst" json:"burst_bytes"`
}

// ECN marks ECN-capable packets when the queue is longer than Above.
type ECN struct {
	Above Queue `yaml:"above" json:"above"`
}

// Hosts are the two ends of the path.
type Hosts struct {
	A HostSpec `yaml:"a" json:"a"`
	B HostSpec `yaml:"b" json:"b"`
}

// Traffic is a set of competing bulk flows with the host's default settings.
type Traffic struct {
	From  string   `yaml:"from" json:"from"` // "a" or "b"
	To    string   `yaml:"to" json:"to"`     // the other one
	Flows int      `yaml:"flows" json:"flows"`
	Start Duration `yaml:"start" json:"start_ns"` // after the lab is up
}

// Expect says what a diagnosis of the first host's transfer should find.
type Expect struct {
	Cause string `yaml:"cause" json:"cause,omitempty"`
}

// HostSpec is what is particular about a host. It is in effect before anything
// runs there.
type HostSpec struct {
	Congestion string            `yaml:"congestion" json:"congestion,omitempty"` // default algorithm of new connections
	Sysctl     map[string]string `yaml:"sysctl" json:"sysctl,omitempty"`
	CPUs       float64           `yaml:"cpus" json:"cpus,omitempty"`                   // processor time for the host's processes, in CPUs
	SlowReader Rate              `yaml:"slow_reader" json:"slow_reader_bps,omitempty"` // bulk receivers read no faster
	SlowWriter Rate              `yaml:"slow_writer" json:"slow_writer_bps,omitempty"` // bulk senders write no faster
	Shape      Rate              `yaml:"shape" json:"shape_bps,omitempty"`             // tbf on the host's egress
}

// spec is the description of the host "a" or "b".
func (s *Scenario) spec(name string) *HostSpec {
	if name == "a" {
		return &s.Hosts.A
	}
	return &s.Hosts.B
}
