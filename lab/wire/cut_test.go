package wire

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// superPacket builds what a TUN device hands over for n bytes of payload.
type superPacket struct {
	version    byte
	extensions int // IPv6 destination options of 8 bytes each
	options    []byte
	payload    []byte
	mss        int
	flags      byte
	ecn        byte
	id         uint16
	seq        uint32
}

func (s superPacket) build() []byte {
	tcpLen := 20 + len(s.options)
	ipLen := 20
	if s.version == 6 {
		ipLen = 40 + 8*s.extensions
	}
	buf := make([]byte, vnetLen+ipLen+tcpLen+len(s.payload))
	ip, tcp := buf[vnetLen:], buf[vnetLen+ipLen:]
	total := len(ip)
	if s.version == 4 {
		ip[0], ip[1], ip[8], ip[9] = 0x45, s.ecn, 64, protoTCP
		binary.BigEndian.PutUint16(ip[2:], uint16(total))
		binary.BigEndian.PutUint16(ip[4:], s.id)
		copy(ip[12:], []byte{198, 18, 0, 1, 198, 18, 0, 2})
		setIPv4Checksum(ip)
	} else {
		ip[0], ip[1], ip[6], ip[7] = 0x60, s.ecn<<4, protoTCP, 64
		binary.BigEndian.PutUint16(ip[4:], uint16(total-40))
		ip[8], ip[23], ip[24], ip[39] = 0xfd, 1, 0xfd, 2
		for i := range s.extensions {
			ext := ip[40+8*i:]
			ext[0] = protoTCP
			if i < s.extensions-1 {
				ext[0] = 60
			}
			ip[6] = 60
		}
	}
	binary.BigEndian.PutUint32(tcp[4:], s.seq)
	tcp[12], tcp[13] = byte(tcpLen/4)<<4, s.flags
	copy(tcp[20:], s.options)
	copy(tcp[tcpLen:], s.payload)
	binary.BigEndian.PutUint16(tcp[tcpCsumOffset:], pseudoSum(ip, s.version, protoTCP, total-ipLen))

	buf[vnetFlags] = flagNeedsCsum
	binary.NativeEndian.PutUint16(buf[vnetHdrLen:], uint16(ipLen+tcpLen))
	binary.NativeEndian.PutUint16(buf[vnetCsumStart:], uint16(ipLen))
	binary.NativeEndian.PutUint16(buf[vnetCsumOffset:], tcpCsumOffset)
	if s.mss > 0 {
		buf[vnetGSOType] = gsoTCPv4
		if s.version == 6 {
			buf[vnetGSOType] = gsoTCPv6
		}
		if s.flags&flagCWR != 0 {
			buf[vnetGSOType] |= gsoECN
		}
		binary.NativeEndian.PutUint16(buf[vnetGSOSize:], uint16(s.mss))
	}
	return buf
}

// onWire is the slow way: each segment that buf stands for as a complete packet
// with full checksums, computed from RFC 791, 793, 1071 and 8200 rather than from
// the code under test.
func onWire(buf []byte) (segments [][]byte) {
	ip := slices.Clone(buf[vnetLen:])
	l4 := int(binary.NativeEndian.Uint16(buf[vnetCsumStart:]))
	headers := l4 + int(ip[l4+12]>>4)*4
	mss := int(binary.NativeEndian.Uint16(buf[vnetGSOSize:]))
	if buf[vnetGSOType] == gsoNone {
		mss = len(ip)
	}
	payload := ip[headers:]
	for i := 0; i == 0 || len(payload) > 0; i++ {
		n := min(mss, len(payload))
		seg := slices.Concat(ip[:headers], payload[:n])
		payload = payload[n:]
		tcp := seg[l4:]
		var pseudo []byte
		if seg[0]>>4 == 4 {
			binary.BigEndian.PutUint16(seg[2:], uint16(len(seg)))
			binary.BigEndian.PutUint16(seg[4:], binary.BigEndian.Uint16(seg[4:])+uint16(i))
			binary.BigEndian.PutUint16(seg[10:], 0)
			binary.BigEndian.PutUint16(seg[10:], checksumRFC1071(seg[:l4]))
			pseudo = slices.Concat(seg[12:20], []byte{0, protoTCP, byte(len(tcp) >> 8), byte(len(tcp))})
		} else {
			binary.BigEndian.PutUint16(seg[4:], uint16(len(seg)-40))
			pseudo = slices.Concat(seg[8:40], []byte{0, 0, byte(len(tcp) >> 8), byte(len(tcp)), 0, 0, 0, protoTCP})
		}
		binary.BigEndian.PutUint32(tcp[4:], binary.BigEndian.Uint32(tcp[4:])+uint32(i*mss))
		if i > 0 {
			tcp[13] &^= flagCWR
		}
		if len(payload) > 0 {
			tcp[13] &^= flagFIN | flagPSH
		}
		binary.BigEndian.PutUint16(tcp[16:], 0)
		binary.BigEndian.PutUint16(tcp[16:], checksumRFC1071(slices.Concat(pseudo, tcp)))
		segments = append(segments, seg)
	}
	return segments
}

