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

// Spec describes one transfer. Its zero values mean the system's default.
type Spec struct {
	Direction Direction     `json:"direction"`
	Streams   int           `json:"streams"`               // TCP connections in each direction, 1..128
	Duration  time.Duration `json:"duration_ns,omitempty"` // measured time, after Omit; or
	Bytes     int64         `json:"bytes,omitempty"`       // bytes to send in each direction, over all its streams; if not 0, they end the transfer, not Duration
	Omit      time.Duration `json:"omit_ns,omitempty"`     // not measured at the start (slow start); a little longer while a lost packet is being repeated
	Interval  time.Duration `json:"interval_ns,omitempty"` // between samples; 0: DefaultInterval
	Length    int           `json:"length,omitempty"`      // bytes a write or read, 0: DefaultLength
	SendBuf   int           `json:"send_buf,omitempty"`    // SO_SNDBUF in bytes, 0: autotuned
	RecvBuf   int           `json:"recv_buf,omitempty"`    // SO_RCVBUF in bytes, 0: autotuned
	MSS       int           `json:"mss,omitempty"`         // TCP_MAXSEG in bytes, 0: the path's
	Congest   string        `json:"congestion,omitempty"`  // TCP_CONGESTION, "": the host's or route's default
	Pace      unit.Rate     `json:"pace_bps,omitempty"`    // SO_MAX_PACING_RATE for each stream, bit/s, 0: unpaced
	NoDelay   bool          `json:"no_delay,omitempty"`    // TCP_NODELAY
}

// Defaults and limits of a transfer.
const (
	DefaultLength   = 128 << 10              // what iperf3 writes at once
	DefaultInterval = 100 * time.Millisecond // ten looks a second cost nothing and show every phase
	MaxLength       = 1 << 20                // iperf3's MAX_BLOCKSIZE; bounds the memory of many receivers
	MaxStreams      = 128
	MaxDuration     = time.Hour
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
	case s.Duration == 0 && s.Bytes == 0:
		return fmt.Errorf("neither a duration nor a number of bytes was given")
	case s.Interval != 0 && (s.Interval < time.Millisecond || s.Interval > time.Minute):
		return fmt.Errorf("sampling interval %v: use 1ms to 1m", s.Interval)
	case s.Length < 0 || s.Length > MaxLength:
		return fmt.Errorf("length %d: use 1 byte to 1 MiB", s.Length)
	case s.SendBuf < 0 || s.RecvBuf < 0 || s.SendBuf > 1<<30 || s.RecvBuf > 1<<30:
		return fmt.Errorf("socket buffers %d and %d: use up to 1 GiB", s.SendBuf, s.RecvBuf)
	case s.MSS != 0 && (s.MSS < 88 || s.MSS > 32767):
		return fmt.Errorf("MSS %d: use 88 to 32767", s.MSS) // TCP_MIN_MSS and MAX_TCP_WINDOW of the Linux kernel
	case len(s.Congest) > 15:
		return fmt.Errorf("congestion control %q: the name is too long", s.Congest) // TCP_CA_NAME_MAX
	case s.Pace < 0:
		return fmt.Errorf("pacing rate %v: must not be negative", s.Pace)
	}
	return nil
}
