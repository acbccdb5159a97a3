package lab

import (
	"time"

	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// Scenario describes two hosts, a and b, and the path between them; or, with a network, many.
type Scenario struct {
	Name    string    `yaml:"name" json:"name" example:"california-uk"`
	About   string    `yaml:"about" json:"about,omitempty" example:"1 Gb/s, 150 ms"`
	Path    Path      `yaml:"path" json:"path,omitzero"`
	Hosts   Hosts     `yaml:"hosts" json:"hosts,omitzero"`
	Network *Network  `yaml:"network" json:"network,omitempty"` // in place of path and hosts
	Traffic []Traffic `yaml:"traffic" json:"traffic,omitempty"`
	NFS     *NFS      `yaml:"nfs" json:"nfs,omitempty"` // omitted: a server without limits, and what is asked of it is as the command line has it
	Expect  Expect    `yaml:"expect" json:"expect,omitzero"`
}

// Path is what lies between the hosts. MTU is in bytes of the largest IP packet
// on the hosts' links: IPv6 needs 1280 (RFC 8200, 5), an IP packet has 65535 at
// most.
type Path struct {
	MTU  int             `yaml:"mtu" json:"mtu" range:"1280 65535" example:"9000"` // omitted: defaultMTU
	AToB wire.Direction  `yaml:"a_to_b" json:"a_to_b"`
	BToA *wire.Direction `yaml:"b_to_a" json:"b_to_a"` // omitted: as AToB; never nil in a loaded scenario
}

// defaultMTU is Ethernet's (RFC 894).
const defaultMTU = 1500

// Complete fills in what was omitted.
func (s *Scenario) Complete() {
	if s.Network != nil {
		return // it completes itself
	}
	p := &s.Path
	if p.MTU == 0 {
		p.MTU = defaultMTU
	}
	if p.BToA == nil {
		reverse := p.AToB
		p.BToA = &reverse
	}
}

// RTT is the round-trip time of a small packet on the idle path.
func (p *Path) RTT() time.Duration { return p.AToB.Delay + p.BToA.Delay }

// BDP is the bandwidth-delay product of one direction: its rate times the RTT
// of both.
func (p *Path) BDP(d *wire.Direction) unit.Size { return d.Rate.BytesIn(p.RTT()) }

// Goodput is the most that TCP over IPv4 with timestamps can deliver in one
// direction: of every full packet, 20 bytes are IP, 20 TCP and 12 timestamps.
// Rates count IP bytes, so no link header is in the arithmetic.
func (p *Path) Goodput(d *wire.Direction) unit.Rate {
	return d.Rate * unit.Rate(p.MTU-52) / unit.Rate(p.MTU)
}

// Hosts are the two ends of the path.
type Hosts struct {
	A HostSpec `yaml:"a" json:"a"`
	B HostSpec `yaml:"b" json:"b"`
}

// Traffic is a set of competing bulk flows with the host's default settings.
// Each flow has a thread at both ends, hence the most of them. None starts more
// than a day after the lab: no lab lasts longer.
type Traffic struct {
	From  string        `yaml:"from" json:"from" of:"a b" example:"a"`
	To    string        `yaml:"to" json:"to" of:"a b" example:"b"` // the other one
	Flows int           `yaml:"flows" json:"flows" range:"1 64" example:"2"`
	Start time.Duration `yaml:"start" json:"start_ns" range:"0s 24h" example:"10s"` // after the lab is up
}

// Expect says what a diagnosis of the first host's transfer should find; where the
// scenario has a part for NFS, of its requests to a file of host b.
type Expect struct {
	Cause string `yaml:"cause" json:"cause,omitempty" example:"receiver-buffer"`
}

// HostSpec is what is particular about a host. It is in effect before anything
// runs there.
//
// With the kernel's least quota of 1 ms (min_cfs_quota_period,
// kernel/sched/core.c), the least share of 0.02 CPUs makes a period of 50 ms,
// half of what containers get by default. Below it a host is so often asleep that
// protocols time out.
type HostSpec struct {
	Congestion string            `yaml:"congestion" json:"congestion,omitempty" example:"cubic"` // default algorithm of new connections
	Sysctl     map[string]string `yaml:"sysctl" json:"sysctl,omitempty" example:"{net.ipv4.tcp_ecn: 1}"`
	CPUs       float64           `yaml:"cpus" json:"cpus,omitempty" range:"0.02 1024" example:"0.5"`                            // processor time for the host's processes, in CPUs
	SlowReader unit.Rate         `yaml:"slow_reader" json:"slow_reader_bps,omitempty" range:"1kbit 10000gbit" example:"50mbit"` // bulk receivers read no faster
	SlowWriter unit.Rate         `yaml:"slow_writer" json:"slow_writer_bps,omitempty" range:"1kbit 10000gbit" example:"20mbit"` // bulk senders write no faster
	Shape      unit.Rate         `yaml:"shape" json:"shape_bps,omitempty" range:"1kbit 10000gbit" example:"100mbit"`            // tbf on the host's egress
}

// spec is the description of a host.
func (s *Scenario) spec(name string) HostSpec {
	if s.Network != nil {
		for _, h := range s.Network.all() {
			if h.name == name {
				return h.spec()
			}
		}
	}
	if name == "a" {
		return s.Hosts.A
	}
	return s.Hosts.B
}

// HostNames are those of the scenario's hosts.
func (s *Scenario) HostNames() []string {
	if s.Network != nil {
		return s.Network.HostNames()
	}
	return []string{"a", "b"}
}
