package wire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSynOptions(t *testing.T) {
	mss1460 := []byte{2, 4, 0x05, 0xb4}
	sack, timestamps, wscale := []byte{4, 2}, []byte{8, 10, 1, 2, 3, 4, 0, 0, 0, 0}, []byte{3, 3, 7}
	nops := func(n int) []byte { return bytes.Repeat([]byte{optNOP}, n) }
	linux := slices.Concat(mss1460, sack, timestamps, nops(1), wscale)
	for _, tt := range []struct {
		name    string
		d       Direction
		in      []byte
		want    []byte
		changed bool
	}{
		{"clamp", Direction{MSSClamp: 1000}, linux, slices.Concat([]byte{2, 4, 0x03, 0xe8}, linux[4:]), true},
		{"clamp never raises", Direction{MSSClamp: 8948}, linux, linux, false},
		{"sack", Direction{Strip: []string{"sack"}}, linux, slices.Concat(mss1460, nops(2), timestamps, nops(1), wscale), true},
		{"timestamps", Direction{Strip: []string{"timestamps"}}, linux, slices.Concat(mss1460, sack, nops(11), wscale), true},
		{"wscale", Direction{Strip: []string{"wscale"}}, linux, slices.Concat(mss1460, sack, timestamps, nops(4)), true},
		{"all", Direction{Strip: []string{"wscale", "sack", "timestamps"}}, linux, slices.Concat(mss1460, nops(16)), true},
		{"nothing behind the end", Direction{Strip: []string{"wscale"}}, []byte{0, 3, 3, 7}, []byte{0, 3, 3, 7}, false},
		{"too long", Direction{Strip: []string{"wscale"}}, []byte{3, 9, 7, 1}, []byte{3, 9, 7, 1}, false},
		{"too short", Direction{Strip: []string{"wscale"}}, []byte{3, 0, 7, 1}, []byte{3, 0, 7, 1}, false},
		{"cut off", Direction{Strip: []string{"wscale"}}, []byte{1, 1, 1, 3}, []byte{1, 1, 1, 3}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, version := range []byte{4, 6} {
				for _, complete := range []bool{false, true} {
					want := superPacket{version: version, options: tt.want, flags: flagSYN}.build()
					buf := superPacket{version: version, options: tt.in, flags: flagSYN}.build()
					if complete { // as a middlebox without offloads sees it
						completeChecksum(buf)
						completeChecksum(want)
						buf[vnetFlags], want[vnetFlags] = 0, 0
					}
					var p packet
					if err := p.parse(buf); err != nil {
						t.Fatal(err)
					}
					rules := newLane(tt.d, 0, 1500).syn
					if changed := rules.apply(&p); changed != tt.changed {
						t.Errorf("IPv%d: changed %v, want %v", version, changed, tt.changed)
					}
					if diff := cmp.Diff(want, buf); diff != "" {
						t.Errorf("IPv%d, complete checksum %v: %s", version, complete, diff)
					}
				}
			}
		})
	}
	t.Run("only a SYN", func(t *testing.T) {
		buf := superPacket{version: 4, options: linux, flags: 0x10}.build()
		var p packet
		if err := p.parse(buf); err != nil {
			t.Fatal(err)
		}
		rules := newLane(Direction{MSSClamp: 1000}, 0, 1500).syn
		if rules.apply(&p) {
			t.Error("an ACK was rewritten")
		}
	})
}
