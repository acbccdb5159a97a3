package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Tunables that diagnosis reads, by their names in the catalogue.
const (
	rmem     = "net.ipv4.tcp_rmem"
	wmem     = "net.ipv4.tcp_wmem"
	moderate = "net.ipv4.tcp_moderate_rcvbuf"
	scaling  = "net.ipv4.tcp_window_scaling"
)

// full is the share of its maximum at which a buffer or window counts as used
// up: maxima are rounded to packets, and autotuning stops just below.
const full = 0.9

// bufferMax is what bounds a socket buffer.
type bufferMax struct {
	bytes  unit.Size // 0: the host does not report it
	name   string
	why    string // completes "because ..."
	action string
}

// receiveMax is what bounds the receiver's buffer.
func (v *view) receiveMax() bufferMax {
	maximum := tunable(v.ReceiverHost, rmem, 2)
	switch {
	case v.Transfer.Spec.RecvBuf > 0:
		fixed := v.buffer(v.receivers, receiveBuffer)
		return bufferMax{fixed, "SO_RCVBUF",
			fmt.Sprintf("the application fixed its receive buffer at %v, which turns autotuning off", fixed),
			"let the application leave SO_RCVBUF alone, or ask for more and raise net.core.rmem_max on the receiver"}
	case v.ReceiverHost != nil && v.ReceiverHost.Tunables[moderate] == "0":
		fixed := tunable(v.ReceiverHost, rmem, 1)
		return bufferMax{fixed, moderate + "=0",
			fmt.Sprintf("autotuning is off on the receiver, so its buffer stays at %v", fixed),
			"set " + moderate + " to 1 on the receiver"}
	case maximum > 0:
		return bufferMax{maximum, "the third value of " + rmem,
			fmt.Sprintf("the receiver's buffer may not grow beyond %v, the third value of %s", maximum, rmem),
			"raise the third value of " + rmem + " on the receiver"}
	}
	return bufferMax{why: "the receiver's buffer has stopped growing; its limits are not known here",
		action: "raise the maximum of the receive buffer on the receiver (on Linux the third value of " + rmem + ")"}
}

// sendMax is what bounds the sender's.
func (v *view) sendMax() bufferMax {
	maximum := tunable(v.SenderHost, wmem, 2)
	switch {
	case v.Transfer.Spec.SendBuf > 0:
		fixed := v.buffer(v.senders, sendBuffer)
		return bufferMax{fixed, "SO_SNDBUF",
			fmt.Sprintf("the application fixed its send buffer at %v, which turns autotuning off", fixed),
			"let the application leave SO_SNDBUF alone, or ask for more and raise net.core.wmem_max on the sender"}
	case v.fixedSendBuffer(maximum):
		fixed := v.buffer(v.senders, sendBuffer)
		return bufferMax{fixed, "SO_SNDBUF",
			fmt.Sprintf("it is below the maximum of %v, yet does not grow: the program has fixed it (SO_SNDBUF)", maximum),
			"let the program leave SO_SNDBUF alone"}
	case maximum > 0:
		return bufferMax{maximum, "the third value of " + wmem,
			fmt.Sprintf("the sender's buffer may not grow beyond %v, the third value of %s", maximum, wmem),
			"raise the third value of " + wmem + " on the sender"}
	}
	return bufferMax{why: "the sender's buffer is full; its limits are not known here",
		action: "raise the maximum of the send buffer on the sender (on Linux the third value of " + wmem + ")"}
}

// fixedSendBuffer says whether another program must have fixed its send buffer: it
// was full at times, is below what the kernel would let it have, and yet does not
// grow.
func (v *view) fixedSendBuffer(maximum unit.Size) bool {
	return v.Passing != nil && v.sndbuf >= clockRan && float64(v.buffer(v.senders, sendBuffer)) < full*float64(maximum) &&
		!v.growing(func(s *bulk.Sample) float64 { return float64(s.Mem.SendBuf) })
}

// enough completes an action with the buffer that fills the path, each byte of
// window taking so many of buffer; nothing where the capacity is not known.
func (v *view) enough(perByte float64) string {
	limit, known := v.pathLimit()
	if !known || len(v.senders) == 0 {
		return ""
	}
	window := float64(limit.BytesIn(v.rtt)) / float64(len(v.senders))
	return fmt.Sprintf(": %v a connection fills this path", unit.Size(perByte*window))
}

// buffer is the mean over the streams of the size of a socket buffer.
func (v *view) buffer(flows []flow, which func(flow) float64) unit.Size {
	if len(flows) == 0 {
		return 0
	}
	return unit.Size(sum(flows, which) / float64(len(flows)))
}

func receiveBuffer(f flow) float64 {
	return max(f.median(func(s *bulk.Sample) float64 { return float64(s.Mem.RecvBuf) }), float64(f.RecvBuf))
}

func sendBuffer(f flow) float64 {
	return max(f.median(func(s *bulk.Sample) float64 { return float64(s.Mem.SendBuf) }), float64(f.SendBuf))
}
