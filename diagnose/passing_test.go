package diagnose

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// scene describes the last seconds of a flow by the figures that matter, so that
// a test shows only what it is about. Defaults are a flow of a 6.18 host that
// sends with CUBIC, data always waiting, with plenty of room everywhere.
type passingScene struct {
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
	unscaled     bool
	samples      int // 0: 75
	congestion   string
}

func (s passingScene) evidence() *Evidence {
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
	e := &Evidence{Direction: bulk.Forward, Transfer: &bulk.Result{}, Passing: &Passing{Program: s.process, Local: 50001, Remote: s.remote}}
	stream := bulk.Stream{Sender: !s.receives, Congestion: s.congestion, Peaks: bulk.Peaks{MaxSndWnd: int64(s.window)}}
	for i := range s.samples + 1 {
		at := time.Duration(i) * every
		bytes := uint64(s.goodput.BytesIn(at))
		replies := uint32(s.answers * float64(at) / float64(s.rtt))
		busy := float64(at.Microseconds()) * s.busy
		window := float64(s.window) * (1 - s.windowMoves*float64(i%3)/2)
		sample := bulk.Sample{At: at, Unread: int(s.unread), Unsent: int(s.inflight), TCP: bulk.TCPInfo{
			Length: s.length, Options: 7, SndWScale: 10, RcvWScale: 10, RTT: micros(s.rtt), RcvRTT: micros(s.rtt), MinRTT: micros(s.minRTT), SndMSS: mss, RcvMSS: mss,
			SndCwnd: uint32(s.cwnd / mss), Unacked: uint32(s.inflight / mss), SndWnd: uint32(window), RcvWnd: uint32(window),
			BusyTime: uint64(busy), RwndLimited: uint64(busy * s.rwnd), SndbufLimited: uint64(busy * s.sndbuf),
			MaxPacingRate: math.MaxUint64, PacingRate: uint64(s.goodput / 8),
		}, Mem: bulk.SockMem{SendBuf: 4 << 20, SendQueued: int(s.inflight), RecvBuf: 6 << 20}}
		if s.receives {
			sample.TCP.BytesReceived, sample.TCP.DataSegsIn, sample.TCP.DataSegsOut = bytes, uint32(bytes/mss), replies
		} else {
			sample.TCP.BytesAcked, sample.TCP.BytesSent, sample.TCP.DataSegsOut, sample.TCP.DataSegsIn = bytes, bytes, uint32(bytes/mss), replies
		}
		if s.unscaled {
			sample.TCP.Options &^= bulk.OptWindowScale
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
			e.Passing.Losses.Add(&stream.Samples[i-1], &sample)
		}
		stream.Samples = append(stream.Samples, sample)
	}
	if s.receives {
		e.Transfer.Server.Streams, e.ReceiverHost = []bulk.Stream{stream}, settings618
	} else {
		e.Transfer.Client.Streams, e.SenderHost = []bulk.Stream{stream}, settings618
	}
	return e
}

// settings618 are a host's with buffers of up to 6 and 4 MiB.
var settings618 = &host.Facts{Tunables: map[string]string{"net.ipv4.tcp_rmem": "4096\t131072\t6291456", "net.ipv4.tcp_wmem": "4096\t16384\t4194304"}}

