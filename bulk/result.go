package bulk

import (
	"math"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Result is one transfer as both ends recorded it.
type Result struct {
	Spec   Spec `json:"spec"`
	Client End  `json:"client"` // the end that dialled
	Server End  `json:"server"`
}

// End is what one end recorded of a transfer.
type End struct {
	Host     string           `json:"host"`               // host name
	Streams  []Stream         `json:"streams"`            // those this end sent or received on
	CPU      CPU              `json:"cpu"`                // over the measured time
	Counters map[string]int64 `json:"counters,omitempty"` // changes of kernel counters from beginning to end, by "Tcp.RetransSegs", "TcpExt.TCPTimeouts", ...
	Error    string           `json:"error,omitempty"`    // why it ended early; what was measured so far still stands
}

// Stream is one TCP connection as one end saw it.
type Stream struct {
	ID         int           `json:"id"`         // the same at both ends
	Sender     bool          `json:"sender"`     // this end sent
	Local      string        `json:"local"`      // address:port
	Remote     string        `json:"remote"`     // address:port
	Congestion string        `json:"congestion"` // as the kernel reports it
	MSS        int           `json:"mss"`        // bytes, TCP_MAXSEG of the connection
	SendBuf    int           `json:"send_buf"`   // bytes, SO_SNDBUF at the end
	RecvBuf    int           `json:"recv_buf"`   // bytes, SO_RCVBUF at the end
	Bytes      int64         `json:"bytes"`      // by the application, in the measured time
	Omitted    int64         `json:"omitted"`    // by the application, before it
	Began      time.Duration `json:"began_ns"`   // when the measured time began, since this end started the transfer
	Elapsed    time.Duration `json:"elapsed_ns"` // measured time: of a receiver from the first byte to the last, or to the end of Spec.Duration
	Samples    []Sample      `json:"samples"`    // from the first byte on, the omitted time included
}

// Sample is the state of one stream at one instant. The last one of a sender
// whose receiver is done, and only that, is of a connection that was reset
// (TCP.State is StateClosed): its totals stand, what was queued is lost.
type Sample struct {
	At      time.Duration `json:"at_ns"`             // since this end started the transfer
	Omitted bool          `json:"omitted,omitempty"` // within Spec.Omit
	Bytes   int64         `json:"bytes"`             // by the application so far, the omitted ones included
	Unread  int           `json:"unread"`            // bytes waiting for the application (SIOCINQ)
	Unsent  int           `json:"unsent"`            // bytes not yet acknowledged (SIOCOUTQ)
	TCP     TCPInfo       `json:"tcp"`
	Mem     SockMem       `json:"mem"`
}

// SockMem is the part of SO_MEMINFO that shows a full buffer, in bytes.
type SockMem struct {
	RecvAlloc  int `json:"recv_alloc"`  // memory held by received data
	RecvBuf    int `json:"recv_buf"`    // its present limit
	SendAlloc  int `json:"send_alloc"`  // memory held by packets on their way down to the NIC
	SendQueued int `json:"send_queued"` // memory held by data written and not yet acknowledged
	SendBuf    int `json:"send_buf"`    // its present limit
	Drops      int `json:"drops"`
}

// CPU is the processor time one end spent in the measured time.
type CPU struct {
	Elapsed   time.Duration `json:"elapsed_ns"`
	User      time.Duration `json:"user_ns"`                // this process
	System    time.Duration `json:"system_ns"`              // this process
	Cores     []Core        `json:"cores"`                  // every core of the host, all processes
	Quota     float64       `json:"quota_cpus,omitempty"`   // cgroup limit in CPUs, 0: none
	Throttled time.Duration `json:"throttled_ns,omitempty"` // time held back by that limit
}

// Core is how one core spent the measured time, as shares 0..1 (/proc/stat).
type Core struct {
	ID      int     `json:"id"`
	Busy    float64 `json:"busy"`    // everything but idle and iowait
	SoftIRQ float64 `json:"softirq"` // network receive work, mostly
	Steal   float64 `json:"steal"`   // taken by the hypervisor
}

// Goodput is what reached the receiving application in the given direction
// (Forward or Reverse), counted there, over its measured time.
func (r *Result) Goodput(d Direction) unit.Rate {
	receivers := r.Receivers(d)
	if r.Spec.Bytes > 0 {
		// Streams with a share of the bytes each may well run one after the
		// other: what counts is from the first byte of all to the last.
		return together(receivers)
	}
	// All streams are measured over the same time.
	var rate unit.Rate
	for _, s := range receivers {
		rate += unit.RateOf(s.Bytes, s.Elapsed)
	}
	return rate
}

// together is the rate of all streams from when the first began to when the
// last ended.
func together(streams []Stream) unit.Rate {
	var bytes int64
	began, ended := time.Duration(math.MaxInt64), time.Duration(0)
	for _, s := range streams {
		bytes += s.Bytes
		if s.Bytes > 0 {
			began, ended = min(began, s.Began), max(ended, s.Began+s.Elapsed)
		}
	}
	return unit.RateOf(bytes, ended-began)
}

// Received is the number of bytes that reached the receiving application, the
// omitted ones included.
func (r *Result) Received(d Direction) int64 {
	var n int64
	for _, s := range r.Receivers(d) {
		n += s.Bytes + s.Omitted
	}
	return n
}

// Senders are the streams of one direction as the sending end saw them.
func (r *Result) Senders(d Direction) []Stream { return pick(r.from(d).Streams, true) }

// Receivers are the streams of one direction as the receiving end saw them.
func (r *Result) Receivers(d Direction) []Stream { return pick(r.to(d).Streams, false) }

func (r *Result) from(d Direction) *End {
	if d == Reverse {
		return &r.Server
	}
	return &r.Client
}

func (r *Result) to(d Direction) *End {
	if d == Reverse {
		return &r.Client
	}
	return &r.Server
}

func pick(all []Stream, sender bool) []Stream {
	var out []Stream
	for _, s := range all {
		if s.Sender == sender {
			out = append(out, s)
		}
	}
	return out
}
