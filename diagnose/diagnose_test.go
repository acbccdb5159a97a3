package diagnose

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

const (
	ms   = time.Millisecond
	mbps = unit.Mbps
)

// scenes are the cases that the manual describes, each with the verdict it must
// get.
var scenes = []struct {
	name  string
	scene scene
	want  string
	sure  float64 // least confidence of the verdict
}{
	{"california to uk: receiver's maximum of Linux 2.4",
		scene{goodput: 2.32 * mbps, rtt: 150 * ms, window: 43690, inflight: 43690, cwnd: 90000, rwnd: 0.99, recvBuf: 87380, rmem: "4096 65536 87380", notsent: true},
		ReceiverBuffer, 0.9},
	{"the same under BBR, whose pacing hides the window from the kernel's clock",
		scene{goodput: 2.32 * mbps, rtt: 150 * ms, window: 43690, inflight: 43440, cwnd: 90000, rwnd: 0.05, congestion: "bbr", recvBuf: 87380, rmem: "4096 65536 87380", notsent: true},
		ReceiverBuffer, 0.9},
	{"four streams, each with its own small window",
		scene{goodput: 9.3 * mbps, rtt: 150 * ms, streams: 4, window: 43690, inflight: 43690, cwnd: 90000, rwnd: 0.99, recvBuf: 87380, rmem: "4096 65536 87380", notsent: true},
		ReceiverBuffer, 0.9},
	{"the receiver's host does not tell",
		scene{goodput: 2.32 * mbps, rtt: 150 * ms, window: 43690, inflight: 43690, cwnd: 90000, rwnd: 0.99, recvBuf: 87380, nofacts: true, assumed: true, notsent: true},
		ReceiverBuffer, 0.75},
	{"the application fixes SO_RCVBUF",
		scene{goodput: 5.6 * mbps, rtt: 150 * ms, window: 106496, inflight: 106496, cwnd: 300000, rwnd: 0.99, recvBuf: 212992, spec: bulk.Spec{RecvBuf: 106496}, notsent: true},
		ReceiverBuffer, 0.9},
	{"autotuning of the receiver is off",
		scene{goodput: 3.5 * mbps, rtt: 150 * ms, window: 65536, inflight: 65160, cwnd: 200000, rwnd: 0.98, recvBuf: 131072, receiverSet: map[string]string{"net.ipv4.tcp_moderate_rcvbuf": "0"}, notsent: true},
		ReceiverBuffer, 0.9},
	{"the sender's buffer on a long path",
		scene{goodput: 186 * mbps, rtt: 150 * ms, sndbuf: 0.7, sendBuf: 4194304, recvBuf: 33554432},
		SenderBuffer, 0.9},
	{"the sender's buffer, with BBR",
		scene{goodput: 186 * mbps, rtt: 150 * ms, sndbuf: 0.1, sendBuf: 4194304, congestion: "bbr"},
		SenderBuffer, 0.85},
	{"the sender's buffer, whose host does not report its maximum",
		scene{goodput: 186 * mbps, rtt: 150 * ms, sndbuf: 0.7, sendBuf: 4194304, recvBuf: 33554432, nofacts: true},
		SenderBuffer, 0.75},
	{"the application fixes SO_SNDBUF",
		scene{goodput: 9.3 * mbps, rtt: 150 * ms, sndbuf: 0.8, sendBuf: 212992, spec: bulk.Spec{SendBuf: 106496}},
		SenderBuffer, 0.9},
	{"the receiver does not offer a window scale",
		scene{goodput: 3.49 * mbps, rtt: 150 * ms, window: 65535, inflight: 65160, cwnd: 200000, rwnd: 0.97, recvBuf: 200000, options: bulk.OptTimestamps | bulk.OptSACK, receiverSet: map[string]string{"net.ipv4.tcp_window_scaling": "0"}, notsent: true},
		WindowScale, 0.85},
	{"a firewall strips the window scale",
		scene{goodput: 3.49 * mbps, rtt: 150 * ms, window: 65535, inflight: 65160, cwnd: 200000, rwnd: 0.97, recvBuf: 200000, options: bulk.OptTimestamps | bulk.OptSACK, notsent: true},
		WindowScale, 0.85},
	{"full: 1 Gb/s of packets is 965 Mb/s of payload",
		scene{goodput: 950 * mbps, rtt: 190 * ms, minRTT: 150 * ms, cwnd: 23 << 20, inflight: 22 << 20, lossEvery: 40000, notsent: true},
		Healthy, 0.85},
	{"just enough window for a full path is healthy",
		scene{goodput: 955 * mbps, rtt: ms, inflight: 119000, window: 120000, rwnd: 0.9, recvBuf: 240000, rmem: "4096 131072 240000", notsent: true},
		Healthy, 0.85},
	{"full by its queue, capacity not known",
		scene{goodput: 93 * mbps, rtt: 80 * ms, minRTT: 40 * ms, cwnd: 960000, inflight: 930000, lossEvery: 5000, assumed: true, notsent: true},
		PathCapacity, 0.7},
	{"nearly full, with a standing queue, on hosts that are busy",
		scene{goodput: 170 * mbps, rtt: 60 * ms, minRTT: 40 * ms, cwnd: 1280000, inflight: 1270000, capacity: 200 * mbps, busyCore: 0.98, notsent: true},
		PathCapacity, 0.5},
	{"a standing queue, but half of the capacity: others fill it, or a busy host does",
		scene{goodput: 100 * mbps, rtt: 60 * ms, minRTT: 40 * ms, cwnd: 760000, inflight: 750000, capacity: 200 * mbps, busyCore: 0.98, notsent: true},
		CompetingTraffic, 0.5},
	{"one packet in ten thousand is lost on a long path",
		scene{goodput: 21 * mbps, rtt: 150 * ms, cwnd: 400000, inflight: 394000, lossEvery: 10000, counters: map[string]int64{"TcpExt.TCPSackRecovery": 1}, notsent: true},
		RandomLoss, 0.85},
	{"loss, but BBR does not mind it and the path is full",
		scene{goodput: 940 * mbps, rtt: 150 * ms, lossEvery: 200, congestion: "bbr", notsent: true},
		Healthy, 0.85},
	{"CUBIC left slow start early and grows slowly",
		scene{goodput: 200 * mbps, rtt: 150 * ms, cwnd: 3800000, inflight: 3750000, windowGrowth: 1.9, counters: map[string]int64{"TcpExt.TCPHystartDelayDetect": 1}, notsent: true, recvBuf: 16 << 20, sendBuf: 3 << 20},
		ShortTransfer, 0.85},
	{"it ended while the receiver's window was still opening",
		scene{goodput: 50 * mbps, rtt: 150 * ms, window: 940000, inflight: 938000, windowGrowth: 8, rwnd: 0.8, recvBuf: 4 << 20, assumed: true, notsent: true},
		ShortTransfer, 0.7},
	{"the receiving application does not read",
		scene{goodput: 50 * mbps, rtt: 10 * ms, window: 62500, inflight: 62000, unread: 3 << 20, rwnd: 0.95, recvBuf: 6 << 20, rmem: "4096 131072 6291456", notsent: true},
		SlowReceiver, 0.85},
	{"the sending application pauses",
		scene{goodput: 20 * mbps, rtt: 10 * ms, idle: 0.8},
		SlowSender, 0.7},
	{"below capacity, and no sign of why",
		scene{goodput: 400 * mbps, rtt: 10 * ms, congestion: "bbr", notsent: true},
		Unknown, 0},
	{"an assumed capacity does not make a path healthy",
		scene{goodput: 95 * mbps, rtt: 10 * ms, congestion: "bbr", assumed: true, notsent: true},
		Unknown, 0},
	{"nor does a lower bound",
		scene{goodput: 950 * mbps, rtt: 10 * ms, congestion: "bbr", lowerBound: true, notsent: true},
		Unknown, 0},
}