// scenes are flows as they are met, with what is to be said of them.
var passingScenes = []struct {
	name  string
	scene passingScene
	want  string
	sure  float64 // at least
	says  string  // in the sentences or the action
}{
	{"scp over a long path", passingScene{goodput: 107 * mbps, process: "ssh", remote: 22, supplies: true, answers: 20}, ApplicationWindow, 0.9,
		"ssh: TCP tuning will not help; HPN-SSH or several transfers will"},
	{"ssh with a terminal", passingScene{goodput: 53 * mbps, process: "ssh", remote: 22, supplies: true, answers: 10}, ApplicationWindow, 0.9, "1 MiB"},
	{"sshd on another port sends", passingScene{goodput: 107 * mbps, process: "sshd", remote: 50000, supplies: true, answers: 20}, ApplicationWindow, 0.9, "2 MiB"},
	{"scp, seen where it arrives", passingScene{goodput: 107 * mbps, process: "sshd", receives: true, answers: 20, window: 12 * unit.MiB}, ApplicationWindow, 0.7, "HPN-SSH"},
	{"scp whose window stands in a queue", passingScene{goodput: 50 * mbps, rtt: 320 * ms, minRTT: 150 * ms, process: "ssh", supplies: true, answers: 20}, PathCapacity, 0.5, "queue"},
	{"scp from a slow disk", passingScene{goodput: 20 * mbps, process: "ssh", supplies: true, answers: 10}, SlowSender, 0.5, "for 100 % of the time"},
	{"scp on a LAN", passingScene{goodput: 900 * mbps, rtt: ms, process: "ssh", supplies: true, answers: 1}, SlowSender, 0.5, ""},
	{"HTTP/2 upload to a Go server", passingScene{goodput: 54 * mbps, process: "backup", supplies: true, answers: 8}, ApplicationWindow, 0.8, "HTTP/2"},
	{"HTTP/2 upload to nginx", passingScene{goodput: 3.4 * mbps, process: "curl", remote: 443, supplies: true, answers: 1}, ApplicationWindow, 0.9, "HTTP/2"},
	{"NFS of the kernel", passingScene{goodput: 7 * mbps, process: Kernel, remote: 2049, supplies: true, answers: 1}, ApplicationWindow, 0.9, "NFS"},
	{"a window nobody knows", passingScene{goodput: 20 * mbps, process: "mover", supplies: true, answers: 2}, ApplicationWindow, 0.5, "mover"},
	{"a camera", passingScene{goodput: 8 * mbps, process: "cam", supplies: true}, SlowSender, 0.7, "no TCP setting"},
	{"a program that thinks", passingScene{goodput: 8 * mbps, process: "db", supplies: true, busy: 0.4}, SlowSender, 0.7, "60 %"},
	{"receiver's buffer", passingScene{goodput: 3.4 * mbps, window: 64 * unit.KiB, inflight: 64 * unit.KiB, cwnd: unit.MiB, rwnd: 0.99}, ReceiverBuffer, 0.9, "64 KiB"},
	{"receiver does not read", passingScene{goodput: 3 * mbps, window: 64 * unit.KiB, inflight: 60 * unit.KiB, cwnd: unit.MiB, rwnd: 0.99, windowMoves: 1}, SlowReceiver, 0.7, "reads only"},
	{"this host does not read", passingScene{goodput: 3 * mbps, receives: true, unread: unit.MiB, window: 64 * unit.KiB}, SlowReceiver, 0.7, "on this host"},
	{"loss", passingScene{goodput: 4 * mbps, cwnd: 75 * unit.KiB, lossEvery: 1000}, RandomLoss, 0.5, "policer"},
	{"the same loss with BBR", passingScene{goodput: 400 * mbps, lossEvery: 1000, congestion: "bbr"}, PathCapacity, 0.5, "BBR"},
	{"full path", passingScene{goodput: 90 * mbps, rtt: 60 * ms, minRTT: 30 * ms, cwnd: 660 * unit.KiB}, PathCapacity, 0.8, "queue"},
	{"nothing fits", passingScene{goodput: 90 * mbps, rtt: 30 * ms}, Unknown, 0, "fullbore diagnose"},
	{"receives, and that is all", passingScene{goodput: 90 * mbps, receives: true}, Unknown, 0, "watch the sender"},
	{"Linux 5.3, which does not tell the window", passingScene{goodput: 4 * mbps, length: 224, cwnd: 75 * unit.KiB, lossEvery: 1000}, RandomLoss, 0.5, "policer"},
	{"Linux 5.3, and no sign of anything", passingScene{goodput: 90 * mbps, rtt: 30 * ms, length: 224}, Unknown, 0, "fullbore diagnose"},
	{"Linux 5.3, the window is full for half of the time", passingScene{goodput: 4 * mbps, length: 224, rwnd: 0.5}, Unknown, 0, "watch the receiver"},
	{"receives, all of this host's window", passingScene{goodput: 3.4 * mbps, receives: true, window: 63_000}, ReceiverBuffer, 0.7, "on this host"},
	{"receives, all that can be said without a scale", passingScene{goodput: 3.4 * mbps, receives: true, window: 65535, unscaled: true}, WindowScale, 0.7, "no window scale"},
	{"receives, all that can be said with a small scale", passingScene{goodput: 1700 * mbps, rtt: 300 * ms, receives: true, window: 65535 << 10}, WindowScale, 0.5, "too small"},
	{"receives through a queue", passingScene{goodput: 90 * mbps, rtt: 300 * ms, minRTT: 150 * ms, receives: true}, Unknown, 0, "watch the sender"},
	{"receives half of what can be said without a scale", passingScene{goodput: 1.7 * mbps, receives: true, window: 65535, unscaled: true}, Unknown, 0, "watch the sender"},
	{"receives on Linux 6.1, which does not say what it offers", passingScene{goodput: 90 * mbps, receives: true, length: 232, unread: 100_000}, Unknown, 0, "watch the sender"},
	{"Linux 5.3, the window is full", passingScene{goodput: 4 * mbps, length: 224, rwnd: 0.9}, Unknown, 0, "watch the receiver"},
}

