package path

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
)

// A probe packet is a UDP datagram that starts with this header, in network
// byte order, and is padded with zeros to the size that is being tried:
//
//	0  magic   4 bytes  "fbp1"
//	4  kind    1 byte, then 3 bytes of zero
//	8  cookie 16 bytes
//	24 id      4 bytes  number of the probe or train
//	28 seq     4 bytes  number of the packet within its train
//	32 count   4 bytes  packets in the train
//	36 size    4 bytes  IP bytes of the packet that is meant
type packet struct {
	kind   kind
	cookie cookie
	id     uint32
	seq    uint32
	count  uint32
	size   uint32
}

type cookie [16]byte

type kind byte

// Packets go both ways between the prober and the far end's Responder.
const (
	kindProbe  kind = iota + 1 // prober: padded; did this size get through?
	kindGot                    // responder: a probe of this size did
	kindWant                   // prober: send me one packet of this size
	kindPadded                 // responder: here it is
	kindSend                   // prober: send me a train of count packets of this size
	kindData                   // either: one packet of a train
)

const (
	magic      = "fbp1"
	headerSize = 40

	overhead4 = 20 + 8 // IPv4 (without options) and UDP headers
	overhead6 = 40 + 8 // IPv6 and UDP headers

	maxPacket = 65535 // of an IPv4 packet; IPv6 jumbograms are left alone
)

// Limits of a train: what a responder sends or records at most.
const (
	maxTrainPackets = 4096
	maxTrainBytes   = 2 << 20
)

var errNotProbe = errors.New("not a probe packet")

// parse reads the header of a datagram. Everything in it is still a claim.
func parse(b []byte) (packet, error) {
	if len(b) < headerSize || string(b[:4]) != magic {
		return packet{}, errNotProbe
	}
	p := packet{
		kind:   kind(b[4]),
		cookie: cookie(b[8:24]),
		id:     binary.BigEndian.Uint32(b[24:]),
		seq:    binary.BigEndian.Uint32(b[28:]),
		count:  binary.BigEndian.Uint32(b[32:]),
		size:   binary.BigEndian.Uint32(b[36:]),
	}
	switch {
	case p.kind < kindProbe || p.kind > kindData || b[5]|b[6]|b[7] != 0:
		return packet{}, fmt.Errorf("%w: kind %d", errNotProbe, p.kind)
	case p.size > maxPacket:
		return packet{}, fmt.Errorf("%w: size %d", errNotProbe, p.size)
	case p.kind == kindSend || p.kind == kindData:
		if p.count < 2 || p.count > maxTrainPackets || p.seq >= p.count || p.count*p.size > maxTrainBytes {
			return packet{}, fmt.Errorf("%w: packet %d of %d, %d bytes each", errNotProbe, p.seq, p.count, p.size)
		}
	}
	return p, nil
}

// put writes the header at the start of b.
func (p packet) put(b []byte) {
	copy(b, magic)
	b[4], b[5], b[6], b[7] = byte(p.kind), 0, 0, 0
	copy(b[8:], p.cookie[:])
	binary.BigEndian.PutUint32(b[24:], p.id)
	binary.BigEndian.PutUint32(b[28:], p.seq)
	binary.BigEndian.PutUint32(b[32:], p.count)
	binary.BigEndian.PutUint32(b[36:], p.size)
}

// padded is the datagram that makes an IP packet of p.size bytes.
func (p packet) padded(overhead int) []byte {
	b := make([]byte, max(headerSize, int(p.size)-overhead))
	p.put(b)
	return b
}

// small is the datagram without padding: never larger than what it answers.
func (p packet) small() []byte {
	b := make([]byte, headerSize)
	p.put(b)
	return b
}

// train is all datagrams of a train, one after the other, and the size of each.
func (p packet) train(overhead int) (datagrams []byte, size int) {
	size = max(headerSize, int(p.size)-overhead)
	datagrams = make([]byte, size*int(p.count))
	for p.seq = 0; p.seq < p.count; p.seq++ {
		p.put(datagrams[size*int(p.seq):])
	}
	return datagrams, size
}

// overhead is the size of the IP and UDP headers of packets to an address.
func overhead(a netip.Addr) int {
	if a.Unmap().Is4() {
		return overhead4
	}
	return overhead6
}

func (c cookie) String() string { return hex.EncodeToString(c[:]) }

func parseCookie(s string) (c cookie, err error) {
	if len(s) != hex.EncodedLen(len(c)) {
		return c, fmt.Errorf("cookie of %d characters: must be %d hexadecimal digits", len(s), hex.EncodedLen(len(c)))
	}
	if _, err := hex.Decode(c[:], []byte(s)); err != nil {
		return c, fmt.Errorf("parse cookie: %w", err)
	}
	return c, nil
}
