package wire

import (
	"encoding/binary"
	"testing"
)

// TestParseSuperPacket: each thing that a super-packet must say to be cut.
func TestParseSuperPacket(t *testing.T) {
	for name, spoil := range map[string]func(buf []byte){
		"":                       func([]byte) {},
		"of the other version":   func(b []byte) { b[vnetGSOType] = gsoTCPv6 },
		"of UDP":                 func(b []byte) { b[vnetGSOType] = 3 },
		"not TCP":                func(b []byte) { b[vnetLen+9] = 17 },
		"a checksum that stands": func(b []byte) { b[vnetFlags] = 0 },
		"a checksum elsewhere":   func(b []byte) { binary.NativeEndian.PutUint16(b[vnetCsumStart:], 24) },
		"a checksum at another":  func(b []byte) { binary.NativeEndian.PutUint16(b[vnetCsumOffset:], 6) },
		"segments of nothing":    func(b []byte) { binary.NativeEndian.PutUint16(b[vnetGSOSize:], 0) },
		"no payload":             func(b []byte) { b[vnetLen+20+12] = 0xf0 }, // the TCP header takes all of it
		"no header":              func(b []byte) { b[vnetLen+20+12] = 0x40 },
	} {
		buf := superPacket{version: 4, payload: make([]byte, 40), mss: 20}.build()
		spoil(buf)
		var p packet
		err := p.parse(buf)
		if (err != nil) != (name != "") {
			t.Errorf("%q: %v, %d segments", name, err, p.segments)
		}
	}
}

// TestParseEdges: headers that just fit are understood, those that do not are one
// opaque segment.
func TestParseEdges(t *testing.T) {
	const opaque = 0
	ack4, ack6 := superPacket{version: 4}.build(), superPacket{version: 6}.build()
	extended := superPacket{version: 6, extensions: 1}.build()
	for _, tt := range []struct {
		name    string
		buf     []byte
		spoil   func(ip []byte)
		version byte
		tcp     bool
	}{
		{"IPv4", ack4, nil, 4, true},
		{"IPv6", ack6, nil, 6, true},
		{"IPv6 with an extension", extended, nil, 6, true},
		{"IPv4 without a transport", ack4[:vnetLen+20], func(ip []byte) { ip[3] = 20 }, 4, false},
		{"IPv6 without a transport", ack6[:vnetLen+40], func(ip []byte) { ip[5] = 0 }, 6, false},
		{"IPv6 with half an extension", extended[:vnetLen+44], func(ip []byte) { ip[5] = 4 }, 6, false},
		{"IPv6 with nothing but an extension", extended[:vnetLen+48], func(ip []byte) { ip[5] = 8 }, 6, false},
		{"an extension that is too long", extended, func(ip []byte) { ip[41] = 3 }, 6, false},
		{"another length", ack4, func(ip []byte) { ip[3]++ }, opaque, false},
		{"another length of IPv6", ack6, func(ip []byte) { ip[5]++ }, opaque, false},
		{"an IPv4 header of 16 bytes", ack4, func(ip []byte) { ip[0] = 0x44 }, opaque, false},
		{"an IPv4 header that is the packet", ack4, func(ip []byte) { ip[0] = 0x4a }, 4, false},
		{"an IPv4 header above the packet", ack4, func(ip []byte) { ip[0] = 0x4b }, opaque, false},
		{"19 bytes", ack4[:vnetLen+19], func(ip []byte) { ip[3] = 19 }, opaque, false},
		{"39 bytes of IPv6", ack6[:vnetLen+39], nil, opaque, false},
		{"one byte", ack4[:vnetLen+1], nil, opaque, false},
		{"half a TCP header", ack4[:vnetLen+39], func(ip []byte) { ip[3] = 39 }, 4, false},
		{"a TCP header of 16 bytes", ack4, func(ip []byte) { ip[32] = 0x40 }, 4, false},
		{"a TCP header above the packet", ack4, func(ip []byte) { ip[32] = 0x60 }, 4, false},
		{"version 5", ack4, func(ip []byte) { ip[0] = 0x55 }, opaque, false},
	} {
		buf := append([]byte(nil), tt.buf...)
		buf[vnetFlags] = 0
		if tt.spoil != nil {
			tt.spoil(buf[vnetLen:])
		}
		var p packet
		if err := p.parse(buf); err != nil || p.version != tt.version || p.tcp != tt.tcp || p.segments != 1 {
			t.Errorf("%s: version %d, TCP %v, %d segments, %v", tt.name, p.version, p.tcp, p.segments, err)
		}
	}
	var p packet
	for length, wrong := range map[int]bool{vnetLen: true, vnetLen + 17: true, vnetLen + 18: false} {
		buf := make([]byte, length)
		buf[vnetFlags] = flagNeedsCsum
		binary.NativeEndian.PutUint16(buf[vnetCsumOffset:], tcpCsumOffset) // up to byte 18
		if err := p.parse(buf); (err != nil) != wrong {
			t.Errorf("%d bytes with a checksum to complete: %v", length, err)
		}
	}
}