func TestInPassing(t *testing.T) {
	var all findings
	for _, c := range passingScenes {
		got := InPassing(c.scene.evidence())
		all.add(c.name, Diagnosis{Verdict: got, Findings: []Finding{got}}, true)
		t.Run(c.name, func(t *testing.T) {
			if got.Cause != c.want || got.Confidence < c.sure || !strings.Contains(got.Says+" "+got.Action, c.says) {
				t.Errorf("got %s (%v): %s / %s\n%+v", got.Cause, got.Confidence, got.Says, got.Action, got.Evidence)
			}
		})
	}
	all.check(t)
}

// What an scp will do is predicted, and on what that rests is said.
func TestPredictedInPassing(t *testing.T) {
	f := InPassing(passingScenes[0].scene.evidence())
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

// inPassing changes a scene by a figure, and the samples of its one stream.
func inPassing(s passingScene, change func(s *passingScene, x float64), sample func(n int, s *bulk.Sample, x float64)) func(float64) *Evidence {
	return func(x float64) *Evidence {
		changed := s
		if change != nil {
			change(&changed, x)
		}
		e := changed.evidence()
		for _, end := range []*bulk.End{&e.Transfer.Client, &e.Transfer.Server} {
			for i := range end.Streams {
				for n := range end.Streams[i].Samples {
					if sample != nil {
						sample(n, &end.Streams[i].Samples[n], x)
					}
				}
			}
		}
		return e
	}
}

// Both sides of the thresholds that only running flows have.
func TestPassingEdges(t *testing.T) {
	window := passingScene{goodput: 3.4 * mbps, window: 64 * unit.KiB, inflight: 40 * unit.KiB, cwnd: unit.MiB, rwnd: 0.99}
	moves := passingScene{goodput: 3 * mbps, window: 640 * unit.KiB, inflight: 60 * unit.KiB, cwnd: unit.MiB, rwnd: 0.99}
	bbr := window
	bbr.congestion, bbr.rwnd = "bbr", 0.2
	own := passingScene{goodput: 3.4 * mbps, receives: true, window: 63_000}
	scp := passingScene{goodput: 107 * mbps, process: "ssh", remote: 22, supplies: true, answers: 20}
	unknown := scp
	unknown.process, unknown.remote, unknown.goodput = "mover", 50000, 20*mbps
	full := passingScene{goodput: 20 * mbps, supplies: true, sndbuf: 0.6}
	buffer := func(n int, s *bulk.Sample, size float64) { s.Mem.SendBuf, s.Mem.SendQueued = int(size), int(size) }
	believes := passingScene{goodput: 80 * mbps, congestion: "bbr"}
	for _, c := range []struct {
		edge
		want, otherwise string
	}{
		{edge{"the window held it for half of the time", inPassing(window, func(s *passingScene, x float64) { s.rwnd = x }, nil), 0.5, 0.4999}, ReceiverBuffer, Unknown},
		{edge{"BBR: for a fifth of it", inPassing(bbr, func(s *passingScene, x float64) { s.rwnd = x }, nil), 0.2, 0.1999}, ReceiverBuffer, PathCapacity},
		{edge{"BBR: unless its own window is the smaller one", inPassing(bbr, func(s *passingScene, x float64) { s.cwnd = unit.Size(x) * 1448 }, nil), 46, 45}, ReceiverBuffer, PathCapacity},
		{edge{"it shuts in one sample of twenty", inPassing(moves, nil, func(n int, s *bulk.Sample, x float64) {
			if float64(n) > 75-x {
				s.TCP.SndWnd = 1447
			}
		}), 4, 3}, SlowReceiver, ReceiverBuffer},
		{edge{"a window of a segment is not shut", inPassing(moves, nil, func(n int, s *bulk.Sample, x float64) {
			if n > 71 {
				s.TCP.SndWnd = uint32(x)
			}
		}), 1447, 1448}, SlowReceiver, ReceiverBuffer},
		{edge{"it is less than half of what it was", inPassing(moves, func(s *passingScene, x float64) { s.minRTT, s.rtt = 150*ms, 150*ms }, func(n int, s *bulk.Sample, x float64) {
			s.TCP.SndWnd = uint32(x)
		}), 320*1024 - 1, 320 * 1024}, SlowReceiver, ReceiverBuffer},
		{edge{"acknowledgements come a twentieth later", inPassing(moves, func(s *passingScene, x float64) {
			s.minRTT, s.rtt = 100*ms, time.Duration(x)
			s.windowMoves = 0.1
		}, nil), 105.001e6, 105e6}, SlowReceiver, ReceiverBuffer},
		{edge{"or a millisecond", inPassing(moves, func(s *passingScene, x float64) {
			s.minRTT, s.rtt = 10*ms, time.Duration(x)
			s.windowMoves = 0.1
		}, nil), 11.001e6, 11e6}, SlowReceiver, ReceiverBuffer},
		{edge{"more than half of what this host holds is unread", inPassing(own, func(s *passingScene, x float64) { s.unread = unit.Size(x) }, nil), 63_001, 63_000}, SlowReceiver, ReceiverBuffer},
		{edge{"eight tenths of this host's window arrive in a round trip", inPassing(own, func(s *passingScene, x float64) { s.window = unit.Size(x) }, nil), 79_600, 79_800}, ReceiverBuffer, Unknown},
		{edge{"a kernel that says what it offers", inPassing(own, func(s *passingScene, x float64) { s.length = int(x) }, nil), 236, 235}, ReceiverBuffer, Unknown},
		{edge{"without timestamps the two always agree", inPassing(own, nil, func(_ int, s *bulk.Sample, x float64) { s.TCP.Options = uint8(x) }), 7, 6}, ReceiverBuffer, Unknown},
		{edge{"as much as can be said without a scale", inPassing(own, func(s *passingScene, x float64) { s.window = unit.Size(x) }, func(_ int, s *bulk.Sample, x float64) { s.TCP.Options = 3 }), 65535, 65534}, WindowScale, ReceiverBuffer},
		{edge{"all waits in one sample of two", inPassing(unknown, func(s *passingScene, _ float64) { s.samples = 74 }, func(n int, s *bulk.Sample, x float64) {
			if float64(n) > x {
				s.TCP.NotsentBytes = 1 << 20
			}
		}), 37, 36}, ApplicationWindow, Unknown},
		{edge{"it is answered once in two round trips", inPassing(unknown, func(s *passingScene, x float64) { s.answers = x }, nil), 0.5, 0.45}, ApplicationWindow, SlowSender},
		{edge{"the receiver measures a round trip", inPassing(own, nil, func(_ int, s *bulk.Sample, x float64) { s.TCP.RcvRTT = uint32(x) }), 150_000, 0}, ReceiverBuffer, Unknown},
		{edge{"this host's window grows by a twentieth", inPassing(own, nil, func(n int, s *bulk.Sample, x float64) {
			s.TCP.RcvWnd = 60_000
			if n > 56 {
				s.TCP.RcvWnd = uint32(x)
			}
		}), 63_000, 63_001}, ReceiverBuffer, Unknown},
		{edge{"this host offers no window at all", inPassing(own, nil, func(_ int, s *bulk.Sample, x float64) { s.TCP.RcvWnd = uint32(x) }), 63_000, 0}, ReceiverBuffer, Unknown},
		{edge{"a queue holds it all the time, and the window for two thirds of it", inPassing(window, func(s *passingScene, x float64) {
			s.rwnd, s.minRTT = 0, time.Duration(x)
		}, func(n int, s *bulk.Sample, _ float64) {
			if n < 50 {
				s.TCP.Unacked = 44
			}
		}), 150e6, 100e6}, ReceiverBuffer, PathCapacity},
		{edge{"the connection stands empty", inPassing(unknown, func(s *passingScene, x float64) { s.busy = x }, nil), 0.9, 0.89}, ApplicationWindow, SlowSender},
		{edge{"three quarters of ssh's window", inPassing(scp, func(s *passingScene, x float64) { s.goodput = unit.Rate(x) }, nil), 42.1e6, 41.8e6}, ApplicationWindow, SlowSender},
		{edge{"15 % more than ssh's window", inPassing(scp, func(s *passingScene, x float64) { s.goodput = unit.Rate(x) }, nil), 128.5e6, 128.7e6}, ApplicationWindow, SlowSender},
		{edge{"a queue stands", inPassing(scp, func(s *passingScene, x float64) { s.minRTT = time.Duration(x) }, nil), 120e6, 119.9e6}, ApplicationWindow, PathCapacity},
		{edge{"the buffer was full at some time", inPassing(full, func(s *passingScene, x float64) { s.sndbuf = x }, func(n int, s *bulk.Sample, _ float64) { buffer(n, s, 400_000) }), 0.01, 0.0099}, SenderBuffer, SlowSender},
		{edge{"BBR's pace explains the rate", inPassing(believes, nil, func(_ int, s *bulk.Sample, x float64) { s.TCP.PacingRate = uint64(x) }), 7.6e6, 7.5e6}, PathCapacity, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			for x, want := range map[float64]string{c.found: c.want, c.missing: c.otherwise} {
				if f := InPassing(c.of(x)); f.Cause != want {
					t.Errorf("at %v: %s (%v), want %s: %s\n%+v", x, f.Cause, f.Confidence, want, f.Says, f.Evidence)
				}
			}
		})
	}
	// Whether the buffer is at its maximum decides what to do.
	for size, want := range map[float64]string{3_774_874: "third value", 3_774_873: "SO_SNDBUF"} {
		f := InPassing(inPassing(full, nil, func(n int, s *bulk.Sample, _ float64) { buffer(n, s, size) })(0))
		if f.Cause != SenderBuffer || !strings.Contains(f.Action, want) {
			t.Errorf("a buffer of %v: %s: %s", size, f.Cause, f.Action)
		}
	}
	for size, want := range map[float64]string{5_662_311: "third value", 5_662_310: "SO_RCVBUF"} {
		f := InPassing(inPassing(own, nil, func(_ int, s *bulk.Sample, _ float64) { s.Mem.RecvBuf = int(size) })(0))
		if f.Cause != ReceiverBuffer || !strings.Contains(f.Action, want) {
			t.Errorf("a buffer of %v: %s: %s", size, f.Cause, f.Action)
		}
	}
}

