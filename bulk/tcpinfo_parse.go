package bulk

import "encoding/binary"

// ParseTCPInfo reads struct tcp_info as far as the kernel returned it, from
// getsockopt(TCP_INFO) or from inet_diag. The struct only ever grows at its
// end, so offsets are the same in all versions; a field that does not lie
// wholly within raw stays zero.
func ParseTCPInfo(raw []byte) TCPInfo {
	var t TCPInfo
	t.Parse(raw)
	return t
}

// Parse does the same in place, for callers that read thousands.
func (t *TCPInfo) Parse(raw []byte) {
	*t = TCPInfo{Length: len(raw)}
	for _, f := range tcpInfoFields {
		switch value := f.of(t).(type) {
		case *uint8:
			if len(raw) >= f.offset+1 {
				*value = raw[f.offset]
			}
		case *uint16:
			if len(raw) >= f.offset+2 {
				*value = binary.NativeEndian.Uint16(raw[f.offset:])
			}
		case *uint32:
			if len(raw) >= f.offset+4 {
				*value = binary.NativeEndian.Uint32(raw[f.offset:])
			}
		case *uint64:
			if len(raw) >= f.offset+8 {
				*value = binary.NativeEndian.Uint64(raw[f.offset:])
			}
		}
	}
	if len(raw) >= 8 {
		t.SndWScale, t.RcvWScale, t.AppLimited = bitFields(raw[6], raw[7], bigEndian)
	}
}

// bitFields takes bytes 6 and 7 apart. C lays bit-fields out from the lowest
// bit on little-endian machines and from the highest on big-endian ones.
func bitFields(scales, flags byte, bigEndian bool) (snd, rcv uint8, appLimited bool) {
	if bigEndian {
		return scales >> 4, scales & 0xf, flags&0x80 != 0
	}
	return scales & 0xf, scales >> 4, flags&1 != 0
}

var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// tcpInfoFields are the fields of struct tcp_info (include/uapi/linux/tcp.h)
// but for the bit-fields in bytes 6 and 7. The versions name the first kernel
// whose struct reaches that far.
var tcpInfoFields = []struct {
	offset int
	of     func(*TCPInfo) any
}{
	{0, func(t *TCPInfo) any { return &t.State }},
	{1, func(t *TCPInfo) any { return &t.CAState }},
	{2, func(t *TCPInfo) any { return &t.Retransmits }},
	{3, func(t *TCPInfo) any { return &t.Probes }},
	{4, func(t *TCPInfo) any { return &t.Backoff }},
	{5, func(t *TCPInfo) any { return &t.Options }},
	{8, func(t *TCPInfo) any { return &t.RTO }},
	{12, func(t *TCPInfo) any { return &t.ATO }},
	{16, func(t *TCPInfo) any { return &t.SndMSS }},
	{20, func(t *TCPInfo) any { return &t.RcvMSS }},
	{24, func(t *TCPInfo) any { return &t.Unacked }},
	{28, func(t *TCPInfo) any { return &t.Sacked }},
	{32, func(t *TCPInfo) any { return &t.Lost }},
	{36, func(t *TCPInfo) any { return &t.Retrans }},
	{44, func(t *TCPInfo) any { return &t.LastDataSent }},
	{52, func(t *TCPInfo) any { return &t.LastDataRecv }},
	{56, func(t *TCPInfo) any { return &t.LastAckRecv }},
	{60, func(t *TCPInfo) any { return &t.PMTU }},
	{64, func(t *TCPInfo) any { return &t.RcvSsthresh }},
	{68, func(t *TCPInfo) any { return &t.RTT }},
	{72, func(t *TCPInfo) any { return &t.RTTVar }},
	{76, func(t *TCPInfo) any { return &t.SndSsthresh }},
	{80, func(t *TCPInfo) any { return &t.SndCwnd }},
	{84, func(t *TCPInfo) any { return &t.AdvMSS }},
	{88, func(t *TCPInfo) any { return &t.Reordering }},
	{92, func(t *TCPInfo) any { return &t.RcvRTT }},
	{96, func(t *TCPInfo) any { return &t.RcvSpace }},
	{100, func(t *TCPInfo) any { return &t.TotalRetrans }}, // 2.6.13: 104 bytes
	{104, func(t *TCPInfo) any { return &t.PacingRate }},
	{112, func(t *TCPInfo) any { return &t.MaxPacingRate }}, // 3.15: 120
	{120, func(t *TCPInfo) any { return &t.BytesAcked }},
	{128, func(t *TCPInfo) any { return &t.BytesReceived }}, // 4.1: 136
	{136, func(t *TCPInfo) any { return &t.SegsOut }},
	{140, func(t *TCPInfo) any { return &t.SegsIn }}, // 4.2: 144
	{144, func(t *TCPInfo) any { return &t.NotsentBytes }},
	{148, func(t *TCPInfo) any { return &t.MinRTT }},
	{152, func(t *TCPInfo) any { return &t.DataSegsIn }},
	{156, func(t *TCPInfo) any { return &t.DataSegsOut }},  // 4.6: 160
	{160, func(t *TCPInfo) any { return &t.DeliveryRate }}, // 4.9: 168
	{168, func(t *TCPInfo) any { return &t.BusyTime }},
	{176, func(t *TCPInfo) any { return &t.RwndLimited }},
	{184, func(t *TCPInfo) any { return &t.SndbufLimited }}, // 4.10: 192
	{192, func(t *TCPInfo) any { return &t.Delivered }},
	{196, func(t *TCPInfo) any { return &t.DeliveredCE }}, // 4.18: 200
	{200, func(t *TCPInfo) any { return &t.BytesSent }},
	{208, func(t *TCPInfo) any { return &t.BytesRetrans }},
	{216, func(t *TCPInfo) any { return &t.DsackDups }},
	{220, func(t *TCPInfo) any { return &t.ReordSeen }}, // 4.19: 224
	{224, func(t *TCPInfo) any { return &t.RcvOooPack }},
	{228, func(t *TCPInfo) any { return &t.SndWnd }}, // 5.4: 232
	{232, func(t *TCPInfo) any { return &t.RcvWnd }},
	{236, func(t *TCPInfo) any { return &t.Rehash }},   // 6.2: 240
	{240, func(t *TCPInfo) any { return &t.TotalRTO }}, // 6.7: 248
}

// ParseSockMem reads the answer to SO_MEMINFO: 32-bit words in the order of
// SK_MEMINFO_* (include/uapi/linux/sock_diag.h), as many as the kernel has.
func ParseSockMem(raw []byte) SockMem {
	word := func(i int) int {
		if len(raw) < 4*i+4 {
			return 0
		}
		return int(binary.NativeEndian.Uint32(raw[4*i:]))
	}
	return SockMem{
		RecvAlloc: word(0), RecvBuf: word(1),
		SendAlloc: word(2), SendBuf: word(3), SendQueued: word(5),
		Backlog: word(7), Drops: word(8),
	}
}
