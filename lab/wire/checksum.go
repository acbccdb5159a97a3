package wire

import "encoding/binary"

// sum adds b to the Internet checksum so far (RFC 1071), not yet folded.
func sum(b []byte, so uint64) uint64 {
	for len(b) >= 4 {
		so += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		so += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		so += uint64(b[0]) << 8
	}
	return so
}

// fold reduces a sum to 16 bits, not complemented.
func fold(s uint64) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// pseudoSum is the folded sum over the pseudo-header: what stands in the checksum
// field of a packet whose checksum is still to be completed. Length is that of
// transport header and payload.
func pseudoSum(ip []byte, version, proto byte, length int) uint16 {
	addresses := ip[12:20]
	if version == 6 {
		addresses = ip[8:40]
	}
	return fold(sum(addresses, uint64(proto)+uint64(length)))
}

// completeChecksum does in software what NEEDS_CSUM in the virtio header of buf
// asks for.
func completeChecksum(buf []byte) {
	start := vnetLen + int(binary.NativeEndian.Uint16(buf[vnetCsumStart:]))
	field := start + int(binary.NativeEndian.Uint16(buf[vnetCsumOffset:]))
	c := ^fold(sum(buf[start:], 0))
	if c == 0 { // as UDP needs it; to TCP both mean the same
		c = 0xffff
	}
	binary.BigEndian.PutUint16(buf[field:], c)
}

// setIPv4Checksum recomputes the header checksum.
func setIPv4Checksum(ip []byte) {
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip[:int(ip[0]&0xf)*4], 0)))
}