// A look in passing is never as sure as a measurement, and least of all of loss.
func TestPassingIsNeverSure(t *testing.T) {
	for _, c := range passingScenes {
		f := InPassing(c.scene.evidence())
		if f.Confidence > sureAtMost || f.Cause == RandomLoss && f.Confidence > untried {
			t.Errorf("%s: %s %v", c.name, f.Cause, f.Confidence)
		}
		if f.Gain != 1 && (f.Gain != 2 || f.Predicted <= c.scene.goodput) {
			t.Errorf("%s: predicts %v, factor %v", c.name, f.Predicted, f.Gain)
		}
	}
}

// A receiver whose host does not report its maximum is not said to have reached it.
func TestOwnBufferOfUnknownMaximum(t *testing.T) {
	e := passingScene{goodput: 3.4 * mbps, receives: true, window: 63_000}.evidence()
	e.ReceiverHost = nil
	if f := InPassing(e); f.Cause != ReceiverBuffer || !strings.Contains(f.Action, "SO_RCVBUF") {
		t.Errorf("%s: %s", f.Cause, f.Action)
	}
}

// A flow of which nothing was seen yet, or that has only just begun.
func TestPassingTooEarly(t *testing.T) {
	for _, receives := range []bool{false, true} {
		e := passingScene{goodput: 90 * mbps, receives: receives}.evidence()
		for _, end := range []*bulk.End{&e.Transfer.Client, &e.Transfer.Server} {
			for i := range end.Streams {
				end.Streams[i].Samples = nil
			}
		}
		f := InPassing(e)
		if f.Cause != Unknown || f.Gain != 1 {
			t.Errorf("receives %v: %+v", receives, f)
		}
		if rate, known := f.Value("goodput"); rate != 0 || !known {
			t.Errorf("receives %v: goodput %v (%v)", receives, rate, known)
		}
		if window, known := f.Value("window"); known {
			t.Errorf("receives %v: it offers a window of %v", receives, window)
		}
	}
	e := passingScene{goodput: 90 * mbps, cwnd: 2 * unit.MiB}.evidence()
	samples := e.Transfer.Client.Streams[0].Samples
	for i := range samples {
		s := &samples[i].TCP
		s.BytesAcked = uint64(i * i * 10_000)
		s.SndCwnd, s.SndWnd = s.SndCwnd*uint32(i+1)/10, s.SndWnd*uint32(i+1)/10
	}
	f := InPassing(e)
	if f.Cause != Unknown || !strings.Contains(f.Says, "still getting faster") {
		t.Errorf("%s: %s", f.Cause, f.Says)
	}
	for _, name := range []string{"goodput", "rtt", "busy", "cwnd_full"} {
		if _, known := f.Value(name); !known {
			t.Errorf("%s is not among the evidence of a flow that has just begun", name)
		}
	}
}

