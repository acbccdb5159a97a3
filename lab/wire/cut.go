package wire

import "encoding/binary"

// header writes to dst the virtio, IP and TCP headers of segments
// [first, first+n) of a super-packet, and returns them with the payload that
// follows them. It changes what the kernel's own segmentation would change
// (tcp_gso_segment in net/ipv4/tcp_offload.c, inet_gso_segment in
// net/ipv4/af_inet.c): lengths, IPv4 identification, sequence number, CWR on the
// first segment only, FIN and PSH on the last only.
func (p *packet) header(dst []byte, first, n int, ce bool) (header, payload []byte) {
	header = dst[:vnetLen+p.headers]
	copy(header, p.buf)
	from := vnetLen + p.headers + first*p.mss
	payload = p.buf[from:min(from+n*p.mss, len(p.buf))]

	ip, tcp := header[vnetLen:], header[vnetLen+p.l4:]
	total := p.headers + len(payload)
	if p.version == 4 {
		binary.BigEndian.PutUint16(ip[2:], uint16(total))
		binary.BigEndian.PutUint16(ip[4:], binary.BigEndian.Uint16(ip[4:])+uint16(first))
	} else {
		binary.BigEndian.PutUint16(ip[4:], uint16(total-40))
	}
	if ce {
		markCE(ip, p.version)
	} else if p.version == 4 {
		setIPv4Checksum(ip)
	}

	binary.BigEndian.PutUint32(tcp[4:], binary.BigEndian.Uint32(tcp[4:])+uint32(first*p.mss))
	if first > 0 {
		tcp[13] &^= flagCWR
		header[vnetGSOType] &^= gsoECN
	}
	if first+n < p.segments {
		tcp[13] &^= flagFIN | flagPSH
	}
	if p.needsCsum {
		binary.BigEndian.PutUint16(tcp[tcpCsumOffset:], pseudoSum(ip, p.version, protoTCP, total-p.l4))
	}
	binary.NativeEndian.PutUint16(header[vnetHdrLen:], uint16(p.headers))
	if n == 1 {
		header[vnetGSOType] = gsoNone
		binary.NativeEndian.PutUint16(header[vnetGSOSize:], 0)
	}
	return header, payload
}

// spoil writes segment i to dst with its checksum completed and one bit flipped
// after that, so that the receiving kernel must find the error. Pick chooses the
// bit, from 0 to below the number it is given.
func (p *packet) spoil(dst []byte, i int, ce bool, pick func(int) int) []byte {
	var out []byte
	if p.segments > 1 {
		header, payload := p.header(dst, i, 1, ce)
		out = dst[:len(header)+copy(dst[len(header):], payload)]
	} else {
		out = dst[:copy(dst, p.buf)]
		if ce {
			markCE(out[vnetLen:], p.version)
		}
	}
	if p.needsCsum {
		completeChecksum(out)
	}
	clear(out[:vnetLen])

	// The payload is what a bad cable mostly hits. Without one, the sequence and
	// acknowledgement numbers of TCP; of other protocols, all above IP.
	ip := out[vnetLen:]
	from, to := p.l4, len(ip)
	switch {
	case p.tcp && p.headers < len(ip):
		from = p.headers
	case p.tcp:
		from, to = p.l4+4, p.l4+12
	case from == to: // not what it was, or a fragment
		from = min(1, len(ip)-1) // the TUN device refuses what is not of version 4 or 6
	}
	bit := pick((to - from) * 8)
	ip[from+bit/8] ^= 1 << (bit % 8)
	return out
}
