// Package bulk moves bytes between two memories at the kernel's limit, and
// records what the kernel knew while it did.
//
// One transfer has one or more streams (TCP connections). Every stream is
// driven by one OS thread with blocking system calls, as an ordinary bulk
// application would, and watched by a sampler that never touches the data.
// bulk only knows connected sockets: package peer brings both ends together.
package bulk

import (
	"fmt"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Direction says which way data flows, seen from the end that dials.
type Direction string

// The directions of a transfer.
const (
	Forward Direction = "forward" // dialling end sends
	Reverse Direction = "reverse" // dialling end receives
	Both    Direction = "both"    // both at once, on streams of their own
)

// Protocol is what carries a transfer.
type Protocol string

// The protocols. The empty string stands for TCP.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// SendPath is how a sender hands its bytes to the kernel.
type SendPath string

// The ways to send. The empty string stands for SendCopy: what applications do,
// and what every verdict rests on.
const (
	SendCopy     SendPath = "copy"     // write: the kernel copies every byte
	SendFile     SendPath = "sendfile" // sendfile from memory that looks like a file: pages go by reference
	SendZeroCopy SendPath = "zerocopy" // MSG_ZEROCOPY: the application's own pages go by reference, where the device allows it
)

// RecvPath is how a receiver takes its bytes from the kernel.
type RecvPath string

// The ways to receive. The empty string stands for RecvCopy.
const (
	RecvCopy     RecvPath = "copy"     // read: the kernel copies every byte
	RecvTruncate RecvPath = "truncate" // MSG_TRUNC: the kernel drops the bytes (a sink; no application works so)
	RecvSplice   RecvPath = "splice"   // splice to a pipe and on to /dev/null: pages go by reference
)

// Spec describes one transfer. Its zero values mean the system's default.
type Spec struct {
	Protocol  Protocol      `json:"protocol,omitempty"`
	Direction Direction     `json:"direction"`
	Streams   int           `json:"streams"`               // TCP connections or UDP flows in each direction, 1..MaxStreams
	Duration  time.Duration `json:"duration_ns,omitempty"` // measured time, after Omit; or, if 0,
	Bytes     int64         `json:"bytes,omitempty"`       // bytes to send in each direction, over all its streams, 0 and up; if not 0, they end the transfer, not Duration
	Omit      time.Duration `json:"omit_ns,omitempty"`     // not measured at the start (slow start)
	Interval  time.Duration `json:"interval_ns,omitempty"` // between samples; 0: DefaultInterval
	Length    int           `json:"length,omitempty"`      // bytes a write or read, 0: DefaultLength
	SendBuf   int           `json:"send_buf,omitempty"`    // SO_SNDBUF in bytes, 0: autotuned
	RecvBuf   int           `json:"recv_buf,omitempty"`    // SO_RCVBUF in bytes, 0: autotuned
	MSS       int           `json:"mss,omitempty"`         // TCP_MAXSEG in bytes, 0: the path's
	Congest   string        `json:"congestion,omitempty"`  // TCP_CONGESTION, "": the host's or route's default
	Pace      unit.Rate     `json:"pace_bps,omitempty"`    // SO_MAX_PACING_RATE for each stream, bit/s, 0: unpaced
	NoDelay   bool          `json:"no_delay,omitempty"`    // TCP_NODELAY

	Rate         unit.Rate `json:"rate_bps,omitempty"`           // each sending application writes no faster in the mean since its start, bit/s, 0: as fast as it can
	Burst        int       `json:"burst,omitempty"`              // with Rate: blocks of Length that go back to back, 0: one
	TOS          int       `json:"tos,omitempty"`                // IP type of service or traffic class of what is sent, 0..255
	NotSentLowat int       `json:"notsent_lowat,omitempty"`      // TCP_NOTSENT_LOWAT in bytes, 0: the system's
	SendPath     SendPath  `json:"send_path,omitempty"`          // as asked; Stream tells what it came to
	RecvPath     RecvPath  `json:"recv_path,omitempty"`          // as asked; Stream tells what it came to
	ClientCPUs   string    `json:"client_cpus,omitempty"`        // CPUs the dialling end's streams are pinned to, one each in turn: "0,2-5", "nic": those of the NIC's NUMA node, "": unpinned
	ServerCPUs   string    `json:"server_cpus,omitempty"`        // the same for the far end
	DontFragment bool      `json:"dont_fragment,omitempty"`      // UDP over IPv4 with DF set
	Counters64   bool      `json:"udp_counters_64bit,omitempty"` // UDP: 64-bit sequence numbers in iperf3's header
}

// Timed says that time and not a number of bytes ends the transfer.
func (s Spec) Timed() bool { return s.Bytes == 0 && s.Duration > 0 }

// Defaults and limits of a transfer.
const (
	DefaultLength   = 128 << 10              // what iperf3 writes at once
	DefaultInterval = 100 * time.Millisecond // ten looks a second cost nothing and show every phase
	MaxLength       = 1 << 20                // iperf3's MAX_BLOCKSIZE; bounds the memory of many receivers
	MaxStreams      = 256
	MaxDuration     = 24 * time.Hour // iperf3's MAX_TIME
)

// Check says what is wrong with a spec, or nil. It is called on both ends: what
// came over the network is not trusted.
func (s Spec) Check() error {
	switch {
	case s.Direction != Forward && s.Direction != Reverse && s.Direction != Both:
		return fmt.Errorf("direction %q: use forward, reverse or both", s.Direction)
	case s.Streams < 1 || s.Streams > MaxStreams:
		return fmt.Errorf("%d streams: use 1 to %d", s.Streams, MaxStreams)
	case s.Duration < 0 || s.Omit < 0 || s.Duration > MaxDuration || s.Omit > MaxDuration:
		return fmt.Errorf("duration %v with %v omitted: use up to %v", s.Duration, s.Omit, MaxDuration)
	case s.Bytes < 0:
		return fmt.Errorf("%d bytes: must not be negative", s.Bytes)
	case s.Interval != 0 && (s.Interval < time.Millisecond || s.Interval > time.Minute):
		return fmt.Errorf("sampling interval %v: use 1ms to 1m", s.Interval)
	case s.Length < 0 || s.Length > MaxLength:
		return fmt.Errorf("length %d: use 1 byte to 1 MiB", s.Length)
	case s.SendBuf < 0 || s.RecvBuf < 0 || s.SendBuf > 1<<30 || s.RecvBuf > 1<<30:
		return fmt.Errorf("socket buffers %d and %d: use up to 1 GiB", s.SendBuf, s.RecvBuf)
	case s.MSS != 0 && (s.MSS < 88 || s.MSS > 32767):
		return fmt.Errorf("MSS %d: use 88 to 32767", s.MSS) // TCP_MIN_MSS and MAX_TCP_WINDOW of the Linux kernel
	case !CongestionName(s.Congest):
		return fmt.Errorf("congestion control %.40q: use up to %d letters, digits, - and _", s.Congest, maxCongestionName)
	case s.Pace < 0 || s.Rate < 0:
		return fmt.Errorf("pacing rate %v, rate %v: must not be negative", s.Pace, s.Rate)
	case s.Protocol != "" && s.Protocol != TCP && s.Protocol != UDP:
		return fmt.Errorf("protocol %q: use tcp or udp", s.Protocol)
	case s.Burst < 0 || s.Burst > 1000:
		return fmt.Errorf("burst %d: use up to 1000", s.Burst) // iperf3's MAX_BURST
	case s.TOS < 0 || s.TOS > 255:
		return fmt.Errorf("type of service %d: use 0 to 255", s.TOS)
	case s.NotSentLowat < 0 || s.NotSentLowat > 1<<30:
		return fmt.Errorf("TCP_NOTSENT_LOWAT %d: use up to 1 GiB", s.NotSentLowat)
	case s.SendPath != "" && s.SendPath != SendCopy && s.SendPath != SendFile && s.SendPath != SendZeroCopy:
		return fmt.Errorf("send path %q: use copy, sendfile or zerocopy", s.SendPath)
	case s.RecvPath != "" && s.RecvPath != RecvCopy && s.RecvPath != RecvTruncate && s.RecvPath != RecvSplice:
		return fmt.Errorf("receive path %q: use copy, truncate or splice", s.RecvPath)
	}
	for _, cpus := range []string{s.ClientCPUs, s.ServerCPUs} {
		if err := checkCPUs(cpus); err != nil {
			return err
		}
	}
	return nil
}

// maxCongestionName is Linux's TCP_CA_NAME_MAX without the NUL, in bytes.
const maxCongestionName = 15

// CongestionName reports whether a name can be that of a congestion control. The
// kernel looks for a module by it.
func CongestionName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(name) <= maxCongestionName
}