func checksumRFC1071(b []byte) uint16 {
	if len(b)%2 == 1 {
		b = append(slices.Clone(b), 0)
	}
	var s uint32
	for i := 0; i < len(b); i += 2 {
		s += uint32(b[i])<<8 | uint32(b[i+1])
		s = s&0xffff + s>>16
	}
	return ^uint16(s)
}

func drawSuperPacket(t *rapid.T) superPacket {
	s := superPacket{
		version: rapid.SampledFrom([]byte{4, 6}).Draw(t, "version"),
		options: make([]byte, 4*rapid.IntRange(0, 10).Draw(t, "option words")),
		mss:     rapid.IntRange(1, 9000).Draw(t, "mss"),
		flags:   rapid.Byte().Draw(t, "flags") &^ flagSYN,
		ecn:     rapid.SampledFrom([]byte{0, 1, 2}).Draw(t, "ecn"),
		id:      rapid.Uint16().Draw(t, "id"),
		seq:     rapid.Uint32().Draw(t, "seq"),
	}
	if s.version == 6 {
		s.extensions = rapid.IntRange(0, 3).Draw(t, "extensions")
	}
	length := rapid.IntRange(1, min(65000, 50*s.mss)).Draw(t, "payload")
	s.payload = make([]byte, length)
	x := rapid.Uint32().Draw(t, "payload seed")
	for i := range s.payload {
		x = x*1664525 + 1013904223
		s.payload[i] = byte(x >> 24)
	}
	return s
}

// However a super-packet is cut, the same segments are on the wire.
func TestCutsAreTheSegmentsOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		buf := drawSuperPacket(t).build()
		want := onWire(buf)
		var p packet
		if err := p.parse(slices.Clone(buf)); err != nil {
			t.Fatal(err)
		}
		if p.segments != len(want) {
			t.Fatalf("%d segments, want %d", p.segments, len(want))
		}
		var got [][]byte
		for first := 0; first < p.segments; {
			n := rapid.IntRange(1, p.segments-first).Draw(t, "n")
			var dst [vnetLen + maxHeader]byte
			header, payload := p.header(dst[:], first, n, false)
			cut := slices.Concat(header, payload)
			if wire := p.bytes(first, n); wire != n*p.headers+len(payload) {
				t.Fatalf("segments %d+%d are %d bytes, want %d", first, n, wire, n*p.headers+len(payload))
			}
			var again packet
			if err := again.parse(slices.Clone(cut)); err != nil || again.segments != n {
				t.Fatalf("the cut has %d segments, want %d: %v", again.segments, n, err)
			}
			got = append(got, onWire(cut)...)
			first += n
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("cut segments differ: %s", cmp.Diff(want, got))
		}
		if !bytes.Equal(p.buf, buf) {
			t.Fatal("cutting changed the packet")
		}
	})
}

// A mark changes the ECN field and the IPv4 header checksum, and nothing else.
func TestMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSuperPacket(t)
		s.ecn = 2
		var p packet
		if err := p.parse(s.build()); err != nil || !p.ecnCapable {
			t.Fatalf("ECN-capable %v, %v", p.ecnCapable, err)
		}
		s.ecn = 3
		want := s.build()
		var dst [vnetLen + maxHeader]byte
		header, payload := p.header(dst[:], 0, p.segments, true)
		if got := onWire(slices.Concat(header, payload)); !slices.EqualFunc(got, onWire(want), bytes.Equal) {
			t.Fatal("more than the mark differs")
		}
	})
}

