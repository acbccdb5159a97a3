package sweep

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Kernels says of both ends how they count socket buffers.
type Kernels struct {
	NearDoubles, FarDoubles bool // what is set with setsockopt, as Linux does (sock_setsockopt in net/core/sock.c)
}

// taken is what was really in effect of the factors that are a socket's or the
// engine's, as the ends report after a transfer, and what is to be said where that is
// not what was asked for. A buffer that the kernel doubles for its own bookkeeping is
// given as it is set.
func taken(p Point, r *bulk.Result, kernels Kernels) (values map[string]Value, notes []string) {
	values = map[string]Value{}
	d := r.Spec.Directions()[0]
	senders, receivers := r.Senders(d), r.Receivers(d)
	sendDoubles, recvDoubles := kernels.NearDoubles, kernels.FarDoubles
	if d == bulk.Reverse {
		sendDoubles, recvDoubles = recvDoubles, sendDoubles
	}
	f := r.Figures(d)
	send := buffer(senders, sendDoubles, func(s *bulk.Stream) int { return s.SendBuf })
	recv := buffer(receivers, recvDoubles, func(s *bulk.Stream) int { return s.RecvBuf })
	for i, asked := range p.values {
		name := p.factors[i].name
		var v Value
		switch name {
		case "send_buffer":
			v = number(send)
		case "receive_buffer":
			v = number(recv)
		case "buffers":
			v = number(least(send, recv))
		case "connections":
			v = number(float64(f.Streams))
		case "write_size":
			v = number(float64(r.Spec.Length))
		case "mss":
			v = number(float64(f.Connection.MSS))
		case "congestion":
			v = word(f.Connection.Congestion)
		case "direction":
			v = word(string(r.Spec.Direction))
		case "cpus":
			v = number(float64(max(len(f.Connection.SenderCPUs), len(f.Connection.ReceiverCPUs))))
			if v.Number == 0 || asked.Present() {
				v = present
			}
		case "path.rtt":
			v = number(f.LeastRTT.Seconds())
		default:
			continue
		}
		if v.IsNumber() && v.Number == 0 || !v.IsNumber() && v.Word == "" {
			continue // that end does not report it
		}
		values[name] = v
		if note := differs(p.factors[i].setting, asked, v, p); note != "" {
			notes = append(notes, note)
		}
	}
	for _, s := range append(senders, receivers...) {
		if s.CPUNote != "" {
			notes = append(notes, s.CPUNote)
			break
		}
	}
	return values, notes
}

// buffer is the smallest of the streams' socket buffers as it is set, 0 if none is
// known.
func buffer(streams []bulk.Stream, doubles bool, of func(*bulk.Stream) int) float64 {
	smallest := 0.0
	for i := range streams {
		smallest = least(smallest, float64(of(&streams[i])))
	}
	if doubles {
		smallest /= 2
	}
	return smallest
}

// least is the smaller of two numbers of which 0 says nothing.
func least(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// optionBytes is the most that TCP's options take of the segment size that TCP_MAXSEG
// sets (RFC 9293, 3.1: a header has up to 60 bytes, 20 without options).
const optionBytes = 40

// differs says that a setting did not take effect; "" if it did.
func differs(s setting, asked, got Value, p Point) string {
	if asked.Present() {
		return ""
	}
	says := fmt.Sprintf("%s: %s was asked for, and %s was in effect", s.name, asked.Text(s.kind), got.Text(s.kind))
	switch s.name {
	case "buffers", "send_buffer", "receive_buffer":
		switch {
		case got.Number < asked.Number*0.99:
			return says + ": the system's maximum is less (on Linux net.core.rmem_max and wmem_max)"
		case got.Number > asked.Number*1.01 && got.Number > float64(4*unit.KiB): // a kernel has a least of its own
			return says
		}
		return ""
	case "mss":
		if got.Number > asked.Number || got.Number < asked.Number-optionBytes {
			return says
		}
		return ""
	case "cpus":
		connections := 1.0
		if v, ok := p.Of("connections"); ok && v.IsNumber() {
			connections = v.Number
		}
		if got.Number != min(asked.Number, connections) { // one thread a connection, on one CPU
			return says
		}
		return ""
	case "path.rtt":
		if d := got.Number - asked.Number; math.Abs(d) > 0.1*asked.Number+(500*time.Microsecond).Seconds() {
			return says
		}
		return ""
	}
	if !asked.Equal(got) {
		return says
	}
	return ""
}

// join adds what a world read back to what the transfer shows.
func join(values map[string]Value, notes []string, more map[string]Value) (map[string]Value, []string) {
	for name, v := range more {
		if _, known := values[name]; !known {
			values[name] = v
		}
	}
	return values, notes
}

// oneLine is an error as a table or a sentence can have it.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
