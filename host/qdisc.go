package host

import "github.com/fullbore/fullbore/unit"

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
