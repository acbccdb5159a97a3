package diagnose

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// One packet in ten thousand is lost on a long path: 17 in eleven seconds.
var lossyPath = scene{goodput: 21 * mbps, rtt: 150 * ms, cwnd: 400000, inflight: 394000, lossEvery: 1200, notsent: true,
	counters: map[string]int64{"TcpExt.TCPSackRecovery": 16}}

func TestLinkErrors(t *testing.T) {
	unscathed := lossyPath
	unscathed.goodput, unscathed.congestion, unscathed.cwnd, unscathed.inflight = 950*mbps, "bbr", 0, 0
	windowed := scene{goodput: 2.32 * mbps, rtt: 150 * ms, window: 43690, inflight: 43690, cwnd: 90000, rwnd: 0.99, recvBuf: 87380, rmem: "4096 65536 87380", notsent: true}
	checkHostScenes(t, []hostScene{
		{"frames with a wrong checksum", lossyPath, func(e *Evidence) { wired(e, host.LinkCounters{CRC: 14, RxErrors: 14}) }, LinkErrors, 0.9},
		{"codes that mean nothing, in the driver's count alone", lossyPath, func(e *Evidence) { wired(e, host.LinkCounters{Symbol: 17}) }, LinkErrors, 0.9},
		{"segments with a wrong checksum in whole frames", lossyPath, func(e *Evidence) {
			wired(e, host.LinkCounters{})
			e.Transfer.Server.Counters = map[string]int64{"Tcp.InCsumErrors": 15}
		}, LinkErrors, 0.9},
		{"the same, and the hosts do not tell of their interfaces", lossyPath, func(e *Evidence) {
			e.SenderHost, e.ReceiverHost = nil, nil
			e.Transfer.Server.Counters = map[string]int64{"Tcp.InCsumErrors": 15}
		}, LinkErrors, 0.9},
		{"frames both ways", lossyPath, func(e *Evidence) {
			wired(e, host.LinkCounters{CRC: 16})
			e.Transfer.Client.Links[0].CRC = 3
		}, LinkErrors, 0.9},
		{"as often damaged as down", lossyPath, func(e *Evidence) { wired(e, host.LinkCounters{CRC: 4, CarrierChanges: 4}) }, LinkErrors, 0.85},
		{"the link goes down and comes up again", lossyPath, func(e *Evidence) { wired(e, host.LinkCounters{CarrierChanges: 4}) }, LinkErrors, 0.85},
		{"two bad frames do not explain sixteen losses", lossyPath, func(e *Evidence) { wired(e, host.LinkCounters{CRC: 2}) }, RandomLoss, 0.75},
		{"errors of another kind: no room in the ring", lossyPath, func(e *Evidence) { wired(e, host.LinkCounters{RxErrors: 40, RxMissed: 40}) }, RandomLoss, 0.75},
		{"of an interface that did not carry it", lossyPath, func(e *Evidence) {
			wired(e, host.LinkCounters{})
			e.Transfer.Server.Links = append(e.Transfer.Server.Links, host.LinkDelta{Name: "eth1", LinkCounters: host.LinkCounters{CRC: 90}})
		}, RandomLoss, 0.75},
		{"of the ACKs only", lossyPath, func(e *Evidence) {
			wired(e, host.LinkCounters{})
			e.Transfer.Client.Links[0].CRC = 30
		}, RandomLoss, 0.75},
		{"BBR does not mind, and the path is full", unscathed, func(e *Evidence) { wired(e, host.LinkCounters{CRC: 900}) }, Healthy, 0.85},
		{"bad frames beside a small window", windowed, func(e *Evidence) { wired(e, host.LinkCounters{CRC: 20}) }, ReceiverBuffer, 0.9},
	})
}

