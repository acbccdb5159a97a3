// Package path measures what lies between two hosts: round-trip time, path MTU
// and capacity, in each direction, without privileges wherever the system
// allows.
package path

import (
	"fmt"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Estimate is what is known of a path, with how it is known.
type Estimate struct {
	RTT     RTT       `json:"rtt"`
	Forward Direction `json:"forward"` // from this host to the far one
	Reverse Direction `json:"reverse"`
}

// RTT is a set of round-trip times.
type RTT struct {
	Min    time.Duration `json:"min_ns"`
	Median time.Duration `json:"median_ns"`
	Max    time.Duration `json:"max_ns"`
	Count  int           `json:"count"`
	Lost   int           `json:"lost"`
	Method string        `json:"method"` // "tcp handshake" or "icmp echo"
	Note   string        `json:"note,omitempty"`
}

// Direction is one way of the path.
type Direction struct {
	MTU      MTU      `json:"mtu"`
	Capacity Capacity `json:"capacity"`
}

// MTU is the largest IP packet that passes unfragmented, in bytes; 0: unknown.
type MTU struct {
	Bytes  int    `json:"bytes"`
	Link   int    `json:"link,omitempty"` // MTU of the sending interface
	Method string `json:"method"`         // "udp probe", "kernel", "none"
	Note   string `json:"note,omitempty"` // "packets above 1400 bytes vanish without an ICMP error"

	// BlackHole says that larger packets were lost although the sender's kernel
	// believes that they pass: no router reported otherwise.
	BlackHole bool `json:"black_hole,omitempty"`
}

// String writes an MTU for people: "1500 bytes".
func (m MTU) String() string {
	if m.Bytes == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d bytes", m.Bytes)
}

// Capacity is the rate of the narrowest link, in IP bits per second, with its
// uncertainty.
type Capacity struct {
	Rate    unit.Rate `json:"bps"`
	Low     unit.Rate `json:"low_bps"`
	High    unit.Rate `json:"high_bps"` // 0: only a lower bound is known
	Assumed bool      `json:"assumed"`  // nothing was measured: AssumedRate
	Lost    float64   `json:"lost"`     // share (0..1) of the train packets that were lost: of bursts that left back to back
	Burst   unit.Size `json:"burst"`    // bytes of a train that came through where a tenth or more of it was lost, median: about what a queue or bucket holds; 0: trains came through whole
	Method  string    `json:"method"`   // "packet trains", "packet trains, sender-limited", "assumed"
	Note    string    `json:"note,omitempty"`
}

// String writes a capacity for people, with its uncertainty.
func (c Capacity) String() string {
	switch {
	case c.Assumed:
		return fmt.Sprintf("assumed %s (not measured)", c.Rate)
	case c.High == 0:
		return fmt.Sprintf("at least %s", c.Low)
	}
	return fmt.Sprintf("%s (%s to %s)", c.Rate, c.Low, c.High)
}

// Fastest is beyond any link: what claims more is no measurement.
const Fastest = 10_000 * unit.Gbps

// Plausible says whether the rates can be those of a link, whoever sent them.
func (c Capacity) Plausible() bool { return c.Rate > 0 && c.Rate < Fastest && c.High < Fastest }

// Measured says whether the capacity is known, with both bounds: it was neither
// assumed nor found to be only a lower bound.
func (c Capacity) Measured() bool { return c.Plausible() && !c.Assumed && c.High > 0 }

// Headers are those of IPv4 and TCP with timestamps, in bytes of each packet.
const Headers = 20 + 20 + 12

// PayloadShare is the part (0..1) of full packets of so many bytes that is left
// beside their headers: 1448/1500 at the usual MTU.
func PayloadShare(packet, headers float64) float64 { return max(0, 1-headers/packet) }

// AssumedRate is used where nothing better is known: a common default of tuning
// guides, low enough for no plan to waste much memory.
const AssumedRate = 100 * unit.Mbps

// BDP is the bandwidth-delay product of one direction, in bytes.
func (e *Estimate) BDP(d Direction) unit.Size { return d.Capacity.Rate.BytesIn(e.RTT.Min) }

// Way is one direction of the path, nil of a path that was not probed.
func (e *Estimate) Way(reverse bool) *Direction {
	switch {
	case e == nil:
		return nil
	case reverse:
		return &e.Reverse
	}
	return &e.Forward
}