// A spoilt segment differs from the true one in exactly one bit, and its TCP
// checksum tells.
func TestSpoil(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSuperPacket(t)
		if rapid.Bool().Draw(t, "pure ack") {
			s.payload, s.mss = nil, 0
		}
		buf := s.build()
		var p packet
		if err := p.parse(buf); err != nil {
			t.Fatal(err)
		}
		i := rapid.IntRange(0, p.segments-1).Draw(t, "segment")
		got := p.spoil(make([]byte, bufferSize), i, false, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "bit") })
		if !bytes.Equal(got[:vnetLen], make([]byte, vnetLen)) {
			t.Fatal("the header still offers a checksum to complete")
		}
		flipped := 0
		want := mangled(onWire(buf)[i], p.l4)
		for j, b := range got[vnetLen:] {
			for diff := b ^ want[j]; diff != 0; diff &= diff - 1 {
				flipped++
			}
		}
		if flipped != 1 || len(got)-vnetLen != len(want) {
			t.Fatalf("%d bits differ", flipped)
		}
	})
}

// mangled is a segment whose checksum is written as the kernel completes it: 0 as
// 0xffff, which means the same (skb_checksum_help in net/core/dev.c).
func mangled(segment []byte, l4 int) []byte {
	if field := segment[l4+tcpCsumOffset:]; field[0] == 0 && field[1] == 0 {
		field[0], field[1] = 0xff, 0xff
	}
	return segment
}

// TestSpoilZeroChecksum: a checksum of 0 is completed as the kernel does it.
func TestSpoilZeroChecksum(t *testing.T) {
	for seq := range uint32(1 << 16) {
		buf := superPacket{version: 4, seq: seq}.build()
		segment := onWire(buf)[0]
		if segment[20+tcpCsumOffset] != 0 || segment[20+tcpCsumOffset+1] != 0 {
			continue
		}
		completeChecksum(buf)
		if got := binary.BigEndian.Uint16(buf[vnetLen+20+tcpCsumOffset:]); got != 0xffff {
			t.Errorf("sequence number %d: checksum %#x", seq, got)
		}
		return
	}
	t.Error("no packet has a checksum of 0")
}

// What is read from a device never makes the wire panic, and what it accepts as a
// super-packet it can cut.
func FuzzPacket(f *testing.F) {
	for _, s := range []superPacket{
		{version: 4, payload: make([]byte, 5000), mss: 1448, flags: 0x98, ecn: 2, options: make([]byte, 12)},
		{version: 6, payload: make([]byte, 3000), mss: 1428, flags: 0x11, extensions: 2},
		{version: 4, flags: flagSYN, options: []byte{2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 3, 7}},
	} {
		f.Add(s.build())
	}
	rules := newLane(Direction{MSSClamp: 1000, Strip: Strip{"wscale", "sack", "timestamps"}}, 0, 1500).syn
	scratch := make([]byte, bufferSize)
	f.Fuzz(func(t *testing.T, buf []byte) {
		if len(buf) > bufferSize {
			return
		}
		var p packet
		if p.parse(buf) != nil {
			return
		}
		rules.apply(&p)
		var dst [vnetLen + maxHeader]byte
		total := 0
		for i := range p.segments {
			total += p.size(i)
			if i%97 != 0 && i != p.segments-1 {
				continue // a fuzzed MSS may be 1
			}
			p.spoil(scratch, i, p.ecnCapable, func(n int) int { return n - 1 })
			if p.segments > 1 {
				p.header(dst[:], i, 1, p.ecnCapable)
			}
		}
		if total != p.bytes(0, p.segments) {
			t.Fatalf("segments have %d bytes, the packet %d", total, p.bytes(0, p.segments))
		}
		if p.ecnCapable && p.segments == 1 {
			markCE(p.ip(), p.version)
		}
	})
}

// What is not understood, such as a fragment, is spoilt anywhere but in its
// version, without which the TUN device would refuse it.
func TestSpoilOpaque(t *testing.T) {
	buf := superPacket{version: 4, payload: make([]byte, 100), mss: 1460}.build()
	clear(buf[:vnetLen])
	binary.BigEndian.PutUint16(buf[vnetLen+6:], 1) // a fragment offset
	var p packet
	if err := p.parse(buf); err != nil {
		t.Fatal(err)
	}
	for bit := range 16 {
		got := p.spoil(make([]byte, bufferSize), 0, false, func(int) int { return bit })
		if version := got[vnetLen] >> 4; version != 4 || bytes.Equal(got[vnetLen:], buf[vnetLen:]) {
			t.Errorf("bit %d: version %d", bit, version)
		}
	}
}