// What to do depends on where the damage was seen; and it is said although it
// does no harm.
func TestLinkErrorsAction(t *testing.T) {
	e := lossyPath.evidence()
	wired(e, host.LinkCounters{CRC: 16})
	if d := Diagnose(e).Verdict; !strings.Contains(d.Action, "cable") || !strings.Contains(d.Action, "eth0 of the receiver") || d.Gain < 5 {
		t.Errorf("%s (gain %v)", d.Action, d.Gain)
	}
	e = lossyPath.evidence()
	e.Transfer.Server.Counters = map[string]int64{"Tcp.InCsumErrors": 16}
	if d := Diagnose(e).Verdict; !strings.Contains(d.Action, "device that damages packets") {
		t.Error(d.Action)
	}
	e.Transfer.Server.Links = []host.LinkDelta{{Name: "eth0\x1b[2J", Used: true, LinkCounters: host.LinkCounters{CRC: 1}}}
	if d := Diagnose(e).Verdict; strings.Contains(d.Action, "\x1b") {
		t.Errorf("%q", d.Action)
	}
}

func TestDuplexMismatch(t *testing.T) {
	// 100 Mb/s between two rooms: what PAM 2005 describes.
	collapsed := scene{goodput: 6 * mbps, rtt: 2 * ms, capacity: 97 * mbps, inflight: 6000, cwnd: 6400, lossEvery: 60, notsent: true}
	slower, beyond := collapsed, collapsed
	slower.goodput, beyond.capacity = mbps, 1000*mbps
	normal := scene{goodput: 93 * mbps, rtt: 6 * ms, minRTT: 2 * ms, capacity: 97.5 * mbps, cwnd: 70000, inflight: 69000, lossEvery: 30000, notsent: true}
	fast := func(duplex, autoneg string) host.Interface {
		return host.Interface{Name: "eth0", Speed: 100, Duplex: duplex, Autoneg: autoneg}
	}
	checkHostScenes(t, []hostScene{
		{"the half-duplex side sends and counts late collisions", collapsed, func(e *Evidence) {
			link(e, sender, fast("half", "on"), host.LinkCounters{Collisions: 4000, LateCollisions: 310, TxErrors: 310})
			link(e, receiver, fast("full", "on"), host.LinkCounters{})
		}, DuplexMismatch, 0.9},
		{"the half-duplex side receives", collapsed, func(e *Evidence) {
			link(e, sender, fast("full", "on"), host.LinkCounters{})
			link(e, receiver, fast("half", "on"), host.LinkCounters{LateCollisions: 12})
		}, DuplexMismatch, 0.9},
		{"only half duplex is known", collapsed, func(e *Evidence) {
			link(e, sender, fast("half", "on"), host.LinkCounters{})
			link(e, receiver, fast("full", "on"), host.LinkCounters{})
		}, DuplexMismatch, 0.75},
		{"the fixed full-duplex side counts frames that were cut off", collapsed, func(e *Evidence) {
			link(e, sender, fast("full", "on"), host.LinkCounters{})
			link(e, receiver, fast("full", "off"), host.LinkCounters{CRC: 90, Frame: 10, Length: 60})
		}, DuplexMismatch, 0.75},
		{"half duplex on both sides, and it collapses", collapsed, func(e *Evidence) {
			link(e, sender, fast("half", "on"), host.LinkCounters{})
			link(e, receiver, fast("half", "on"), host.LinkCounters{})
		}, DuplexMismatch, 0.75},
		{"at 10 Mb/s", slower, func(e *Evidence) {
			link(e, sender, host.Interface{Name: "eth0", Speed: 10, Duplex: "half"}, host.LinkCounters{LateCollisions: 12})
			link(e, receiver, fast("full", "on"), host.LinkCounters{})
		}, DuplexMismatch, 0.9},
		{"the speed is not known: Fast Ethernet at most", beyond, func(e *Evidence) {
			link(e, sender, host.Interface{Name: "eth0", Duplex: "half"}, host.LinkCounters{LateCollisions: 12})
			link(e, receiver, fast("full", "on"), host.LinkCounters{})
		}, DuplexMismatch, 0.9},
		{"pieces of frames, but at 1 Gb/s both sides always negotiate", collapsed, func(e *Evidence) {
			link(e, sender, fast("full", "on"), host.LinkCounters{})
			link(e, receiver, host.Interface{Name: "eth0", Speed: 1000, Duplex: "full", Autoneg: "off"}, host.LinkCounters{CRC: 90, Frame: 80, Length: 60})
		}, LinkErrors, 0.9},
		{"pieces of frames, and nobody knows how fast the link is", collapsed, func(e *Evidence) {
			link(e, sender, fast("full", "on"), host.LinkCounters{})
			link(e, receiver, host.Interface{Name: "eth0", Duplex: "full", Autoneg: "off"}, host.LinkCounters{CRC: 90, Frame: 80, Length: 60})
		}, LinkErrors, 0.9},
		{"pieces of frames at a side that negotiated full duplex", collapsed, func(e *Evidence) {
			link(e, sender, fast("full", "on"), host.LinkCounters{})
			link(e, receiver, fast("full", "on"), host.LinkCounters{CRC: 90, Frame: 80, Length: 60})
		}, LinkErrors, 0.9},
		{"short frames, and none that is damaged", collapsed, func(e *Evidence) {
			link(e, sender, fast("full", "on"), host.LinkCounters{})
			link(e, receiver, fast("full", "off"), host.LinkCounters{Length: 60})
		}, RandomLoss, 0.5},
		{"fixed as well, but whole frames are damaged: a cable", collapsed, func(e *Evidence) {
			link(e, sender, fast("full", "on"), host.LinkCounters{})
			link(e, receiver, fast("full", "off"), host.LinkCounters{CRC: 90})
		}, LinkErrors, 0.9},
		{"a hub: half duplex on both sides and no late collisions, and all is well", normal, func(e *Evidence) {
			link(e, sender, fast("half", "on"), host.LinkCounters{Collisions: 900})
			link(e, receiver, fast("half", "on"), host.LinkCounters{Collisions: 700})
		}, Healthy, 0.85},
		{"fixed on both sides", normal, func(e *Evidence) {
			link(e, sender, fast("full", "off"), host.LinkCounters{})
			link(e, receiver, fast("full", "off"), host.LinkCounters{})
		}, Healthy, 0.85},
	})
}

