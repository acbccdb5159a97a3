package bulk

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// captured is what Linux 6.18 answered to TCP_INFO for one sender on a 20 Mb/s
// bottleneck, asked for as many bytes as kernels of other ages have. The bytes
// are little-endian.
func captured(t testing.TB, length int) []byte {
	t.Helper()
	if bigEndian {
		t.Skip("the captured bytes are little-endian")
	}
	text, err := os.ReadFile(fmt.Sprintf("testdata/tcp_info.%d.hex", length))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestParseTCPInfo(t *testing.T) {
	linux26 := TCPInfo{
		State: 1, Options: OptTimestamps | OptSACK | OptWindowScale, SndWScale: 10, RcvWScale: 10,
		RTO: 224000, SndMSS: 1448, RcvMSS: 536, Unacked: 37, LastDataSent: 4, LastDataRecv: 2500, LastAckRecv: 4,
		PMTU: 1500, RcvSsthresh: 64088, RTT: 22059, RTTVar: 2248, SndSsthresh: 37, SndCwnd: 41, AdvMSS: 1448,
		Reordering: 3, RcvSpace: 14480, TotalRetrans: 14,
	}
	linux410 := linux26
	linux410.PacingRate, linux410.MaxPacingRate = 3229483, 1<<64-1
	linux410.BytesAcked, linux410.SegsOut, linux410.SegsIn, linux410.DataSegsOut = 5771729, 4040, 2500, 4038
	linux410.NotsentBytes, linux410.MinRTT, linux410.DeliveryRate = 133216, 29, 2281973
	linux410.BusyTime, linux410.RwndLimited = 2500000, 8000
	linux54 := linux410
	linux54.Delivered, linux54.BytesSent, linux54.BytesRetrans, linux54.SndWnd = 3988, 5845576, 20272, 2845696
	linux618 := linux54
	linux618.RcvWnd = 64512

	for length, want := range map[int]TCPInfo{104: linux26, 192: linux410, 232: linux54, 280: linux618} {
		want.Length = length
		if diff := cmp.Diff(want, ParseTCPInfo(captured(t, length))); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", length, diff)
		}
	}
}

func TestBitFields(t *testing.T) {
	type fields struct {
		Snd, Rcv   uint8
		AppLimited bool
	}
	for _, test := range []struct {
		scales, flags byte
		bigEndian     bool
		want          fields
	}{
		{0xa7, 0x01, false, fields{7, 10, true}},
		{0xa7, 0x06, false, fields{7, 10, false}}, // the other flags are of TCP fast open
		{0x7a, 0x80, true, fields{7, 10, true}},
		{0x7a, 0x60, true, fields{7, 10, false}},
	} {
		var got fields
		got.Snd, got.Rcv, got.AppLimited = bitFields(test.scales, test.flags, test.bigEndian)
		if got != test.want {
			t.Errorf("%#x %#x, big-endian %v: got %+v, want %+v", test.scales, test.flags, test.bigEndian, got, test.want)
		}
	}
}

// A shorter answer never changes what a longer one says, but for the fields it
// does not reach, which are zero.
func FuzzParseTCPInfo(f *testing.F) {
	for _, length := range []int{104, 192, 232, 280} {
		f.Add(captured(f, length), uint(length/2))
	}
	f.Fuzz(func(t *testing.T, raw []byte, cut uint) {
		long, short := ParseTCPInfo(raw), ParseTCPInfo(raw[:cut%uint(len(raw)+1)])
		if long.Length != len(raw) {
			t.Fatalf("length %d of %d bytes", long.Length, len(raw))
		}
		l, s := reflect.ValueOf(long), reflect.ValueOf(short)
		for i := range l.NumField() {
			name := l.Type().Field(i).Name
			if name == "Length" || s.Field(i).IsZero() || s.Field(i).Equal(l.Field(i)) {
				continue
			}
			t.Errorf("%s is %v in %d bytes and %v in the first %d", name, l.Field(i), long.Length, s.Field(i), short.Length)
		}
	})
}

func TestParseSockMem(t *testing.T) {
	if bigEndian {
		t.Skip("the captured bytes are little-endian")
	}
	// What Linux 6.18 answered for a sender with a well-filled buffer, but for
	// the backlog and the drops, of which it had none.
	raw, err := hex.DecodeString("00000000000002006897000000260400980f000068f00200000000000009000007000000")
	if err != nil {
		t.Fatal(err)
	}
	full := SockMem{RecvBuf: 131072, SendAlloc: 38760, SendBuf: 271872, SendQueued: 192616, Backlog: 2304, Drops: 7}
	early := full // before Linux 4.8 the answer had no drops
	early.Drops = 0
	for length, want := range map[int]SockMem{36: full, 32: early, 4: {}, 0: {}} {
		if got := ParseSockMem(raw[:length]); got != want {
			t.Errorf("%d bytes: got %+v, want %+v", length, got, want)
		}
	}
}
