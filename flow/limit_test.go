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
	kib  = unit.KiB
	mib  = unit.MiB
)

// scene describes the last seconds of a flow by the figures that matter, so that
// a test shows only what it is about. Defaults are a flow of a 6.18 host that
// sends with CUBIC, data always waiting, with plenty of room everywhere.
type scene struct {
	goodput      unit.Rate
	rtt, minRTT  time.Duration // 0: 150 ms, and the same
	process      string
	remote       uint16 // port; 0: 50000
	receives     bool
	inflight     unit.Size // 0: goodput * rtt
	supplies     bool      // the application brings no more than is in flight
	answers      float64   // a round trip
	cwnd, window unit.Size // 0: three times what is in flight
	windowMoves  float64   // by this share from sample to sample
	rwnd, sndbuf float64   // shares of the busy time
	busy         float64   // 0: 1
	lossEvery    int       // packets; 0: none
	unread       unit.Size
	length       int // of struct tcp_info; 0: 280
	samples      int // 0: 75
	congestion   string
}

func (s scene) track() *track {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&s.rtt, 150*ms)
	set(&s.minRTT, s.rtt)
	average := s.goodput.BytesIn(s.rtt)
	for size, value := range map[*unit.Size]unit.Size{&s.inflight: average, &s.cwnd: 3 * average, &s.window: 3 * average} {
		if *size == 0 {
			*size = value
		}
	}
	if s.busy == 0 {
		s.busy = 1
	}
	if s.length == 0 {
		s.length = 280
	}
	if s.samples == 0 {
		s.samples = 75
	}
	if s.congestion == "" {
		s.congestion = "cubic"
	}
	if s.remote == 0 {
		s.remote = 50000
	}
	const mss, every = 1448, 40 * ms
	t := &track{flow: Flow{Sends: !s.receives, Process: s.process, RTT: s.rtt, MinRTT: s.minRTT, Congestion: s.congestion}, widest: uint32(s.window)}
	t.flow.Remote = addressWithPort(s.remote)
	for i := range s.samples + 1 {
		at := time.Duration(i) * every
		bytes := uint64(s.goodput.BytesIn(at))
		replies := uint32(s.answers * float64(at) / float64(s.rtt))
		busy := float64(at.Microseconds()) * s.busy
		window := float64(s.window) * (1 - s.windowMoves*float64(i%3)/2)
		sample := bulk.Sample{At: at, Unread: int(s.unread), Unsent: int(s.inflight), TCP: bulk.TCPInfo{
			Length: s.length, Options: 7, SndWScale: 10, RcvWScale: 10, RTT: us(s.rtt), RcvRTT: us(s.rtt), MinRTT: us(s.minRTT), SndMSS: mss, RcvMSS: mss,
			SndCwnd: uint32(s.cwnd / mss), Unacked: uint32(s.inflight / mss), SndWnd: uint32(window), RcvWnd: uint32(window),
			BusyTime: uint64(busy), RwndLimited: uint64(busy * s.rwnd), SndbufLimited: uint64(busy * s.sndbuf),
			MaxPacingRate: math.MaxUint64, PacingRate: uint64(s.goodput / 8),
		}, Mem: bulk.SockMem{SendBuf: 4 << 20, SendQueued: int(s.inflight), RecvBuf: 6 << 20}}
		if s.receives {
			sample.TCP.BytesReceived, sample.TCP.DataSegsIn, sample.TCP.DataSegsOut = bytes, uint32(bytes/mss), replies
		} else {
			sample.TCP.BytesAcked, sample.TCP.BytesSent, sample.TCP.DataSegsOut, sample.TCP.DataSegsIn = bytes, bytes, uint32(bytes/mss), replies
		}
		if s.length < 232 { // Linux 5.4
			sample.TCP.SndWnd = 0
		}
		if !s.supplies && !s.receives {
			sample.TCP.NotsentBytes = 1 << 20
			sample.Unsent += 1 << 20
		}
		if s.lossEvery > 0 {
			sample.TCP.TotalRetrans = uint32(bytes / mss / uint64(s.lossEvery))
		}
		if i > 0 {
			t.losses.Add(t.last(), &sample)
		}
		t.history = append(t.history, sample)
	}
	return t
}

// settings are a host's with buffers of up to 6 and 4 MiB.
var settings618 = &host.Facts{Tunables: map[string]string{"net.ipv4.tcp_rmem": "4096\t131072\t6291456", "net.ipv4.tcp_wmem": "4096\t16384\t4194304"}}

func us(d time.Duration) uint32 { return uint32(d.Microseconds()) }