// Without facts the symptoms make a hint and no verdict.
func TestDuplexMismatchHint(t *testing.T) {
	e := scene{goodput: 6 * mbps, rtt: 2 * ms, capacity: 97 * mbps, inflight: 6000, cwnd: 6400, lossEvery: 60, notsent: true, nofacts: true}.evidence()
	d := Diagnose(e)
	if d.Verdict.Cause == DuplexMismatch {
		t.Error("symptoms alone make a verdict")
	}
	found := false
	for _, f := range d.Findings {
		found = found || f.Cause == DuplexMismatch && f.Confidence < Doubtful
	}
	if !found {
		t.Errorf("there is no hint:\n%s", words(d))
	}
	// As long as one host does not report itself or the interface in use.
	for name, c := range map[string]struct {
		hide func(*Evidence)
		want bool
	}{
		"both report":                        {func(*Evidence) {}, false},
		"the sender does not":                {func(e *Evidence) { e.SenderHost = nil }, true},
		"the receiver does not":              {func(e *Evidence) { e.ReceiverHost = nil }, true},
		"the sender's interface is hidden":   {func(e *Evidence) { e.Transfer.Client.Links = nil }, true},
		"the receiver's interface is hidden": {func(e *Evidence) { e.Transfer.Server.Links[0].Used = false }, true},
	} {
		e := scene{goodput: 6 * mbps, rtt: 2 * ms, capacity: 97 * mbps, inflight: 6000, cwnd: 6400, lossEvery: 60, notsent: true}.evidence()
		link(e, sender, host.Interface{Name: "eth0", Speed: 100, Duplex: "full"}, host.LinkCounters{})
		link(e, receiver, host.Interface{Name: "eth0", Speed: 100, Duplex: "full"}, host.LinkCounters{})
		c.hide(e)
		if got := newView(e).perhapsMismatch() != nil; got != c.want {
			t.Errorf("%s: a hint %v, want %v", name, got, c.want)
		}
	}
	e.Path.Forward.Capacity.Rate, e.Path.Forward.Capacity.High = unit.Gbps, unit.Gbps
	for _, f := range Diagnose(e).Findings {
		if f.Cause == DuplexMismatch {
			t.Error("at 1 Gb/s there is no half duplex")
		}
	}
}
