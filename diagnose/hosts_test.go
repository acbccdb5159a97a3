package diagnose

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// hostScene is a scene with what both hosts tell of themselves.
type hostScene struct {
	name  string
	scene scene
	hosts func(*Evidence)
	want  string
	sure  float64 // least confidence of the verdict
}

func checkHostScenes(t *testing.T, scenes []hostScene) {
	t.Helper()
	var all findings
	for _, c := range scenes {
		e := c.scene.evidence()
		c.hosts(e)
		d := Diagnose(e)
		all.add(c.name, d, true)
		t.Run(c.name, func(t *testing.T) {
			if d.Verdict.Cause != c.want || d.Verdict.Confidence < c.sure {
				t.Errorf("want %s (at least %v):\n%s", c.want, c.sure, words(d))
			}
			e.Direction = bulk.Reverse
			e.Transfer.Client, e.Transfer.Server = e.Transfer.Server, e.Transfer.Client
			if e.Path != nil {
				e.Path.Forward, e.Path.Reverse = e.Path.Reverse, e.Path.Forward
			}
			if got := Diagnose(e).Verdict; got.Cause != d.Verdict.Cause || got.Confidence != d.Verdict.Confidence {
				t.Errorf("the other way round it is %s (%v)", got.Cause, got.Confidence)
			}
		})
	}
	all.check(t)
}

// wired gives both hosts one interface, and the receiver's what it counted.
func wired(e *Evidence, counted host.LinkCounters) {
	link(e, sender, host.Interface{Name: "eth0", Speed: 1000, Duplex: "full", Autoneg: "on"}, host.LinkCounters{})
	link(e, receiver, host.Interface{Name: "eth0", Speed: 1000, Duplex: "full", Autoneg: "on"}, counted)
}

// link gives a host an interface that carried the transfer.
func link(e *Evidence, at side, i host.Interface, c host.LinkCounters) {
	facts, end := e.ReceiverHost, &e.Transfer.Server
	if at == sender {
		facts, end = e.SenderHost, &e.Transfer.Client
	}
	if facts != nil {
		facts.Interfaces = append(facts.Interfaces, i)
	}
	end.Links = append(end.Links, host.LinkDelta{Name: i.Name, Used: true, LinkCounters: c})
}

// cores says how a host's processors spent ten seconds.
func cores(end *bulk.End, used, quota, throttled, busy, softirq float64) {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	end.CPU = bulk.CPU{Elapsed: 10 * time.Second, System: seconds(10 * used), Quota: quota, Throttled: seconds(10 * throttled),
		Cores: []bulk.Core{{ID: 0, Busy: busy, SoftIRQ: softirq}, {ID: 1, Busy: 0.1}}}
}

// Whatever hosts claim, a diagnosis is complete, finite and in order.
func TestAnyHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.SampledFrom([]int64{0, 1, 3, 1000, 1 << 62, -5})
		share := rapid.SampledFrom([]float64{0, 0.1, 0.5, 0.95, 1, 7, -1})
		size := rapid.SampledFrom([]unit.Size{0, 1448, 43690, 1 << 20})
		e := scene{
			goodput: rapid.SampledFrom([]unit.Rate{1, 5 * mbps, 90 * mbps, 950 * mbps}).Draw(t, "goodput"), rtt: 10 * ms,
			congestion: rapid.SampledFrom([]string{"cubic", "bbr"}).Draw(t, "congestion"),
			rwnd:       rapid.Float64Range(0, 1).Draw(t, "rwnd"), idle: rapid.Float64Range(0, 1).Draw(t, "idle"),
			inflight: size.Draw(t, "inflight"), unread: int(size.Draw(t, "unread")), lossEvery: rapid.SampledFrom([]int{0, 1, 100, 10000}).Draw(t, "loss"),
			capacity: rapid.SampledFrom([]unit.Rate{10 * mbps, 100 * mbps, 1000 * mbps}).Draw(t, "capacity"),
			assumed:  rapid.Bool().Draw(t, "assumed"), unprobed: rapid.Bool().Draw(t, "unprobed"), nofacts: rapid.Bool().Draw(t, "nofacts"),
			streams: rapid.IntRange(1, 3).Draw(t, "streams"), notsent: rapid.Bool().Draw(t, "notsent"),
		}.evidence()
		for _, at := range bothSides {
			i := host.Interface{
				Name: "eth0", Speed: int(count.Draw(t, "speed")), Duplex: rapid.SampledFrom([]string{"", "half", "full"}).Draw(t, "duplex"),
				Autoneg: rapid.SampledFrom([]string{"", "on", "off"}).Draw(t, "autoneg"), Offloads: map[string]bool{"tso": rapid.Bool().Draw(t, "tso")},
				Qdiscs: []host.Qdisc{{Kind: "tbf", Rate: rapid.SampledFrom([]unit.Rate{0, -1, 1, 5 * mbps, 100 * mbps, 1e30}).Draw(t, "rate"), PerFlow: rapid.Bool().Draw(t, "per flow")}},
			}
			link(e, at, i, host.LinkCounters{CRC: count.Draw(t, "crc"), LateCollisions: count.Draw(t, "late"), RxMissed: count.Draw(t, "missed"), CarrierChanges: count.Draw(t, "flaps")})
			end := (&view{Evidence: e}).end(at)
			cores(end, share.Draw(t, "used"), share.Draw(t, "quota"), share.Draw(t, "throttled"), share.Draw(t, "busy"), share.Draw(t, "softirq"))
			end.Memory = &host.TCPMemory{Used: count.Draw(t, "memory"), Pressure: count.Draw(t, "pressure")}
			end.Counters = map[string]int64{"Tcp.InCsumErrors": count.Draw(t, "checksums"), pressures: count.Draw(t, "pressures"), pressureTime: count.Draw(t, "chrono"), "TcpExt.TCPSackRecovery": count.Draw(t, "recoveries")}
		}
		for i := range e.Transfer.Client.Streams {
			samples := e.Transfer.Client.Streams[i].Samples
			samples[len(samples)-1].TCP.MaxPacingRate = rapid.SampledFrom([]uint64{0, 1, 600_000, 1<<64 - 1}).Draw(t, "max pacing")
		}
		d := Diagnose(e)
		if wrong := sound(e, &d); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

// Real transfers between Linux 6.18 hosts in the lab, as both ends recorded them:
// hosts that may use 2 % of a processor, a shaper of 30 Mb/s, a path that
// corrupts 0.3 % of packets, and a receiver that is held back half of the time
// without harm.
func TestRecordedHosts(t *testing.T) {
	want := map[string]string{
		"sender-cpu": SenderCPU, "receiver-cpu": ReceiverCPU, "pacing-cap": PacingCap, "link-errors": LinkErrors, "held-back-but-full": Healthy,
	}
	var all findings
	for _, name := range slices.Sorted(maps.Keys(want)) {
		d := Diagnose(read(t, "testdata/hosts/"+name+".json"))
		all.add(name, d, true)
		t.Run(name, func(t *testing.T) {
			if d.Verdict.Cause != want[name] || d.Verdict.Confidence < 0.9 {
				t.Errorf("want %s:\n%s", want[name], words(d))
			}
		})
	}
	all.check(t)
}