// A flow that stands still because of a window predicts nothing: twice of nothing is
// nothing.
func TestPassingStandsStill(t *testing.T) {
	e := passingScene{goodput: 3.4 * mbps, window: 64 * unit.KiB, inflight: 64 * unit.KiB, cwnd: unit.MiB, rwnd: 0.99}.evidence()
	eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.BytesAcked, s.BytesSent = 0, 0 })
	if f := InPassing(e); f.Cause != ReceiverBuffer || f.Gain != 1 || f.Predicted != 0 {
		t.Errorf("%s, factor %v, then %v", f.Cause, f.Gain, f.Predicted)
	}
}

// BBR's pace is the path's only where the receiver's window is not what BBR took for it.
func TestBelievesFull(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*passingScene)
		want   bool
	}{
		{"it paces at what is delivered", func(*passingScene) {}, true},
		{"the connection stands empty at times", func(s *passingScene) { s.busy = 0.8 }, false},
		{"the window is the smaller one, and full for a fifth of the time", func(s *passingScene) { s.rwnd, s.window = 0.2, 2*s.inflight }, false},
		{"for less", func(s *passingScene) { s.rwnd, s.window = 0.19, 2*s.inflight }, true},
	} {
		s := passingScene{goodput: 80 * mbps, congestion: "bbr", inflight: 1_500_000, cwnd: 4_500_000}
		c.change(&s)
		if got := newView(s.evidence()).believesFull(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
