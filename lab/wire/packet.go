package wire

import (
	"encoding/binary"
	"errors"
)

// The header in front of each packet of a TUN device with IFF_VNET_HDR: struct
// virtio_net_hdr (include/uapi/linux/virtio_net.h), in the host's byte order.
const (
	vnetLen         = 10
	vnetFlags       = 0
	vnetGSOType     = 1
	vnetHdrLen      = 2
	vnetGSOSize     = 4
	vnetCsumStart   = 6
	vnetCsumOffset  = 8
	flagNeedsCsum   = 1
	gsoNone         = 0
	gsoTCPv4        = 1
	gsoTCPv6        = 4
	gsoECN          = 0x80
	protoTCP        = 6
	tcpCsumOffset   = 16
	flagFIN         = 1
	flagSYN         = 2
	flagPSH         = 8
	flagCWR         = 0x80
	maxPacket       = 1<<16 - 1 + 40 // the longest IPv6 packet without the jumbo option
	bufferSize      = vnetLen + maxPacket
	maxHeader       = 512    // IP and TCP headers together of what is cut
	maxIPv6Chain    = 8      // extension headers that are followed
	ipv4DontInspect = 0x3fff // more fragments, or a fragment offset
)

// errMalformed is a super-packet that does not say how to cut it.
var errMalformed = errors.New("malformed super-packet")

// packet is what one read of a TUN device gave: a packet, or a super-packet of
// several segments that share their headers except what [packet.header]
// rewrites.
type packet struct {
	buf        []byte // virtio header and IP packet
	l4         int    // where the transport header starts in the IP packet; its length if there is none
	headers    int    // IP and TCP headers together; of anything but TCP the whole packet
	mss        int    // payload of each segment but the last
	segments   int
	version    byte
	tcp        bool
	needsCsum  bool // the transport checksum so far covers the pseudo-header only
	ecnCapable bool // ECN-capable transport

	route *route // through a network; nil on a wire

	refs int   // chunks that still need buf
	slab *slab // where buf lies
}

// slab is memory that packets are put into one after the other.
type slab struct {
	mem  []byte
	used int
	refs int // packets in it
}

func (p *packet) ip() []byte { return p.buf[vnetLen:] }

// size is how many IP bytes segment i has on the wire.
func (p *packet) size(i int) int {
	if i < p.segments-1 {
		return p.headers + p.mss
	}
	return len(p.buf) - vnetLen - i*p.mss
}

// bytes is how many IP bytes segments [first, first+n) have on the wire.
func (p *packet) bytes(first, n int) int {
	return (n-1)*(p.headers+p.mss) + p.size(first+n-1)
}

// parse reads the headers in buf, which was read from a TUN device. What it does
// not understand passes as one opaque segment, as on a wire, unless it claims to
// be a super-packet.
func (p *packet) parse(buf []byte) error {
	*p = packet{buf: buf, segments: 1, slab: p.slab}
	if len(buf) <= vnetLen {
		return errMalformed
	}
	ip := buf[vnetLen:]
	p.l4, p.headers = len(ip), len(ip)
	p.needsCsum = buf[vnetFlags]&flagNeedsCsum != 0
	csumStart := int(binary.NativeEndian.Uint16(buf[vnetCsumStart:]))
	csumOffset := int(binary.NativeEndian.Uint16(buf[vnetCsumOffset:]))
	if p.needsCsum && csumStart+csumOffset+2 > len(ip) {
		return errMalformed
	}
	p.parseIP(ip)

	gsoType := buf[vnetGSOType]
	if gsoType == gsoNone {
		return nil
	}
	want := byte(gsoTCPv4)
	if p.version == 6 {
		want = gsoTCPv6
	}
	mss := int(binary.NativeEndian.Uint16(buf[vnetGSOSize:]))
	payload := len(ip) - p.headers
	if gsoType&^gsoECN != want || !p.tcp || !p.needsCsum || csumStart != p.l4 || csumOffset != tcpCsumOffset ||
		mss == 0 || payload == 0 || p.headers > maxHeader {
		return errMalformed
	}
	p.mss = mss
	p.segments = (payload + mss - 1) / mss
	return nil
}

// parseIP finds the version, the ECN field, the transport header, and for TCP
// where the payload starts.
func (p *packet) parseIP(ip []byte) {
	var proto byte
	var l4 int
	switch {
	case ip[0]>>4 == 4 && len(ip) >= 20:
		l4 = int(ip[0]&0xf) * 4
		if l4 < 20 || l4 > len(ip) || int(binary.BigEndian.Uint16(ip[2:])) != len(ip) {
			return
		}
		p.version, p.ecnCapable = 4, ip[1]&3 != 0
		if binary.BigEndian.Uint16(ip[6:])&ipv4DontInspect != 0 {
			return
		}
		proto = ip[9]
	case ip[0]>>4 == 6 && len(ip) >= 40:
		if int(binary.BigEndian.Uint16(ip[4:]))+40 != len(ip) {
			return
		}
		p.version, p.ecnCapable = 6, ip[1]>>4&3 != 0
		proto, l4 = ipv6Transport(ip)
	default:
		return
	}
	p.l4 = l4
	if proto != protoTCP || l4+20 > len(ip) {
		return
	}
	if n := int(ip[l4+12]>>4) * 4; n >= 20 && l4+n <= len(ip) {
		p.tcp, p.headers = true, l4+n
	}
}

// ipv6Transport follows the extension headers that a sender may put in front of
// TCP (RFC 8200, section 4) and returns the first other protocol and where it
// starts.
func ipv6Transport(ip []byte) (proto byte, l4 int) {
	proto, l4 = ip[6], 40
	for range maxIPv6Chain {
		switch proto {
		case 0, 43, 60: // hop-by-hop options, routing, destination options
			if l4+8 > len(ip) || l4+int(ip[l4+1])*8+8 > len(ip) {
				return 0, len(ip)
			}
			proto, l4 = ip[l4], l4+int(ip[l4+1])*8+8
		default:
			return proto, l4
		}
	}
	return 0, len(ip)
}

// markCE sets Congestion Experienced in the IP header (RFC 3168, section 5).
func markCE(ip []byte, version byte) {
	if version == 6 {
		ip[1] |= 3 << 4
		return
	}
	ip[1] |= 3
	setIPv4Checksum(ip)
}
