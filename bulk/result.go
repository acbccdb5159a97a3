package bulk

import (
	"time"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// Result is one transfer as both ends recorded it.
type Result struct {
	Spec      Spec      `json:"spec"`
	Client    End       `json:"client"` // the end that dialled
	Server    End       `json:"server"`
	SmallFlow []Latency `json:"small_flow,omitempty"` // what a small flow beside the transfer went through, as the dialling end saw it
}

// Latency is one round trip of a small flow: a TCP handshake.
type Latency struct {
	At  time.Duration `json:"at_ns"`            // since the dialling end started the transfer
	RTT time.Duration `json:"rtt_ns,omitempty"` // 0: no answer in time
}

// End is what one end recorded of a transfer.
type End struct {
	Host     string           `json:"host"`                        // host name
	Software string           `json:"software,omitempty"`          // if not fullbore: "iperf3", "ndt7"; then little more than the bytes of each stream is known
	Streams  []Stream         `json:"streams"`                     // those this end sent or received on
	CPU      CPU              `json:"cpu"`                         // over the measured time
	Counters map[string]int64 `json:"counters,omitempty"`          // changes of kernel counters from beginning to end, by "Tcp.RetransSegs", "TcpExt.TCPTimeouts", ...
	Measured map[string]int64 `json:"measured_counters,omitempty"` // the same from the beginning of the measured time on; nil: not known
	Links    []host.LinkDelta `json:"links,omitempty"`             // what each interface carried and lost from beginning to end; nil: the system does not tell
	Memory   *host.TCPMemory  `json:"memory,omitempty"`            // with the most that was in use from beginning to end; nil: the system does not tell
	Error    string           `json:"error,omitempty"`             // why it ended early; what was measured so far still stands
	First    time.Time        `json:"-"`                           // when this end began to send, or had the first byte, by its own clock; zero: not known here
}

// Stream is one TCP connection as one end saw it.
type Stream struct {
	ID         int           `json:"id"`              // the same at both ends
	Sender     bool          `json:"sender"`          // this end sent
	Local      string        `json:"local"`           // address:port
	Remote     string        `json:"remote"`          // address:port
	Congestion string        `json:"congestion"`      // as the kernel reports it
	MSS        int           `json:"mss"`             // bytes, TCP_MAXSEG of the connection
	SendBuf    int           `json:"send_buf"`        // bytes, SO_SNDBUF at the end
	RecvBuf    int           `json:"recv_buf"`        // bytes, SO_RCVBUF at the end
	Bytes      int64         `json:"bytes"`           // by the application, in the measured time
	Omitted    int64         `json:"omitted"`         // by the application, before it
	Early      *int64        `json:"early,omitempty"` // of a receiver: bytes read in the measured time that had arrived before it, counted in Omitted, but without Spec.Omit or Spec.Duration in Bytes; nil: not known
	Began      time.Duration `json:"began_ns"`        // when the measured time began, since this end started the transfer
	Elapsed    time.Duration `json:"elapsed_ns"`      // measured time: of a receiver from the first byte to the last, or to the end of Spec.Duration; to Stop if the caller ends it
	Samples    []Sample      `json:"samples"`         // from the first byte on, the omitted time included

	Retransmits int64      `json:"retransmits"`           // segments sent again in the measured time; -1: not known, or a receiver
	SendPath    SendPath   `json:"send_path,omitempty"`   // what was really used, of a sender
	RecvPath    RecvPath   `json:"recv_path,omitempty"`   // what was really used, of a receiver
	PathNote    string     `json:"path_note,omitempty"`   // why that is not what was asked for
	ZeroCopied  int64      `json:"zero_copied,omitempty"` // MSG_ZEROCOPY: sends that went by reference
	Copied      int64      `json:"copied,omitempty"`      // MSG_ZEROCOPY: sends the kernel copied all the same
	CPUs        []int      `json:"cpus,omitempty"`        // that its thread was pinned to; none: it ran where the system put it
	CPUNote     string     `json:"cpu_note,omitempty"`    // why it was not pinned though that was asked for
	Peaks       Peaks      `json:"peaks,omitzero"`        // of a sender
	Datagrams   *Datagrams `json:"datagrams,omitempty"`   // UDP only
}

// Datagrams are a UDP flow's results in the measured time.
type Datagrams struct {
	Packets    int64   `json:"packets"`             // sent, or as the receiver counts: the highest number seen
	Lost       int64   `json:"lost"`                // of a receiver
	OutOfOrder int64   `json:"out_of_order"`        // of a receiver
	Jitter     float64 `json:"jitter_s"`            // of a receiver, seconds, as RFC 1889 smooths it
	Malformed  int64   `json:"malformed,omitempty"` // of a receiver, in all: not counted, being too short or with a number that cannot be
	Omitted    Counts  `json:"omitted"`             // before the measured time
}

// Counts are the packets of a UDP flow in a stretch of time.
type Counts struct {
	Packets    int64 `json:"packets"`
	Lost       int64 `json:"lost"`
	OutOfOrder int64 `json:"out_of_order"`
}

// Sample is the state of one stream at one instant. The last one of a sender
// whose receiver is done, and only that, is of a connection that was reset
// (TCP.State is StateClosed): its totals stand, what was queued is lost.
//
// A long transfer keeps every second sample, then every fourth, and so on. What
// a 32-bit counter of TCP reached is the sum of its differences from sample to
// sample: see [Grown].
type Sample struct {
	At      time.Duration `json:"at_ns"`             // since this end started the transfer
	Omitted bool          `json:"omitted,omitempty"` // within Spec.Omit
	Bytes   int64         `json:"bytes"`             // by the application so far, the omitted ones included
	Unread  int           `json:"unread"`            // bytes waiting for the application (SIOCINQ; of UDP, the memory that they take)
	Unsent  int           `json:"unsent"`            // bytes not yet acknowledged (SIOCOUTQ)
	TCP     TCPInfo       `json:"tcp"`
	Mem     SockMem       `json:"mem"`
	UDP     *Datagrams    `json:"udp,omitempty"` // so far, the omitted time included in Omitted only
}

// Peaks are the extremes of a sender's connection in the measured time, from a
// look every Spec.Interval: also from those that no longer are among the
// samples of a long transfer. All are 0 where the system reports nothing.
type Peaks struct {
	MaxSndCwnd int64 `json:"max_snd_cwnd"` // bytes
	MaxSndWnd  int64 `json:"max_snd_wnd"`  // bytes, the window that the receiver advertised
	MinRTT     int64 `json:"min_rtt_us"`   // these three are of the kernel's smoothed RTT, as in iperf3
	MaxRTT     int64 `json:"max_rtt_us"`
	MeanRTT    int64 `json:"mean_rtt_us"`
}

// SockMem is the part of SO_MEMINFO that shows a full buffer, in bytes.
type SockMem struct {
	RecvAlloc  int `json:"recv_alloc"`  // memory held by received data
	RecvBuf    int `json:"recv_buf"`    // its present limit
	SendAlloc  int `json:"send_alloc"`  // memory held by packets on their way down to the NIC
	SendQueued int `json:"send_queued"` // memory held by data written and not yet acknowledged
	SendBuf    int `json:"send_buf"`    // its present limit
	Backlog    int `json:"backlog"`     // memory held by packets that came while the application held the socket
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
// (Forward or Reverse), counted there, over its measured time. What had arrived
// before that time is left out where the receiver can distinguish it ([Stream.Early]),
// so it is not above what the path carries unless [Figures.MayBeHigh] says so.
func (r *Result) Goodput(d Direction) unit.Rate {
	receivers := r.Receivers(d)
	if !r.Spec.Timed() {
		// Streams with a share of the bytes each may well run one after the
		// other: what counts is from the first byte of all to the last.
		began, ended := extent(receivers)
		var bytes int64
		for _, s := range receivers {
			bytes += r.timely(&s)
		}
		return unit.RateOf(bytes, ended-began)
	}
	// All streams are measured over the same time.
	var rate unit.Rate
	for _, s := range receivers {
		rate += unit.RateOf(r.timely(&s), s.Elapsed)
	}
	return rate
}

// timely are the bytes that arrived in a receiver's measured time. A sender with a rate of its own writes a block and
// pauses: its first block is as much a part of that rate as any.
func (r *Result) timely(s *Stream) int64 {
	if s.Early == nil || r.Spec.OmitsEarly() || r.Spec.Rate > 0 || r.seenLate(s) {
		return s.Bytes
	}
	return max(0, s.Bytes-max(0, *s.Early))
}

// extent is when the measured time of the first stream began, and when that of
// the last one ended.
func extent(streams []Stream) (began, ended time.Duration) {
	for _, s := range streams {
		if s.Elapsed <= 0 {
			continue
		}
		if ended == 0 || s.Began < began {
			began = s.Began
		}
		ended = max(ended, s.Began+s.Elapsed)
	}
	return began, ended
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
