package diagnose

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// shapedBy puts a queue with a rate before the sender's interface.
func shapedBy(kind string, rate unit.Rate, perFlow bool) func(*Evidence) {
	return func(e *Evidence) {
		queue := host.Qdisc{Kind: kind, Handle: "1:", Parent: "root", Rate: rate, PerFlow: perFlow}
		link(e, sender, host.Interface{Name: "eth0", Qdiscs: []host.Qdisc{{Kind: "pfifo", Parent: "1:1"}, queue}}, host.LinkCounters{})
	}
}

// paced sets SO_MAX_PACING_RATE, in bits a second, on every stream.
func paced(rate unit.Rate) func(*Evidence) {
	return func(e *Evidence) {
		for i := range e.Transfer.Client.Streams {
			samples := e.Transfer.Client.Streams[i].Samples
			for j := range samples {
				samples[j].TCP.MaxPacingRate = uint64(rate / 8)
			}
		}
	}
}

func TestPacingCap(t *testing.T) {
	// A probe has to pass the shaper, too: the path seems to be as narrow.
	full := scene{goodput: 48.2 * mbps, rtt: 13 * ms, minRTT: 10 * ms, capacity: 50 * mbps, notsent: true}
	wide := full
	wide.capacity, wide.minRTT, wide.rtt = unit.Gbps, 10*ms, 10*ms
	narrow := scene{goodput: 96.3 * mbps, rtt: 15 * ms, minRTT: 10 * ms, capacity: 100 * mbps, notsent: true}
	four := wide
	four.streams, four.goodput = 4, 193*mbps
	windowed := scene{goodput: 46 * mbps, rtt: 10 * ms, window: 57500, inflight: 57500, cwnd: 90000, rwnd: 0.99, recvBuf: 115000, rmem: "4096 65536 115000", capacity: unit.Gbps, notsent: true}
	back := func(rate unit.Rate, more func(*Evidence)) func(*Evidence) {
		return func(e *Evidence) {
			c := &e.Path.Reverse.Capacity
			c.Rate, c.Low, c.High = rate, rate, rate
			more(e)
		}
	}
	another := func(e *Evidence, rate unit.Rate) {
		i := &e.SenderHost.Interfaces[0]
		i.Qdiscs = append(i.Qdiscs, host.Qdisc{Kind: "htb", Handle: "2:", Parent: "1:1", Rate: rate})
	}
	checkHostScenes(t, []hostScene{
		{"tbf: the path behind it is not known", full, back(unit.Gbps, shapedBy("tbf", 50*mbps, false)), PacingCap, 0.9},
		{"a shaper that lets pass what the path carries the other way", full, back(50*mbps, shapedBy("tbf", 50*mbps, false)), PacingCap, 0.9},
		{"htb above what the path carries", narrow, shapedBy("htb", 300*mbps, false), Healthy, 0.85},
		{"fq maxrate for each of four flows", four, shapedBy("fq", 50*mbps, true), PacingCap, 0.9},
		{"the application asked for a pacing rate", wide, paced(48.3 * mbps), PacingCap, 0.9},
		{"it asked for less than the shaper lets out", wide, func(e *Evidence) { paced(48.3 * mbps)(e); shapedBy("tbf", 300*mbps, false)(e) }, PacingCap, 0.9},
		{"it asked for more than the shaper lets out", wide, func(e *Evidence) { paced(300 * mbps)(e); shapedBy("tbf", 50*mbps, false)(e) }, PacingCap, 0.9},
		{"of two shapers the narrower one, which comes first", wide, func(e *Evidence) { shapedBy("tbf", 50*mbps, false)(e); another(e, 300*mbps) }, PacingCap, 0.9},
		{"or last", wide, func(e *Evidence) { shapedBy("tbf", 300*mbps, false)(e); another(e, 50*mbps) }, PacingCap, 0.9},
		{"and nothing from a queue without a rate", wide, func(e *Evidence) { shapedBy("tbf", 50*mbps, false)(e); another(e, 0) }, PacingCap, 0.9},
		{"it asked for much more than there is", narrow, paced(500 * mbps), Healthy, 0.85},
		{"none asked for", narrow, paced(8 * (1<<64 - 1)), Healthy, 0.85},
		{"a shaper of which a small window leaves little unused", windowed, shapedBy("tbf", 70*mbps, false), ReceiverBuffer, 0.9},
	})
}

// What lies behind a shaper is a guess, and said to be one.
func TestBeyondTheShaper(t *testing.T) {
	for _, c := range []struct {
		name  string
		back  unit.Rate // capacity the other way; 0: not measured
		speed int       // of the interface
		want  unit.Rate
		says  string
	}{
		{"as much as comes back", 200 * mbps, 1000, 193 * mbps, "the other way"},
		{"or the interface's speed", 0, 1000, 965.3 * mbps, "speed of the sender's interface"},
		{"or what is assumed", 0, 0, 96.5 * mbps, ""},
	} {
		e := scene{goodput: 19.3 * mbps, rtt: 12 * ms, minRTT: 10 * ms, capacity: 20 * mbps, notsent: true}.evidence()
		shapedBy("cake", 20*mbps, false)(e)
		e.SenderHost.Interfaces[0].Speed = c.speed
		way := &e.Path.Reverse.Capacity
		way.Rate, way.Low, way.High, way.Assumed = c.back, c.back, c.back, c.back == 0
		got := Diagnose(e).Verdict
		says := ""
		for _, f := range got.Evidence {
			if f.Name == "beyond" {
				says = f.Says
			}
		}
		if got.Cause != PacingCap || !cmp.Equal(float64(c.want), float64(got.Predicted), cmpopts.EquateApprox(0.01, 0)) || (c.says == "") != (says == "") || !strings.Contains(says, c.says) {
			t.Errorf("%s: %s, then %v (%s)", c.name, got.Cause, got.Predicted, says)
		}
	}
}

