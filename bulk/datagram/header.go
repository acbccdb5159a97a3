package datagram

import (
	"encoding/binary"
	"time"
)

// A datagram begins with iperf3's header, in network byte order, and is filled
// up with bytes that mean nothing:
//
//	0  sec     4 bytes  when it was handed to the kernel, by the sender's clock
//	4  usec    4 bytes
//	8  number  4 bytes, or 8: from 1 up
const (
	headerSize   = 12
	headerSize64 = 16
)

// Sizes of a datagram's payload, as iperf3 has them.
const (
	MinLength     = headerSize64
	MaxLength     = 65535 - 20 - 8 // what an IPv4 packet holds
	DefaultLength = 1460           // where the path's MSS is not known
)

// header is the header of either width.
type header struct {
	wide bool // the number has 64 bits
}

func (h header) size() int {
	if h.wide {
		return headerSize64
	}
	return headerSize
}

// put writes the header at the start of b. A narrow number wraps.
func (h header) put(b []byte, number int64, sent time.Duration) {
	binary.BigEndian.PutUint32(b, uint32(sent/time.Second))
	binary.BigEndian.PutUint32(b[4:], uint32(sent%time.Second/time.Microsecond))
	if h.wide {
		binary.BigEndian.PutUint64(b[8:], uint64(number))
	} else {
		binary.BigEndian.PutUint32(b[8:], uint32(number))
	}
}

// parse reads the header of a datagram that follows others, of which highest is
// the highest number: a narrow number stands for the one nearest to it. What
// comes out is still a claim. It fails on a datagram that is too short.
func (h header) parse(b []byte, highest int64) (number int64, sent time.Duration, ok bool) {
	if len(b) < h.size() {
		return 0, 0, false
	}
	sent = time.Duration(binary.BigEndian.Uint32(b))*time.Second +
		time.Duration(binary.BigEndian.Uint32(b[4:]))*time.Microsecond
	if h.wide {
		return int64(binary.BigEndian.Uint64(b[8:])), sent, true
	}
	return highest + int64(int32(binary.BigEndian.Uint32(b[8:])-uint32(highest))), sent, true
}