func TestVerdicts(t *testing.T) {
	var all findings
	for _, c := range scenes {
		d := Diagnose(c.scene.evidence())
		all.add(c.name, d, true)
		t.Run(c.name, func(t *testing.T) {
			if d.Verdict.Cause != c.want || d.Verdict.Confidence < c.sure {
				t.Errorf("verdict %s (%v), want %s (at least %v)", d.Verdict.Cause, d.Verdict.Confidence, c.want, c.sure)
				for _, f := range d.Findings {
					t.Logf("finding %s (%v): %s", f.Cause, f.Confidence, f.Says)
				}
				for _, f := range d.Verdict.Evidence {
					t.Logf("%s: %s", f.Name, f.Says)
				}
			}
		})
	}
	all.check(t)
}

// Both directions read the same evidence, with the ends' parts exchanged.
func TestReverse(t *testing.T) {
	for _, c := range scenes {
		e := c.scene.evidence()
		forward := Diagnose(e)
		e.Direction = bulk.Reverse
		e.Transfer.Client, e.Transfer.Server = e.Transfer.Server, e.Transfer.Client
		if diff := cmp.Diff(forward, Diagnose(e), cmpopts.IgnoreUnexported(Finding{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// The prediction is what the next limit allows, not the path's dream.
func TestPrediction(t *testing.T) {
	receiver := scene{goodput: 2.32 * mbps, rtt: 150 * ms, window: 43690, inflight: 43690, cwnd: 90000, rwnd: 0.99, recvBuf: 87380, rmem: "4096 65536 87380", notsent: true}
	for _, c := range []struct {
		name   string
		change func(*scene)
		want   unit.Rate
	}{
		{"by a send buffer of 4 MiB: 5/6 of it a round trip", func(*scene) {}, 186.4 * mbps},
		{"by a larger one: the path, 1448 of 1500 bytes", func(s *scene) { s.wmem = "4096 16384 67108864" }, 965.3 * mbps},
		{"by the assumed capacity", func(s *scene) { s.wmem, s.assumed = "4096 16384 67108864", true }, 96.5 * mbps},
	} {
		s := receiver
		c.change(&s)
		got := Diagnose(s.evidence()).Verdict
		want := []float64{float64(c.want), float64(c.want / receiver.goodput)}
		if diff := cmp.Diff(want, []float64{float64(got.Predicted), got.Gain}, cmpopts.EquateApprox(0.002, 0)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Who is to blame for a missing window scale depends on both hosts' settings.
func TestWindowScaleBlame(t *testing.T) {
	base := scene{goodput: 3.49 * mbps, rtt: 150 * ms, window: 65535, inflight: 65160, cwnd: 200000, rwnd: 0.97, recvBuf: 200000, options: bulk.OptTimestamps, notsent: true}
	zero := map[string]string{"net.ipv4.tcp_window_scaling": "0"}
	for _, c := range []struct {
		name   string
		change func(*scene)
		want   string
	}{
		{"sender", func(s *scene) { s.senderSet = zero }, "to 1 on the sender"},
		{"receiver", func(s *scene) { s.receiverSet = zero }, "to 1 on the receiver"},
		{"path", func(*scene) {}, "firewall or proxy"},
		{"nobody tells", func(s *scene) { s.nofacts = true }, "on both ends"},
	} {
		s := base
		c.change(&s)
		if v := Diagnose(s.evidence()).Verdict; v.Cause != WindowScale || !strings.Contains(v.Action, c.want) {
			t.Errorf("%s: %s: %q does not mention %q", c.name, v.Cause, v.Action, c.want)
		}
	}
	e := base.evidence()
	e.ReceiverHost = nil
	if v := Diagnose(e).Verdict; !strings.Contains(v.Action, "on both ends") {
		t.Errorf("the receiver does not tell: %s", v.Action)
	}
}

func TestNothingMeasured(t *testing.T) {
	died := scene{goodput: 1 * mbps, rtt: ms}.evidence()
	died.Transfer.Client.Streams, died.Transfer.Server.Streams = nil, nil
	died.Transfer.Server.Error = "connection reset by peer\x1b[2J"
	untimed := scene{goodput: 20 * mbps, unprobed: true}.evidence()
	eachSample(&untimed.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.RTT, s.MinRTT = 0, 0 })
	for name, e := range map[string]*Evidence{
		"nothing": nil, "no transfer": {}, "no streams": {Direction: bulk.Forward, Transfer: &bulk.Result{}}, "died": died, "no round trip": untimed,
	} {
		d := Diagnose(e)
		if d.Verdict.Cause != Unknown || d.Verdict.Confidence != 0 || len(d.Findings) != 0 || !strings.Contains(d.Verdict.Says, "left no evidence") {
			t.Errorf("%s: %+v", name, d)
		}
		if wrong := sound(e, &d); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
		if name == "died" && (len(d.Verdict.Evidence) != 1 || !strings.Contains(d.Verdict.Evidence[0].Says, "reset")) {
			t.Errorf("the error is not shown: %+v", d.Verdict.Evidence)
		}
	}
}

func TestLossWindow(t *testing.T) {
	// Ceilings of one flow with MSS 1448, computed from RFC 9438 section 5.1.
	for _, c := range []struct {
		congestion string
		p          float64
		rtt        time.Duration
		want       unit.Rate
	}{
		{"cubic", 1e-5, 10 * ms, 449 * mbps}, {"cubic", 1e-4, 150 * ms, 20 * mbps}, {"cubic", 1e-3, 50 * ms, 9.0 * mbps},
		{"cubic", 1e-6, 150 * ms, 620 * mbps}, {"reno", 1e-4, 150 * ms, 9.42 * mbps}, {"bbr", 1e-2, 150 * ms, unit.Rate(math.Inf(1))},
	} {
		got := unit.Rate(LossWindow(c.congestion, c.p, c.rtt) * 1448 * 8 / c.rtt.Seconds())
		if diff := cmp.Diff(float64(c.want), float64(got), cmpopts.EquateApprox(0.025, 0)); diff != "" {
			t.Errorf("%s, p %v, %v: %s", c.congestion, c.p, c.rtt, diff)
		}
	}
}

// Without loss nothing bounds the window, whether or not a round trip is known.
func TestLossWindowWithoutLoss(t *testing.T) {
	for _, congestion := range []string{"cubic", "reno", "bbr"} {
		for _, rtt := range []time.Duration{0, 150 * ms} {
			if got := LossWindow(congestion, 0, rtt); !math.IsInf(got, 1) {
				t.Errorf("%s, round trip of %v: %v", congestion, rtt, got)
			}
		}
	}
}

func TestConfidence(t *testing.T) {
	for _, c := range []struct {
		agree, contradict int
		want              float64
	}{{0, 0, 0.5}, {1, 0, 0.75}, {3, 0, 0.94}, {0, 1, 0}, {1, 1, 0.5}, {2, 1, 0.75}} {
		if got := confidence(c.agree, c.contradict); got != c.want {
			t.Errorf("%d agree, %d contradict: %v, want %v", c.agree, c.contradict, got, c.want)
		}
	}
}

func TestKnown(t *testing.T) {
	for _, c := range Causes {
		if !Known(c.ID) || c.Means == "" {
			t.Errorf("cause %q is not known or not explained", c.ID)
		}
	}
	if Known("") || Known("gremlins") {
		t.Error("not a cause")
	}
}

// Whatever the two ends claim, the diagnosis is a known cause, in order, with
// finite numbers (JSON has no others), and no crash.
func TestAnyEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1)
		size := rapid.SampledFrom([]unit.Size{0, 1, 1448, 43690, 65535, 1 << 20, 1 << 30})
		s := scene{
			goodput: unit.Rate(rapid.Float64Range(0, 1e11).Draw(t, "goodput")), rtt: time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "rtt")),
			minRTT: time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "minRTT")), congestion: rapid.SampledFrom([]string{"", "cubic", "reno", "bbr"}).Draw(t, "cc"),
			streams: rapid.IntRange(1, 3).Draw(t, "streams"), rwnd: share.Draw(t, "rwnd"), sndbuf: share.Draw(t, "sndbuf"), idle: share.Draw(t, "idle"),
			inflight: size.Draw(t, "inflight"), cwnd: size.Draw(t, "cwnd"), window: size.Draw(t, "window"), windowGrowth: rapid.Float64Range(0, 3).Draw(t, "growth"),
			unread: int(size.Draw(t, "unread")), recvBuf: int(size.Draw(t, "recvBuf")), sendBuf: int(size.Draw(t, "sendBuf")), notsent: rapid.Bool().Draw(t, "notsent"),
			lossEvery: rapid.SampledFrom([]int{0, 1, 10, 10000}).Draw(t, "loss"), options: rapid.Uint8().Draw(t, "options"), shift: rapid.Uint8().Draw(t, "shift"),
			assumed: rapid.Bool().Draw(t, "assumed"), unprobed: rapid.Bool().Draw(t, "unprobed"), nofacts: rapid.Bool().Draw(t, "nofacts"),
			rmem: rapid.SampledFrom([]string{"", "x y z", "4096 65536 87380", "1 2"}).Draw(t, "rmem"),
			spec: bulk.Spec{RecvBuf: int(size.Draw(t, "so_rcvbuf")), SendBuf: int(size.Draw(t, "so_sndbuf"))},
		}
		e := s.evidence()
		if rapid.Bool().Draw(t, "absurd") { // counters that run backwards, and a capacity that is none
			for i := range e.Transfer.Client.Streams[0].Samples {
				e.Transfer.Client.Streams[0].Samples[i].TCP.BusyTime = rapid.Uint64().Draw(t, "busy")
			}
			if e.Path != nil {
				e.Path.Forward.Capacity = path.Capacity{Rate: unit.Rate(math.Inf(1)), High: unit.Rate(math.NaN())}
			}
		}
		d := Diagnose(e)
		if wrong := sound(e, &d); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

// What plan and tune calculate with are fields, and the same figures as in the
// evidence.
func TestFiguresOfEvidence(t *testing.T) {
	seen := map[string]int{}
	for _, c := range scenes {
		for _, f := range Diagnose(c.scene.evidence()).Findings {
			for name, field := range map[string]float64{"path_goodput": float64(f.PathGoodput), "loss_rate_limit": float64(f.LossLimit), "cpu_quota": f.CPUQuota} {
				if value, _ := f.Value(name); value != field {
					t.Errorf("%s: %s has %s = %v among its evidence and %v as a field", c.name, f.Cause, name, value, field)
				}
				if field > 0 {
					seen[name]++
				}
			}
		}
	}
	if seen["path_goodput"] == 0 || seen["loss_rate_limit"] == 0 {
		t.Errorf("seen: %v", seen)
	}
}
