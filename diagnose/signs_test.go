package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// sign is evidence that depends on one figure, with values on both sides of where it
// begins to count: not for what is found, but for how sure that is, what is asked
// next, or which ceilings are known.
type sign struct {
	name          string
	of            func(x float64) *Evidence
	before, after float64
}

// gist is what a sign may change, without the figures that change with it.
func gist(d Diagnosis, ceilings []Ceiling) string {
	var text strings.Builder
	for _, f := range append([]Finding{d.Verdict}, d.Findings...) {
		fmt.Fprintln(&text, f.Cause, f.Confidence)
	}
	if d.Next != nil {
		fmt.Fprintln(&text, "next", d.Next.Kind)
	}
	for _, c := range ceilings {
		fmt.Fprintln(&text, "ceiling", c.Of)
	}
	return text.String()
}

// Each sign counts from its threshold on.
func TestSigns(t *testing.T) {
	windowed := scene{goodput: 2.32 * mbps, rtt: 150 * ms, window: 43690, inflight: 20000, cwnd: 90000, rwnd: 0.99, recvBuf: 87380, rmem: "4096 65536 87380", notsent: true}
	buffered := scene{goodput: 186 * mbps, rtt: 150 * ms, sndbuf: 0.7, sendBuf: 4194304, recvBuf: 33554432}
	full := scene{goodput: 95 * mbps, rtt: 30 * ms, minRTT: 10 * ms, capacity: 100 * mbps, notsent: true}
	lossy := mid(20*mbps, "cubic", 2000)
	http2 := passingScene{goodput: 54 * mbps, process: "backup", supplies: true, answers: 8}
	small := passingScene{goodput: 3.4 * mbps, window: 64 * unit.KiB, inflight: 64 * unit.KiB, cwnd: unit.MiB, rwnd: 0.99}
	unread := passingScene{goodput: 3 * mbps, receives: true, window: 30_000}
	paces := func(change func(s *scene, x float64)) func(float64) *Evidence {
		return func(x float64) *Evidence {
			s := mid(20*mbps, "cubic", 0)
			change(&s, x)
			e := s.evidence()
			paced(20 * mbps)(e)
			return e
		}
	}
	reaches := func(s *scene, x float64) { s.goodput = unit.Rate(x) }
	// So many packets are lost in the measured time, one after the other.
	losing := func(packets int) func(events float64) *Evidence {
		return func(events float64) *Evidence {
			e := mid(20*mbps, "cubic", 0).evidence()
			eachSample(&e.Transfer.Client, func(n int, s *bulk.TCPInfo) { s.TotalRetrans = uint32(max(0, n-20) * packets / 90) })
			e.Transfer.Client.Measured = map[string]int64{"TcpExt.TCPSackRecovery": int64(events)}
			return e
		}
	}
	bbr := pathScene{scene: mid(19.5*mbps, "bbr", 170), trials: map[TrialKind]scene{TrialStreams: mid(19.3*mbps, "bbr", 9).shared(4)}}
	signs := []sign{
		{"packets are lost one or two at a time", losing(10), 5, 6},
		{"or more than five", losing(30), 6, 5},
		{"the congestion window is used up in half of the samples, and packets are lost", func(x float64) *Evidence {
			s := lossy
			s.inflight = s.cwnd / 2
			e := s.evidence()
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.Unacked = s.TCP.SndCwnd })
		}, 50, 51},
		{"packets are lost where the path is full at times", func(x float64) *Evidence {
			e := lossy.evidence()
			return portion(e, &e.Transfer.Client, 20, func(s *bulk.Sample) { s.TCP.DeliveryRate = uint64(x / 8) })
		}, 80e6, 90e6},
		{"paced it gets twice as much", func(x float64) *Evidence {
			c := pathScene{scene: mid(5*mbps, "cubic", 250), trials: map[TrialKind]scene{
				TrialPaced: mid(unit.Rate(x), "cubic", 250).paced(12.5 * mbps), TrialCongestion: mid(94*mbps, "bbr", 250)}}
			return c.evidence()
		}, 9.9e6, 10.1e6},
		{"trains lose what a short queue does not take", func(x float64) *Evidence {
			c := pathScene{scene: mid(5*mbps, "cubic", 250), change: trains(x), trials: map[TrialKind]scene{
				TrialPaced: mid(12*mbps, "cubic", 0).paced(12.5 * mbps), TrialCongestion: mid(94*mbps, "bbr", 250)}}
			return c.evidence()
		}, 0.6, 0.61},
		{"paced none is lost, which chance does once in a thousand times", func(x float64) *Evidence {
			e := (&pathScene{scene: mid(5*mbps, "cubic", 0), change: trains(0.1), trials: map[TrialKind]scene{TrialPaced: mid(8*mbps, "cubic", 0).paced(12.5 * mbps)}}).evidence()
			for i, r := range []*bulk.Result{e.Transfer, e.Trials[0].Result} {
				eachSample(&r.Client, func(n int, s *bulk.TCPInfo) {
					s.DataSegsOut = uint32(75 * n)
					if n > 20 && i == 0 {
						s.TotalRetrans = uint32(x)
					}
				})
			}
			return e
		}, 9, 10},
		{"trains lose so much that it is a queue and no bucket", func(x float64) *Evidence {
			c := bbr
			c.change = trains(x)
			return c.evidence()
		}, 0.6, 0.61},
		{"nine tenths of the pace", paces(reaches), 18e6, 18.01e6},
		{"just the pace", paces(reaches), 19e6, 19.01e6},
		{"data waits for its turn, but not for nine tenths of the time", paces(func(s *scene, x float64) { s.idle = x }), 0.1, 0.09},
		{"nothing waits for its turn in half of the samples", func(x float64) *Evidence {
			s := mid(20*mbps, "cubic", 0)
			s.cwnd = 3 * s.cwnd
			e := s.evidence()
			paced(20 * mbps)(e)
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.NotsentBytes = 0 })
		}, 50, 49},
		{"a busy core beside a queue", with(scene{goodput: 93 * mbps, rtt: 80 * ms, minRTT: 40 * ms, assumed: true, notsent: true}, func(s *scene, x float64) { s.busyCore = x }), 0.9, 0.89},
		{"most of what the receiver can hold is unread", with(scene{goodput: 50 * mbps, rtt: 10 * ms, window: 30_000, inflight: 29_000, rwnd: 0.95, recvBuf: 6 << 20, notsent: true}, func(s *scene, x float64) { s.unread = int(x) }), 70_000, 70_001},
		{"in four samples of five all was on its way, and there was room for more", func(x float64) *Evidence {
			e := scene{goodput: 20 * mbps, rtt: 10 * ms, notsent: true, cwnd: 100000, window: 200000}.evidence()
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.NotsentBytes = 0 })
		}, 80, 81},
		{"more than just the pace", paces(reaches), 20.4e6, 20.39e6},
		{"the receiver's window held it for half of the time, beside a pace", paces(func(s *scene, x float64) { s.rwnd = x }), 0.5, 0.51},
		{"the send buffer did", paces(func(s *scene, x float64) { s.sndbuf = x }), 0.5, 0.51},
		{"the kernel's clock shows the window for most of the time", with(windowed, func(s *scene, x float64) { s.rwnd = x }), 0.8, 0.81},
		{"the application reads at once", with(windowed, func(s *scene, x float64) { s.window, s.unread = 45_000, int(x) }), 5000, 4999},
		{"a window that is known, and makes another rate", func(x float64) *Evidence {
			e := windowed.evidence()
			eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.Length, s.SndWnd = 224, uint32(x) })
			return e
		}, 0, 20_000},
		{"the receiver's window is used up, whatever bounds it", with(windowed, func(s *scene, x float64) { s.rwnd = x }), 0.5, 0.51},
		{"the send buffer held it for a fifth of the time", with(buffered, func(s *scene, x float64) { s.sndbuf = x }), 0.2, 0.21},
		{"the application reads at once, and the window's scale is small", with(scene{goodput: 6.7 * mbps, rtt: 150 * ms, window: 126_000, inflight: 40000, cwnd: 200000, rwnd: 0.97, recvBuf: 1 << 20, shift: 1, notsent: true}, func(s *scene, x float64) { s.unread = int(x) }), 14_000, 13_999},
		{"four fifths of the samples have all on its way", func(x float64) *Evidence {
			s := buffered
			s.notsent = true
			e := s.evidence()
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.NotsentBytes = 0 })
		}, 80, 81},
		{"half of the samples show windows beyond the buffer", func(x float64) *Evidence {
			e := buffered.evidence()
			return portion(e, &e.Transfer.Client, 100-x, func(s *bulk.Sample) { s.TCP.SndWnd = 3 << 20 })
		}, 50, 51},
		{"how large the send buffer is", func(x float64) *Evidence {
			e := buffered.evidence()
			e.Transfer.Client.Streams[0].SendBuf = int(x)
			return portion(e, &e.Transfer.Client, 100, func(s *bulk.Sample) { s.Mem.SendBuf = int(x) })
		}, 0, 4194304},
		{"a queue of 20 ms: how long may it get?", with(full, func(s *scene, x float64) { s.rtt = s.minRTT + time.Duration(x) }), 19.999e6, 20e6},
		{"a queue of half a round trip", with(full, func(s *scene, x float64) { s.minRTT, s.rtt = 60*ms, 60*ms+time.Duration(x) }), 29.999e6, 30e6},
		{"four times the round trip", with(full, func(s *scene, x float64) { s.minRTT, s.rtt = 100*ms, time.Duration(x) }), 400e6, 401e6},
		{"160 ms in the queue", with(full, func(s *scene, x float64) { s.minRTT, s.rtt = 80*ms, 80*ms+time.Duration(x) }), 160e6, 161e6},
		{"a core that is as good as saturated", with(mid(50*mbps, "cubic", 0).queueing(60*ms), func(s *scene, x float64) { s.busyCore = x }), 0.95, 0.951},
		{"held back by its quota for a fifth of the time", func(x float64) *Evidence {
			e := runsDry.evidence()
			cores(&e.Transfer.Client, 0.5, 0.5, x, 0.5, 0)
			return e
		}, 0.199, 0.2},
		{"nothing to send in half of the samples", func(x float64) *Evidence {
			s := lossy
			s.cwnd, s.window, s.idle = 1<<20, 1<<20, 0.3
			e := s.evidence()
			cores(&e.Transfer.Client, 0.5, 0.5, 0.5, 0.5, 0)
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.NotsentBytes = 0 })
		}, 50, 51},
		{"three frames in pieces", func(x float64) *Evidence {
			e := scene{goodput: 6 * mbps, rtt: 2 * ms, capacity: 97 * mbps, inflight: 6000, cwnd: 6400, lossEvery: 60, notsent: true}.evidence()
			link(e, sender, host.Interface{Name: "eth0", Speed: 100, Duplex: "full"}, host.LinkCounters{})
			link(e, receiver, host.Interface{Name: "eth0", Speed: 100, Duplex: "full", Autoneg: "off"}, host.LinkCounters{CRC: int64(x), Length: 60})
			return e
		}, 2, 3},
		{"three damaged packets", func(x float64) *Evidence {
			e := lossyPath.evidence()
			wired(e, host.LinkCounters{CRC: int64(x), CarrierChanges: 1})
			return e
		}, 2, 3},
		{"in passing: the connection never stands empty", inPassing(http2, func(s *passingScene, x float64) { s.busy = x }, nil), 0.9, 0.91},
		{"in passing: a queue stands beside a small window", inPassing(small, func(s *passingScene, x float64) { s.minRTT = time.Duration(x) }, nil), 150e6, 100e6},
		{"in passing: most of what this host holds is unread", inPassing(unread, func(s *passingScene, x float64) { s.unread = unit.Size(x) }, nil), 70_000, 70_001},
	}
	var all findings
	for _, c := range signs {
		var said [2]string
		for i, x := range []float64{c.before, c.after} {
			e := c.of(x)
			var d Diagnosis
			if e.Passing != nil {
				f := InPassing(e)
				d = Diagnosis{Verdict: f, Findings: []Finding{f}}
			} else {
				d = Diagnose(e)
			}
			said[i] = gist(d, Ceilings(e))
			all.add(fmt.Sprint(c.name, ": ", x), d, true)
		}
		if said[0] == said[1] {
			t.Errorf("%s: at %v and at %v the same:\n%s", c.name, c.before, c.after, said[0])
		}
	}
	all.check(t)
}
