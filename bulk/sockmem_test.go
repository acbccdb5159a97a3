package bulk

import (
	"encoding/hex"
	"testing"
)

func TestParseSockMem(t *testing.T) {
	if bigEndian {
		t.Skip("the captured bytes are little-endian")
	}
	// What Linux 6.18 answered for a sender with a well-filled buffer, but
	// for the drops, of which it had none.
	raw, err := hex.DecodeString("00000000000002006897000000260400980f000068f00200000000000000000007000000")
	if err != nil {
		t.Fatal(err)
	}
	full := SockMem{RecvBuf: 131072, SendAlloc: 38760, SendBuf: 271872, SendQueued: 192616, Drops: 7}
	early := full // before Linux 4.8 the answer had no drops
	early.Drops = 0
	for length, want := range map[int]SockMem{36: full, 32: early, 4: {}, 0: {}} {
		if got := ParseSockMem(raw[:length]); got != want {
			t.Errorf("%d bytes: got %+v, want %+v", length, got, want)
		}
	}
}
