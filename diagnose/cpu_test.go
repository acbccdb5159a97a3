package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/host"
)

// A sender that runs dry, and a receiver that does not read.
var (
	runsDry  = scene{goodput: 40 * mbps, rtt: 10 * ms, sendBuf: 400000}
	doesRead = scene{goodput: 50 * mbps, rtt: 10 * ms, window: 117000, inflight: 110000, unread: 3 << 20, rwnd: 0.9, recvBuf: 6 << 20, rmem: "4096 131072 6291456", notsent: true}
)

func TestCPU(t *testing.T) {
	full := scene{goodput: 960 * mbps, rtt: 12 * ms, minRTT: 10 * ms, notsent: true}
	windowed := scene{goodput: 2.32 * mbps, rtt: 150 * ms, window: 43690, inflight: 43690, cwnd: 90000, rwnd: 0.99, recvBuf: 87380, rmem: "4096 65536 87380", notsent: true}
	fast := scene{goodput: 9000 * mbps, rtt: ms / 5, capacity: 40_000 * mbps, sendBuf: 4 << 20}
	drops := scene{goodput: 9000 * mbps, rtt: ms / 5, capacity: 40_000 * mbps, notsent: true, lossEvery: 9000, congestion: "bbr"}
	checkHostScenes(t, []hostScene{
		{"the sender's quota is used up and it runs dry", runsDry, func(e *Evidence) { cores(&e.Transfer.Client, 0.1, 0.1, 0.72, 0.8, 0) }, SenderCPU, 0.9},
		{"it is held back most of the time, and what it has written in its turn looks like a full buffer", runsDry, func(e *Evidence) {
			cores(&e.Transfer.Client, 0.1, 0.1, 0.89, 0.8, 0)
			e.SenderHost = nil // how large its buffer may get is not known
			for i := range e.Transfer.Client.Streams {
				for n := range e.Transfer.Client.Streams[i].Samples {
					e.Transfer.Client.Streams[i].Samples[n].Mem.SendQueued = 390000
				}
			}
		}, SenderCPU, 0.9},
		{"it runs dry, but has time left: the disk, not the CPU", runsDry, func(e *Evidence) { cores(&e.Transfer.Client, 0.03, 0.1, 0, 0.2, 0) }, SlowSender, 0.75},
		{"it runs dry beside another busy process", runsDry, func(e *Evidence) { cores(&e.Transfer.Client, 0.03, 0, 0, 1, 0) }, SlowSender, 0.75},
		{"the receiver's quota is used up and data waits for it", doesRead, func(e *Evidence) { cores(&e.Transfer.Server, 0.1, 0.1, 0.73, 0.9, 0) }, ReceiverCPU, 0.9},
		{"data waits, but the receiver has time left", doesRead, func(e *Evidence) { cores(&e.Transfer.Server, 0.02, 0.1, 0, 0.9, 0) }, SlowReceiver, 0.85},
		{"the sender's thread keeps a core busy", fast, func(e *Evidence) { cores(&e.Transfer.Client, 0.98, 0, 0, 1, 0.01) }, SenderCPU, 0.9},
		{"the receiver's thread does", doesRead, func(e *Evidence) { cores(&e.Transfer.Server, 0.97, 0, 0, 0.99, 0.1) }, ReceiverCPU, 0.9},
		{"one core drowns in packets, and the ring runs over", drops, func(e *Evidence) {
			wired(e, host.LinkCounters{RxMissed: 4000})
			cores(&e.Transfer.Server, 0.4, 0, 0, 0.98, 0.93)
		}, ReceiverCPU, 0.75},
		{"a core drowns in packets and none is lost for it", drops, func(e *Evidence) {
			wired(e, host.LinkCounters{})
			cores(&e.Transfer.Server, 0.4, 0, 0, 1, 0.93)
		}, Unknown, 0},
		{"held back most of the time, and yet the path is full: it reads more at once", full, func(e *Evidence) {
			cores(&e.Transfer.Client, 0.1, 0.1, 0.95, 1, 0)
			cores(&e.Transfer.Server, 0.1, 0.1, 0.95, 1, 0)
		}, Healthy, 0.85},
		{"both cores are busy, and the window is small", windowed, func(e *Evidence) {
			cores(&e.Transfer.Client, 0.1, 0, 0, 1, 0.5)
			cores(&e.Transfer.Server, 0.1, 0, 0, 1, 0.5)
		}, ReceiverBuffer, 0.9},
	})
}

// With a core of its own for each stream, a byte costs what it costs now.
func TestCPUPrediction(t *testing.T) {
	for _, c := range []struct {
		name  string
		used  float64
		quota float64
		want  float64 // Mb/s
	}{
		{"a tenth of a core makes 40 Mb/s, a core ten times as much", 0.1, 0.1, 400},
		{"half a core: twice as much", 0.5, 0.5, 80},
		{"there the path is full", 0.02, 0.02, 965.3},
	} {
		e := runsDry.evidence()
		cores(&e.Transfer.Client, c.used, c.quota, 0.8, 0.9, 0)
		got := Diagnose(e).Verdict
		if got.Cause != SenderCPU || !cmp.Equal(c.want, float64(got.Predicted)/1e6, cmpopts.EquateApprox(0.01, 0)) {
			t.Errorf("%s: %s, then %v", c.name, got.Cause, got.Predicted)
		}
	}
}

// Offloads that are off are no cause, but part of what to do when a core has no
// time.
func TestOffloads(t *testing.T) {
	e := runsDry.evidence()
	link(e, sender, host.Interface{Name: "eth0", Driver: "igb", Offloads: map[string]bool{"tx": true, "sg": true, "tso": false, "gso": false, "gro": false}}, host.LinkCounters{})
	cores(&e.Transfer.Client, 0.5, 0.5, 0.5, 0.9, 0)
	got := Diagnose(e).Verdict
	if n, ok := got.Value("offloads_off"); !ok || n != 2 || !strings.Contains(got.Action, "ethtool -K") {
		t.Errorf("%v offloads are off: %s", n, got.Action)
	}
	cores(&e.Transfer.Client, 0.02, 0, 0, 0.1, 0)
	if got := Diagnose(e).Verdict; strings.Contains(got.Action, "ethtool") {
		t.Errorf("an idle processor: %s", got.Action)
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.00123: "0.12 %", 0.6: "60 %", 0.994: "99 %", 0.995: "100 %", 1: "100 %"} {
		if got := percent(share); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
}