func TestMemoryPressure(t *testing.T) {
	// The window is small although the receiver's buffer might grow to 32 MiB.
	squeezed := scene{goodput: 12 * mbps, rtt: 50 * ms, window: 76000, inflight: 75000, cwnd: 200000, rwnd: 0.9, recvBuf: 160000, notsent: true}
	small := squeezed
	small.rmem = "4096 131072 160000"
	checkHostScenes(t, []hostScene{
		{"memory came to be short, and buffers were squeezed", squeezed, func(e *Evidence) {
			e.Transfer.Server.Counters = map[string]int64{"TcpExt.TCPMemoryPressures": 2, "TcpExt.PruneCalled": 40, "TcpExt.TCPRcvCollapsed": 300}
		}, MemoryPressure, 0.85},
		{"it is short from beginning to end, which no counter tells", squeezed, func(e *Evidence) {
			e.Transfer.Server.Memory = &host.TCPMemory{Used: 1600 << 20, Low: 1124 << 20, Pressure: 1499 << 20, High: 2249 << 20}
			e.Transfer.Server.Counters = map[string]int64{"TcpExt.TCPRcvQDrop": 12}
		}, MemoryPressure, 0.85},
		{"it was for a third of the time, on the sender", squeezed, func(e *Evidence) {
			e.Transfer.Client.CPU.Elapsed = 10 * time.Second
			e.Transfer.Client.Counters = map[string]int64{"TcpExt.TCPMemoryPressures": 9, "TcpExt.TCPMemoryPressuresChrono": 3300, "TcpExt.TCPAbortOnMemory": 1}
		}, MemoryPressure, 0.85},
		{"a single socket's buffer ran over: that is no shortage", small, func(e *Evidence) {
			e.Transfer.Server.Memory = &host.TCPMemory{Used: 3 << 20, Low: 1124 << 20, Pressure: 1499 << 20, High: 2249 << 20}
			e.Transfer.Server.Counters = map[string]int64{"TcpExt.PruneCalled": 40, "TcpExt.TCPRcvCollapsed": 300}
		}, ReceiverBuffer, 0.85},
		{"short, but the path is full", scene{goodput: 955 * mbps, rtt: 12 * ms, minRTT: 10 * ms, notsent: true}, func(e *Evidence) {
			e.Transfer.Server.Counters = map[string]int64{"TcpExt.TCPMemoryPressures": 2}
		}, Healthy, 0.85},
	})
	e := squeezed.evidence()
	e.Transfer.Client.Counters = map[string]int64{"TcpExt.TCPMemoryPressures": 1}
	e.Transfer.Server.Counters = map[string]int64{"TcpExt.TCPMemoryPressures": 1}
	e.Transfer.Server.CPU = bulk.CPU{Elapsed: time.Second}
	e.Transfer.Server.Counters["TcpExt.TCPMemoryPressuresChrono"] = 990
	if got := Diagnose(e).Verdict; !strings.Contains(got.Action, "on the receiver") {
		t.Errorf("the receiver was short for longer: %s", got.Action)
	}
}

// Behind a shaper on a bond lies what the bond carries, whatever its ports and in
// whatever order they were counted; where nobody says by which interface the route
// goes, as much as the slowest.
func TestBeyondIsTheRoutesInterface(t *testing.T) {
	for _, c := range []struct {
		route string
		want  unit.Rate
	}{{"bond0", 200 * mbps}, {"eth1", 100 * mbps}, {"", 10 * mbps}, {"wlan0", 10 * mbps}} {
		e := scene{goodput: 5 * mbps, rtt: 12 * ms, minRTT: 10 * ms, capacity: 5.2 * mbps, notsent: true}.evidence()
		e.Path.Reverse.Capacity.Assumed = true
		for name, speed := range map[string]int{"bond0": 200, "eth0": 10, "eth1": 100} {
			link(e, sender, host.Interface{Name: name, Speed: speed}, host.LinkCounters{})
		}
		link(e, sender, host.Interface{Name: "wlan0"}, host.LinkCounters{}) // their speeds are not known
		link(e, sender, host.Interface{Name: "tap0", Speed: -1}, host.LinkCounters{})
		for i := range e.Transfer.Client.Links {
			l := &e.Transfer.Client.Links[i]
			l.Route = l.Name == c.route
		}
		if rate, _ := newView(e).beyond(); rate != c.want {
			t.Errorf("route by %q: %v, want %v", c.route, rate, c.want)
		}
	}
}

// A probed rate is the shaper's if it is within a tenth of it, and less than what is
// known to lie beyond.
func TestShaped(t *testing.T) {
	for _, c := range []struct {
		shaper, probed, beyond unit.Rate
		want                   bool
	}{
		{50, 50, 0, true}, {50, 46, 0, true}, {50, 44, 0, false}, {50, 54, 0, true}, {50, 56, 0, false},
		{50, 50, 100, true}, {50, 50, 54, false}, {0, 0, 0, false}, {0, 50, 0, false},
		{-1, 0, 0, false}, {unit.Rate(math.Inf(1)), path.Fastest, 0, false}, {path.Fastest, path.Fastest, 0, false},
	} {
		e := scene{goodput: 5, rtt: 12 * ms}.evidence()
		e.Path.Reverse.Capacity = path.Capacity{Rate: c.beyond, Low: c.beyond, High: c.beyond, Assumed: c.beyond == 0}
		shapedBy("tbf", c.shaper, false)(e)
		if got := newView(e).shaped(c.probed); got != c.want {
			t.Errorf("a shaper of %v, %v beyond: %v is the shaper's: %v", c.shaper, c.beyond, c.probed, got)
		}
	}
}
