package plan

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// Input is what a plan is made from. Whatever is missing makes the plan smaller
// and is said in its notes.
type Input struct {
	Path      *path.Estimate
	Direction bulk.Direction      // Forward or Reverse: from the sender to the receiver
	Sender    *host.Facts         // nil: not known; a far end reports them only to those who have its token
	Receiver  *host.Facts         // likewise
	Diagnosis *diagnose.Diagnosis // nil: not diagnosed
	Baseline  *bulk.Result        // the transfer that was diagnosed; nil: none
	Streams   int                 // TCP connections side by side; 0 means 1

	OneEnd bool // one host is planned for by itself: that nothing is known of the other is no news

	Tried []Step // that did not help: none of them is planned again, and no other step counts on what they change

	Connections int      // that each host serves at once, for what their buffers take of its memory; 0: Streams
	Workload    Workload // what the connections carry; "": bulk data of any program
}

// HostOf gives the facts of the host that a change is for, nil if it is neither
// end's.
func (in *Input) HostOf(c Change) *host.Facts {
	ends := map[Role]*host.Facts{Sender: in.Sender, Receiver: in.Receiver}
	if c.Role != "" {
		return ends[c.Role]
	}
	for _, role := range []Role{Sender, Receiver} {
		if h := ends[role]; h != nil && h.Name == c.Host {
			return h
		}
	}
	return nil
}

// roleOf is the part of one of the input's hosts. One that is both ends is the
// sender.
func (in *Input) roleOf(h *host.Facts) Role {
	if h == in.Receiver && h != in.Sender {
		return Receiver
	}
	return Sender
}

// Workload is a kind of traffic that has tunables of its own.
type Workload string

// NFS is the network file system: the sender serves, the receiver mounts, or the
// other way round.
const NFS Workload = "nfs"

// Given is a path that somebody describes instead of measuring it: its rate, its
// round trip, and the largest packet that passes (0: not known), both ways alike.
func Given(rate unit.Rate, rtt time.Duration, mtu int) *path.Estimate {
	const how = "given"
	way := path.Direction{
		MTU:      path.MTU{Bytes: mtu, Link: mtu, Method: how},
		Capacity: path.Capacity{Rate: rate, Low: rate, High: rate, Method: how},
	}
	return &path.Estimate{
		RTT:     path.RTT{Min: rtt, Median: rtt, Max: rtt, Method: how},
		Forward: way, Reverse: way,
	}
}

// Assumed is a diagnosis that somebody states instead of measuring it: one cause
// (see diagnose.Causes), taken for sure.
func Assumed(cause string) *diagnose.Diagnosis {
	f := diagnose.Finding{Cause: cause, Confidence: 1, Evidence: []diagnose.Fact{}, Gain: 1}
	return &diagnose.Diagnosis{Verdict: f, Findings: []diagnose.Finding{f}}
}
