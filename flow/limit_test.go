package flow

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

const (
	ms   = time.Millisecond
	mbps = unit.Mbps
)

var settings618 = &host.Facts{Tunables: map[string]string{"net.ipv4.tcp_rmem": "4096\t131072\t6291456", "net.ipv4.tcp_wmem": "4096\t16384\t4194304"}}

// A flow of 8 Mb/s on 20 ms, whose program brings no more, seen for so long.
func sending(length int, samples int, every time.Duration) *track {
	t := &track{flow: Flow{
		Sends: true, Process: "cam", RTT: 20 * ms, MinRTT: 20 * ms, Congestion: "cubic",
		Local: addressWithPort(50001), Remote: addressWithPort(445),
	}}
	for i := range samples {
		at := time.Duration(i) * every
		bytes := uint64(at.Milliseconds()) * 1000
		t.history = append(t.history, bulk.Sample{At: at, Unsent: 20_000, Mem: bulk.SockMem{SendBuf: 4 << 20, SendQueued: 20_000}, TCP: bulk.TCPInfo{
			Length: length, Options: 7, RTT: 20_000, MinRTT: 20_000, SndMSS: 1448, SndCwnd: 100, SndWnd: 1 << 20, Unacked: 14,
			BytesAcked: bytes, BytesSent: bytes, DataSegsOut: uint32(bytes / 1448), BusyTime: uint64(at.Microseconds()),
		}})
	}
	return t
}

// What can be said before the rules are asked, and that they are asked.
func TestLimit(t *testing.T) {
	idle, stopped := sending(280, 20, 100*ms), sending(280, 20, 100*ms)
	idle.flow.Idle = true
	for i := range stopped.history {
		stopped.history[i].TCP.BytesAcked = 7
	}
	soon := sending(280, 3, 550*ms)
	for i := range soon.history {
		soon.history[i].TCP.BytesAcked = 7
	}
	far := sending(280, 5, 150*ms)
	far.flow.RTT = 151 * ms
	for name, c := range map[string]struct {
		of   *track
		want string
	}{
		"idle":                               {idle, "Idle"},
		"Linux 4.9":                          {sending(191, 20, 100*ms), "older than Linux 4.10"},
		"Linux 4.10":                         {sending(192, 20, 100*ms), "does not supply"},
		"seen twice":                         {sending(280, 2, time.Second), "Being measured"},
		"three times":                        {sending(280, 3, time.Second), "does not supply"},
		"for 399 ms":                         {sending(280, 4, 133*ms), "Being measured"},
		"for 400 ms":                         {sending(280, 5, 100*ms), "does not supply"},
		"for less than four round trips":     {far, "Being measured"},
		"stopped, for longer than a second":  {stopped, "does not supply"},
		"stopped, for less than round trips": {func() *track { soon.flow.RTT = 300 * ms; return soon }(), "does not supply"},
	} {
		if got := c.of.limit(settings618); !strings.Contains(got.Says, c.want) {
			t.Errorf("%s: %s", name, got.Says)
		}
	}
}

// The evidence is of the end that is seen, and of no other.
func TestEvidence(t *testing.T) {
	tr := sending(280, 5, 100*ms)
	tr.widest, tr.losses.Packets = 77, 3
	e := tr.evidence(settings618)
	if e.SenderHost != settings618 || e.ReceiverHost != nil || len(e.Transfer.Senders(bulk.Forward)) != 1 || len(e.Transfer.Receivers(bulk.Forward)) != 0 {
		t.Errorf("of a sender: %+v", e)
	}
	p := e.Passing
	if p.Program != "cam" || p.Local != 50001 || p.Remote != 445 || p.Losses.Packets != 3 || e.Transfer.Client.Streams[0].Peaks.MaxSndWnd != 77 {
		t.Errorf("what is known beside: %+v", e)
	}
	tr.flow.Sends = false
	if e = tr.evidence(settings618); e.SenderHost != nil || e.ReceiverHost != settings618 || len(e.Transfer.Senders(bulk.Forward)) != 0 || len(e.Transfer.Receivers(bulk.Forward)) != 1 {
		t.Errorf("of a receiver: %+v", e)
	}
}

// Whatever the kernel says, the finding is a known cause with finite numbers
// (JSON has no others), nothing is called healthy in passing, and no idle flow
// is called limited.
func TestAnyFlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom([]uint64{0, 1, 1448, 65535, 1 << 20, 1 << 31, math.MaxUint32, 1 << 40, math.MaxUint64})
		m := &message{family: rapid.SampledFrom([]uint8{familyIPv4, familyIPv6}).Draw(t, "family"), state: rapid.Uint8().Draw(t, "state"), inode: 1,
			congestion: []byte(rapid.SampledFrom([]string{"", "cubic", "bbr", "x\x1b"}).Draw(t, "congestion"))}
		length := rapid.SampledFrom([]int{0, 8, 104, 168, 192, 232, 240, 280}).Draw(t, "length")
		m.id[3] = rapid.SampledFrom([]uint8{22, 80}).Draw(t, "port")
		next := func() {
			m.info = make([]byte, length)
			for at := 0; at+8 <= length; at += 8 {
				native.PutUint64(m.info[at:], number.Draw(t, "number"))
			}
			m.memory = make([]byte, 36)
			for at := 0; at < 36; at += 4 {
				native.PutUint32(m.memory[at:], uint32(number.Draw(t, "memory")))
			}
			m.unread, m.unsent = uint32(number.Draw(t, "unread")), uint32(number.Draw(t, "unsent"))
		}
		next()
		at := time.Duration(0)
		track := newTrack(m, at)
		track.flow.Process = rapid.SampledFrom([]string{"", "ssh", Kernel, "nginx"}).Draw(t, "process")
		for range rapid.IntRange(0, 20).Draw(t, "looks") {
			next()
			over := time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "over"))
			at += over
			switch {
			case !track.same(m):
				track = newTrack(m, at)
			case !track.rests(m):
				track.observe(m, at, over)
			}
			f := track.limit(settings618)
			if !diagnose.Known(f.Cause) || f.Cause == diagnose.Healthy || !(f.Confidence >= 0 && f.Confidence <= 1) || f.Says == "" || f.Action == "" || !(f.Gain >= 1) || f.Evidence == nil {
				t.Fatalf("not complete: %+v", f)
			}
			if track.flow.Idle && f.Cause != diagnose.Unknown {
				t.Fatalf("an idle flow is called limited: %+v", f)
			}
			track.flow.Limit = f
			if _, err := json.Marshal(track.flow); err != nil {
				t.Fatalf("no JSON: %v", err)
			}
		}
	})
}