// scenes are flows as they are met, with what is to be said of them.
var scenes = []struct {
	name  string
	scene scene
	want  string
	sure  float64 // at least
	says  string  // in the sentences or the action
}{
	{"scp over a long path", scene{goodput: 107 * mbps, process: "ssh", remote: 22, supplies: true, answers: 20}, diagnose.ApplicationWindow, 0.9,
		"ssh: TCP tuning will not help; HPN-SSH or several transfers will"},
	{"ssh with a terminal", scene{goodput: 53 * mbps, process: "ssh", remote: 22, supplies: true, answers: 10}, diagnose.ApplicationWindow, 0.9, "1 MiB"},
	{"sshd on another port sends", scene{goodput: 107 * mbps, process: "sshd", remote: 50000, supplies: true, answers: 20}, diagnose.ApplicationWindow, 0.9, "2 MiB"},
	{"scp, seen where it arrives", scene{goodput: 107 * mbps, process: "sshd", receives: true, answers: 20, window: 12 * mib}, diagnose.ApplicationWindow, 0.7, "HPN-SSH"},
	{"scp whose window stands in a queue", scene{goodput: 50 * mbps, rtt: 320 * ms, minRTT: 150 * ms, process: "ssh", supplies: true, answers: 20}, diagnose.PathCapacity, 0.5, "queue"},
	{"scp from a slow disk", scene{goodput: 20 * mbps, process: "ssh", supplies: true, answers: 10}, diagnose.SlowSender, 0.5, "for 100 % of the time"},
	{"scp on a LAN", scene{goodput: 900 * mbps, rtt: ms, process: "ssh", supplies: true, answers: 1}, diagnose.SlowSender, 0.5, ""},
	{"HTTP/2 upload to a Go server", scene{goodput: 54 * mbps, process: "backup", supplies: true, answers: 8}, diagnose.ApplicationWindow, 0.8, "HTTP/2"},
	{"HTTP/2 upload to nginx", scene{goodput: 3.4 * mbps, process: "curl", remote: 443, supplies: true, answers: 1}, diagnose.ApplicationWindow, 0.9, "HTTP/2"},
	{"NFS of the kernel", scene{goodput: 7 * mbps, process: Kernel, remote: 2049, supplies: true, answers: 1}, diagnose.ApplicationWindow, 0.9, "NFS"},
	{"a window nobody knows", scene{goodput: 20 * mbps, process: "mover", supplies: true, answers: 2}, diagnose.ApplicationWindow, 0.5, "mover"},
	{"a camera", scene{goodput: 8 * mbps, process: "cam", supplies: true}, diagnose.SlowSender, 0.7, "no TCP setting"},
	{"a program that thinks", scene{goodput: 8 * mbps, process: "db", supplies: true, busy: 0.4}, diagnose.SlowSender, 0.7, "60 %"},
	{"receiver's buffer", scene{goodput: 3.4 * mbps, window: 64 * kib, inflight: 64 * kib, cwnd: mib, rwnd: 0.99}, diagnose.ReceiverBuffer, 0.9, "64 KiB"},
	{"receiver does not read", scene{goodput: 3 * mbps, window: 64 * kib, inflight: 60 * kib, cwnd: mib, rwnd: 0.99, windowMoves: 1}, diagnose.SlowReceiver, 0.7, "reads only"},
	{"this host does not read", scene{goodput: 3 * mbps, receives: true, unread: mib, window: 64 * kib}, diagnose.SlowReceiver, 0.7, "on this host"},
	{"loss", scene{goodput: 4 * mbps, cwnd: 75 * kib, lossEvery: 1000}, diagnose.RandomLoss, 0.5, "policer"},
	{"the same loss with BBR", scene{goodput: 400 * mbps, lossEvery: 1000, congestion: "bbr"}, diagnose.PathCapacity, 0.5, "BBR"},
	{"full path", scene{goodput: 90 * mbps, rtt: 60 * ms, minRTT: 30 * ms, cwnd: 660 * kib}, diagnose.PathCapacity, 0.8, "queue"},
	{"nothing fits", scene{goodput: 90 * mbps, rtt: 30 * ms}, diagnose.Unknown, 0, "fullbore diagnose"},
	{"receives, and that is all", scene{goodput: 90 * mbps, receives: true}, diagnose.Unknown, 0, "watch the sender"},
	{"seen twice", scene{goodput: 90 * mbps, samples: 1}, diagnose.Unknown, 0, "Being measured"},
	{"Linux 5.3, which does not tell the window", scene{goodput: 4 * mbps, length: 224, cwnd: 75 * kib, lossEvery: 1000}, diagnose.RandomLoss, 0.5, "policer"},
	{"Linux 5.3, the window is full", scene{goodput: 4 * mbps, length: 224, rwnd: 0.9}, diagnose.Unknown, 0, "watch the receiver"},
	{"Linux 4.9", scene{goodput: 90 * mbps, length: 168}, diagnose.Unknown, 0, "older than Linux 4.10"},
}

func TestLimits(t *testing.T) {
	for _, c := range scenes {
		t.Run(c.name, func(t *testing.T) {
			got := c.scene.track().limit(settings618)
			if got.Cause != c.want || got.Confidence < c.sure || !strings.Contains(got.Says+" "+got.Action, c.says) {
				t.Errorf("got %s (%v): %s / %s\n%+v", got.Cause, got.Confidence, got.Says, got.Action, got.Evidence)
			}
		})
	}
}

// What an scp will do is predicted, and on what that rests is said.
func TestPrediction(t *testing.T) {
	f := scenes[0].scene.track().limit(settings618)
	if math.Abs(f.Gain-2) > 0.01 || math.Abs(float64(f.Predicted/(214*mbps))-1) > 0.02 {
		t.Errorf("%v, factor %v", f.Predicted, f.Gain)
	}
	if w, ok := f.Value("application_window"); !ok || w != 2<<20 {
		t.Errorf("application's window: %v", w)
	}
	if w, ok := f.Value("implied_window"); !ok || math.Abs(w/(2<<20)-1) > 0.1 {
		t.Errorf("implied window: %v", w)
	}
	if w, ok := f.Value("tcp_windows"); !ok || w < 4<<20 {
		t.Errorf("TCP's windows: %v", w)
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
