package diagnose

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// edge is evidence that depends on one figure, with values on both sides of a
// threshold: a cause is found with the one and not with the other.
type edge struct {
	name           string
	of             func(x float64) *Evidence
	found, missing float64
}

func checkEdges(t *testing.T, cause string, edges []edge) {
	t.Helper()
	var all findings
	for _, c := range edges {
		for _, x := range []float64{c.found, c.missing} {
			all.add(fmt.Sprint(c.name, ": ", x), Diagnose(c.of(x)), false)
		}
		t.Run(c.name, func(t *testing.T) {
			for _, x := range []float64{c.found, c.missing} {
				d := Diagnose(c.of(x))
				found := slices.ContainsFunc(d.Findings, func(f Finding) bool {
					return f.Cause == cause || f.Cause == Healthy && cause == PathCapacity
				})
				if want := x == c.found; found != want {
					t.Errorf("at %v: found %v, want %v\n%s", x, found, want, words(d))
				}
			}
		})
	}
	golden.Check(t, "findings/"+t.Name()+"-"+cause+".txt", all.text.String())
}

// with changes a scene by a figure.
func with(s scene, change func(s *scene, x float64)) func(float64) *Evidence {
	return func(x float64) *Evidence {
		changed := s
		change(&changed, x)
		return changed.evidence()
	}
}

// portion changes the first so many of a hundred measured samples of all streams of
// an end.
func portion(e *Evidence, end *bulk.End, hundredths float64, change func(*bulk.Sample)) *Evidence {
	for i := range end.Streams {
		stream := &end.Streams[i]
		stream.Samples = stream.Samples[:110] // of which the last hundred are measured
		for j := range stream.Samples[10:] {
			if float64(j) < hundredths {
				change(&stream.Samples[10+j])
			}
		}
	}
	return e
}

func TestReceiverBufferEdges(t *testing.T) {
	base := scene{goodput: 2.32 * mbps, rtt: 150 * ms, window: 43690, inflight: 20000, cwnd: 90000, rwnd: 0.99, recvBuf: 87380, rmem: "4096 65536 87380", notsent: true}
	alone := base
	alone.nofacts = true
	checkEdges(t, ReceiverBuffer, []edge{
		{"half of the time by the kernel's clock", with(base, func(s *scene, x float64) { s.rwnd = x }), 0.5, 0.4999},
		{"half of the samples show the window used up", func(x float64) *Evidence {
			s := base
			s.rwnd = 0
			e := s.evidence()
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.Unacked = 30 })
		}, 50, 49},
		{"a tenth of the window is left", func(x float64) *Evidence {
			s := base
			s.rwnd, s.window = 0, 144_800
			s.rmem = "4096 65536 90000"
			e := s.evidence()
			return portion(e, &e.Transfer.Client, 100, func(s *bulk.Sample) { s.TCP.Unacked = uint32(x) })
		}, 90, 89},
		{"less than a segment of it is left", func(x float64) *Evidence {
			s := base
			s.rwnd, s.window = 0, 10*1448
			e := s.evidence()
			return portion(e, &e.Transfer.Client, 100, func(s *bulk.Sample) { s.TCP.Unacked = uint32(x) })
		}, 9, 8},
		{"half of what it holds is unread", with(base, func(s *scene, x float64) { s.unread = int(x) }), 43690, 43691},
		{"nine tenths of the buffer's maximum", with(base, func(s *scene, x float64) { s.recvBuf = int(x) }), 78642, 78641},
		{"its size is not known", func(x float64) *Evidence {
			e := base.evidence()
			e.Transfer.Server.Streams[0].RecvBuf = int(x)
			return portion(e, &e.Transfer.Server, 100, func(s *bulk.Sample) { s.Mem.RecvBuf = int(x) })
		}, 0, 40_000},
		{"its limit is not known, and it grows by a twentieth", with(alone, func(s *scene, x float64) { s.windowGrowth = x }), 1.05, 1.4},
		{"it would fill the path without its queue", with(base, func(s *scene, x float64) {
			s.capacity, s.minRTT = 10*mbps, time.Duration(x)
		}), 41 * 1e6, 39 * 1e6}, // 43690 bytes in 40 ms are 8.7 Mb/s, nine tenths of 9.65
	})
}

func TestWindowScaleEdges(t *testing.T) {
	base := scene{goodput: 3.49 * mbps, rtt: 150 * ms, window: 65535, inflight: 40000, cwnd: 200000, rwnd: 0.97, recvBuf: 200000, options: bulk.OptTimestamps, notsent: true}
	small := base
	small.options, small.shift, small.window = 0, 1, 131070
	small.recvBuf = 1 << 20
	checkEdges(t, WindowScale, []edge{
		{"with a shift of one bit", with(small, func(s *scene, x float64) { s.window = unit.Size(x) }), 117_963, 117_962},
		{"half of the time", with(base, func(s *scene, x float64) { s.rwnd = x }), 0.5, 0.4999},
		{"nine tenths of the largest window", with(base, func(s *scene, x float64) { s.window = unit.Size(x) }), 58982, 58981},
		{"half of what it holds is unread", with(base, func(s *scene, x float64) { s.unread = int(x) }), 65535, 65537},
		{"nine tenths for each of two streams", with(base, func(s *scene, x float64) { s.streams, s.window = 2, unit.Size(x) }), 58982, 58981},
		{"the buffer would offer half as much again", with(base, func(s *scene, x float64) {
			s.recvBuf, s.rmem = int(x), "4096 1000 1000"
		}), 196_608, 196_604},
	})
	for shift, want := range map[int]unit.Size{-1: 65535, 0: 65535, 1: 131070, 14: 65535 << 14, 15: 65535 << 14} {
		if got := largestWindow(shift); got != want {
			t.Errorf("shift %d: %d, want %d", shift, got, want)
		}
	}
}

func TestSenderBufferEdges(t *testing.T) {
	base := scene{goodput: 186 * mbps, rtt: 150 * ms, sndbuf: 0.7, sendBuf: 4194304, recvBuf: 33554432}
	fits := base // windows that are hardly larger than the buffer
	fits.cwnd, fits.window, fits.notsent, fits.lossEvery = 4_500_000, 4_500_000, true, 5000
	changed := func(hundredths float64, change func(*bulk.Sample)) *Evidence {
		e := base.evidence()
		return portion(e, &e.Transfer.Client, hundredths, change)
	}
	checkEdges(t, SenderBuffer, []edge{
		{"nine tenths of its maximum", with(base, func(s *scene, x float64) { s.sendBuf = int(x) }), 3774874, 3774870},
		{"half of the samples show it half empty", func(x float64) *Evidence {
			return changed(x, func(s *bulk.Sample) { s.Mem.SendQueued = s.Mem.SendBuf/2 - 1 })
		}, 50, 51},
		{"half full is not half empty", func(x float64) *Evidence {
			return changed(100, func(s *bulk.Sample) { s.Mem.SendQueued = s.Mem.SendBuf/2 + int(x) })
		}, 0, -1},
		{"half of the samples show the window used up", func(x float64) *Evidence {
			return changed(x, func(s *bulk.Sample) { s.TCP.SndWnd = s.TCP.Unacked * s.TCP.SndMSS })
		}, 50, 51},
		{"it would fill the path without its queue", with(base, func(s *scene, x float64) {
			s.capacity, s.minRTT = 250*mbps, time.Duration(x)
		}), 129 * 1e6, 128 * 1e6}, // 5/6 of 4 MiB in 128.7 ms are 217.2 Mb/s
		{"those of four would, together", with(base, func(s *scene, x float64) {
			s.streams, s.sendBuf, s.wmem = 4, 1<<20, "4096 16384 1048576"
			s.capacity, s.minRTT = 250*mbps, time.Duration(x)
		}), 129 * 1e6, 128 * 1e6},
		{"half of the time, by the kernel's clock", with(fits, func(s *scene, x float64) { s.sndbuf = x }), 0.5, 0.49},
		{"a fifth of it, where windows have outgrown the buffer", with(base, func(s *scene, x float64) { s.sndbuf, s.notsent = x, true }), 0.21, 0.2},
		{"the congestion window was used up in half of the samples, with loss", func(x float64) *Evidence {
			e := fits.evidence()
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.Unacked = s.TCP.SndCwnd })
		}, 50, 51},
		{"it was in all, and had outgrown the buffer in half of them", func(x float64) *Evidence {
			e := fits.evidence()
			portion(e, &e.Transfer.Client, 100, func(s *bulk.Sample) { s.TCP.Unacked, s.TCP.SndWnd = s.TCP.SndCwnd, 2*s.TCP.SndWnd })
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.Mem.SendBuf = 3_900_000 })
		}, 50, 49},
		{"a congestion window stands still, and the buffer allows as much", with(scene{goodput: 20 * mbps, rtt: 40 * ms, capacity: 100 * mbps, notsent: true, cwnd: 100_000, inflight: 99_000, window: 900_000}, func(s *scene, x float64) {
			s.sendBuf, s.wmem = int(x), fmt.Sprint("4096 4096 ", int(x))
		}), 200_000, 50_000},
	})
	held := func(change func(*scene)) *view {
		s := scene{goodput: 20 * mbps, rtt: 40 * ms, capacity: 100 * mbps, notsent: true, cwnd: 100_000, inflight: 99_000, window: 900_000}
		change(&s)
		return newView(s.evidence())
	}
	// A congestion window that is used up and stands still: no loss, no queue, no BBR.
	for name, c := range map[string]struct {
		change func(*scene)
		stuck  bool
	}{
		"stuck":           {func(*scene) {}, true},
		"something lost":  {func(s *scene) { s.lossEvery = 100 }, false},
		"a queue":         {func(s *scene) { s.minRTT = 20 * ms }, false},
		"it grows":        {func(s *scene) { s.windowGrowth = 3 }, false},
		"BBR":             {func(s *scene) { s.congestion = "bbr" }, false},
		"it is not full":  {func(s *scene) { s.inflight = 80_000 }, false},
		"it is just full": {func(s *scene) { s.inflight, s.cwnd = 90*1448, 100*1448 }, true},
		"just not":        {func(s *scene) { s.inflight, s.cwnd = 89*1448, 100*1448 }, false},
	} {
		if held, stuck := held(c.change).sendHeld(); stuck != c.stuck || stuck && held < 0.9 {
			t.Errorf("%s: stuck %v, held %v", name, stuck, held)
		}
	}
}

// What shows that the send buffer is what holds a congestion window.
func TestStuck(t *testing.T) {
	stands := scene{goodput: 20 * mbps, rtt: 40 * ms, capacity: 100 * mbps, notsent: true, cwnd: 100_000, inflight: 50_000, window: 900_000}
	full := func(s *bulk.Sample) { s.TCP.Unacked = s.TCP.SndCwnd }
	repairing := func(s *bulk.Sample) { s.TCP.CAState = 3 }
	for _, c := range []struct {
		name       string
		hundredths float64
		change     func(*bulk.Sample)
		tooBig     int64 // times that the buffer was too small to repair a loss
		stuck      bool
	}{
		{"full in half of the samples", 50, full, 0, false},
		{"in more", 51, full, 0, true},
		{"at a loss for half of the time, the buffer too small for it", 50, repairing, 1, false},
		{"for more", 51, repairing, 1, true},
		{"for more, and there is room", 51, repairing, 0, false},
		{"too small once", 0, repairing, 1, false},
	} {
		e := stands.evidence()
		portion(e, &e.Transfer.Client, c.hundredths, c.change)
		e.Transfer.Client.Counters = map[string]int64{"TcpExt.TCPWqueueTooBig": c.tooBig}
		if held, stuck := newView(e).sendHeld(); stuck != c.stuck || stuck && held != c.hundredths/100 {
			t.Errorf("%s: stuck %v, held %v", c.name, stuck, held)
		}
	}
	e := passingScene{goodput: 20 * mbps, cwnd: 100 * 1448, inflight: 100 * 1448}.evidence()
	if _, stuck := newView(e).sendHeld(); !stuck {
		t.Error("a running flow is not stuck")
	}
	eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.BytesAcked = 0 })
	if _, stuck := newView(e).sendHeld(); stuck {
		t.Error("a flow that moves nothing is held by its buffer")
	}
}

func TestSlowEndsEdges(t *testing.T) {
	reads := scene{goodput: 50 * mbps, rtt: 10 * ms, window: 62500, inflight: 40000, unread: 3 << 20, rwnd: 0.95, recvBuf: 6 << 20, notsent: true}
	checkEdges(t, SlowReceiver, []edge{
		{"half of the time", with(reads, func(s *scene, x float64) { s.rwnd = x }), 0.5, 0.4999},
		{"half of what it holds is unread", with(reads, func(s *scene, x float64) { s.unread = int(x) }), 62501, 62500},
	})
	writes := scene{goodput: 20 * mbps, rtt: 10 * ms, notsent: true, cwnd: 100000, window: 200000}
	checkEdges(t, SlowSender, []edge{
		{"a tenth of the time there is nothing to send", with(writes, func(s *scene, x float64) { s.idle = x }), 0.11, 0.1},
		{"half of the samples have all on its way", func(x float64) *Evidence {
			e := writes.evidence()
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.NotsentBytes = 1447 })
		}, 50, 49},
		{"a segment that waits is not all", func(x float64) *Evidence {
			e := writes.evidence()
			return portion(e, &e.Transfer.Client, 100, func(s *bulk.Sample) { s.TCP.NotsentBytes = uint32(x) })
		}, 1447, 1448},
		{"nine tenths of a window are all of it", func(x float64) *Evidence {
			e := writes.evidence()
			return portion(e, &e.Transfer.Client, 100, func(s *bulk.Sample) {
				s.TCP.NotsentBytes, s.TCP.SndCwnd, s.TCP.Unacked = 0, 100, uint32(x)
				s.TCP.SndWnd = 1 << 20
			})
		}, 89, 90},
	})
}

func TestBufferbloatEdges(t *testing.T) {
	base := scene{goodput: 95 * mbps, rtt: 200 * ms, minRTT: 100 * ms, capacity: 100 * mbps, notsent: true, cwnd: 3 << 20}
	checkEdges(t, Bufferbloat, []edge{
		{"80 ms in the queue", with(base, func(s *scene, x float64) { s.minRTT = 10 * ms; s.rtt = 10*ms + time.Duration(x) }), 81e6, 80e6},
		{"1.8 times the path's own round trip", with(base, func(s *scene, x float64) { s.rtt = 100*ms + time.Duration(x) }), 181e6, 180e6},
		{"the path is full", with(base, func(s *scene, x float64) { s.minRTT = 10 * ms; s.goodput = unit.Rate(x) }), 85e6, 84.8e6}, // 0.88 of 96.53
	})
}

func TestPathCapacityEdges(t *testing.T) {
	base := scene{goodput: 95 * mbps, rtt: 40 * ms, capacity: 100 * mbps, notsent: true, congestion: "bbr"}
	standing := base
	standing.goodput, standing.minRTT = 80*mbps, 32*ms
	checkEdges(t, PathCapacity, []edge{
		{"nine tenths of what it carries", with(base, func(s *scene, x float64) { s.goodput = unit.Rate(x) }), 86.89e6, 86.87e6}, // of 96.53
		{"a round trip a quarter longer", with(standing, func(s *scene, x float64) { s.rtt = time.Duration(x) }), 40.001e6, 40e6},
		{"a millisecond longer", with(standing, func(s *scene, x float64) { s.minRTT = ms; s.rtt = time.Duration(x) }), 2.001e6, 2e6},
		{"few packets in flight: by a delayed acknowledgement", with(standing, func(s *scene, x float64) {
			s.rtt, s.cwnd, s.inflight = 72*ms, unit.Size(x)*1448, 5*1448
		}), 10, 9},
		{"half of the time the network holds it", with(standing, func(s *scene, x float64) { s.rtt = 60 * ms; s.rwnd = x }), 0.49, 0.5},
	})
}

func TestSmallMSSEdges(t *testing.T) {
	segments := func(mss, mtu float64) *Evidence {
		e := scene{goodput: 50 * mbps, rtt: 40 * ms, capacity: 100 * mbps, notsent: true}.evidence()
		e.Path.Forward.MTU = path.MTU{Bytes: int(mtu), Link: int(mtu)}
		eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.SndMSS, s.PMTU = uint32(mss), 0 })
		return e
	}
	checkEdges(t, SmallMSS, []edge{
		{"six tenths of the largest packet", func(x float64) *Evidence { return segments(x, 1500) }, 848, 849},
		{"it was asked for", func(x float64) *Evidence {
			e := segments(500, 1500)
			e.Transfer.Spec.MSS = int(x)
			return e
		}, 0, 536},
		{"segments have a size", func(x float64) *Evidence { return segments(x, 1500) }, 500, 0},
		{"the kernel knows of a path that was not probed", func(x float64) *Evidence {
			e := segments(500, 0)
			eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.PMTU = uint32(x) })
			return e
		}, 1500, 0},
		{"the largest packet is not known", func(x float64) *Evidence { return segments(500, x) }, 1500, 0},
		{"the kernel knows of a smaller one", func(x float64) *Evidence {
			e := segments(500, 1500)
			eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.PMTU = uint32(x) })
			return e
		}, 920, 919},
	})
}

func TestBlackHoleEdges(t *testing.T) {
	hole := func(goodput unit.Rate, lossEvery int, pmtu, mtu, link int) *Evidence {
		e := mid(goodput, "cubic", lossEvery).evidence()
		e.Path.Forward.MTU = path.MTU{Bytes: mtu, Link: link, BlackHole: true, Method: "udp probe"}
		eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.PMTU = uint32(pmtu) })
		return e
	}
	checkEdges(t, MTUBlackHole, []edge{
		{"hardly anything arrives", func(x float64) *Evidence { return hole(unit.Rate(x), 0, 1500, 1400, 1500) }, 9999, 10_000},
		{"most is sent again", func(x float64) *Evidence {
			e := hole(5*mbps, 0, 1500, 1400, 1500)
			eachSample(&e.Transfer.Client, func(n int, s *bulk.TCPInfo) {
				s.BytesSent, s.BytesRetrans, s.TotalRetrans = uint64(n)*1000, uint64(float64(n)*x), uint32(n)
			})
			return e
		}, 501, 500},
		{"TCP says nothing of the limit", func(x float64) *Evidence { return hole(1000, 1, int(x), 1400, 1500) }, 0, 1400},
		{"small segments were tried", func(x float64) *Evidence {
			e := hole(5*mbps, 0, 1500, 1400, 1500)
			if x > 0 {
				e.Trials = []Trial{{Kind: TrialSegment, Result: mid(40*mbps, "cubic", 0).evidence().Transfer}}
			}
			return e
		}, 1, 0},
		{"and TCP says what it believes in", func(x float64) *Evidence {
			e := hole(5*mbps, 0, int(x), 1400, 1500)
			e.Trials = []Trial{{Kind: TrialSegment, Result: mid(40*mbps, "cubic", 0).evidence().Transfer}}
			return e
		}, 1500, 0},
		{"TCP knows of the limit", func(x float64) *Evidence { return hole(1000, 1, int(x), 1400, 1500) }, 1401, 1400},
		{"the link takes larger packets", func(x float64) *Evidence { return hole(1000, 1, 1500, 1400, int(x)) }, 1401, 1400},
		{"no size is known to pass", func(x float64) *Evidence { return hole(1000, 1, 1500, int(x), 1500) }, 1400, 0},
	})
}

func TestPacingCapEdges(t *testing.T) {
	paced := func(goodput, pace float64) *Evidence {
		e := mid(unit.Rate(goodput), "cubic", 0).evidence()
		eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.MaxPacingRate = uint64(pace / 8) })
		return e
	}
	checkEdges(t, PacingCap, []edge{
		{"85 % of the pace", func(x float64) *Evidence { return paced(x, 20e6) }, 17e6, 16.99e6},
		{"a tenth more than the pace", func(x float64) *Evidence { return paced(x, 20e6) }, 22e6, 22.01e6},
		{"no pace, as kernels before 4.20 say it", func(x float64) *Evidence { return paced(34.3e9, x) }, 34.3e9, 8 * math.MaxUint32},
		{"another stream has none", func(x float64) *Evidence {
			e := mid(10*mbps, "cubic", 0).shared(2).evidence()
			for i, pace := range []float64{10e6, x} {
				samples := e.Transfer.Client.Streams[i].Samples
				for n := range samples {
					samples[n].TCP.MaxPacingRate = uint64(pace / 8)
				}
			}
			return e
		}, 8000, 0},
		{"no pace at all", func(x float64) *Evidence { return paced(20e6, x) }, 20e6, 0},
		{"the path is narrower", func(x float64) *Evidence {
			e := paced(20e6, 21e6)
			e.Path.Forward.Capacity = path.Capacity{Rate: unit.Rate(x), Low: unit.Rate(x), High: unit.Rate(x)}
			return e
		}, 19e6, 18.89e6},
	})
}

func TestDamageEdges(t *testing.T) {
	damaged := func(frames, lossEvery int) *Evidence {
		e := mid(20*mbps, "cubic", lossEvery).evidence()
		wired(e, host.LinkCounters{CRC: int64(frames)})
		return e
	}
	sure := func(e *Evidence) float64 {
		d := Diagnose(e)
		for _, f := range d.Findings {
			if f.Cause == LinkErrors {
				return f.Confidence
			}
		}
		return -1
	}
	// 18,991 packets, of which each 1000th was lost: 18 times.
	if half, less := sure(damaged(9, 1000)), sure(damaged(8, 1000)); half < 0.9 || less > 0.5 {
		t.Errorf("half of the losses are damaged packets: %v sure; fewer: %v", half, less)
	}
	if got := sure(damaged(0, 1000)); got >= 0 {
		t.Errorf("nothing was damaged, and %v sure", got)
	}
	if got := sure(damaged(9, 0)); got >= 0 {
		t.Errorf("nothing was lost, and %v sure", got)
	}
}

func TestShortTransferEdges(t *testing.T) {
	base := scene{goodput: 20 * mbps, rtt: 40 * ms, capacity: 100 * mbps, notsent: true, windowGrowth: 3, cwnd: 100000, inflight: 80000, window: 900000}
	checkEdges(t, ShortTransfer, []edge{
		{"nothing may be lost", with(base, func(s *scene, x float64) { s.lossEvery = int(x) }), 0, 100},
		{"the send buffer held it for half of the time", with(base, func(s *scene, x float64) { s.sndbuf = x }), 0.5, 0.51},
		{"the receiver's window held it for half of the time, and does not grow", func(x float64) *Evidence {
			s := base
			s.windowGrowth, s.rwnd = 0, x
			e := s.evidence()
			return portion(e, &e.Transfer.Client, 100, func(s *bulk.Sample) { s.TCP.Unacked = s.TCP.SndCwnd })
		}, 0.5, 0.51},
		{"its windows grow", with(base, func(s *scene, x float64) { s.windowGrowth = x }), 1.5, 1.1},
		{"the congestion window is used up in half of the samples", func(x float64) *Evidence {
			s := base
			s.windowGrowth = 0
			e := s.evidence()
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.Unacked = s.TCP.SndCwnd })
		}, 51, 50},
	})
}

func TestCompetingTrafficEdges(t *testing.T) {
	base := mid(50*mbps, "cubic", 0).queueing(60 * ms)
	crowded := func(carried float64) *Evidence {
		e := mid(66*mbps, "cubic", 0).evidence()
		wired(e, host.LinkCounters{})
		sent := float64(e.Transfer.Client.Streams[0].Samples[110].TCP.BytesSent) * 1500 / 1448
		e.Transfer.Client.Links[0].TxBytes = int64(sent / (1 - carried))
		return e
	}
	checkEdges(t, CompetingTraffic, []edge{
		{"a queue stands", with(base, func(s *scene, x float64) { s.rtt = time.Duration(x) }), 50.1e6, 50e6},
		{"the path is full", with(base, func(s *scene, x float64) { s.goodput = unit.Rate(x) }), 84.9e6, 85e6},
		{"three tenths of what left are others'", crowded, 0.301, 0.299},
		{"a queue stood before three losses, and is gone", func(x float64) *Evidence {
			e := mid(50*mbps, "cubic", 0).evidence()
			eachSample(&e.Transfer.Client, func(n int, s *bulk.TCPInfo) {
				for lost := 1.0; lost <= x; lost++ {
					if at := int(30 * lost); n >= at {
						s.TotalRetrans++
					} else if n == at-1 {
						s.RTT = 60_000
					}
				}
			})
			return e
		}, 3, 2},
		{"together they use most of the path", func(x float64) *Evidence {
			e := mid(unit.Rate(x), "cubic", 0).evidence()
			wired(e, host.LinkCounters{})
			sent := float64(e.Transfer.Client.Streams[0].Samples[110].TCP.BytesSent) * 1500 / 1448
			e.Transfer.Client.Links[0].TxBytes = int64(sent * 2)
			return e
		}, 36.3e6, 36.1e6}, // twice that is three quarters of 96.53
	})
}

func TestReversePathEdges(t *testing.T) {
	back := func(capacity float64, rtt time.Duration, acks, came float64) *Evidence {
		s := mid(50*mbps, "cubic", 0)
		s.minRTT, s.rtt = s.rtt, rtt
		e := s.evidence()
		e.Path.Reverse.Capacity = path.Capacity{Rate: unit.Rate(capacity), Low: unit.Rate(capacity), High: unit.Rate(capacity)}
		eachSample(&e.Transfer.Server, func(n int, s *bulk.TCPInfo) { s.SegsOut = uint32(float64(n) * acks) })
		eachSample(&e.Transfer.Client, func(n int, s *bulk.TCPInfo) { s.SegsIn = uint32(float64(n) * came) })
		return e
	}
	// 100 acknowledgements of 52 bytes each tenth of a second are 416 kb/s.
	checkEdges(t, ReversePath, []edge{
		{"acknowledgements make three quarters of what it carries", func(x float64) *Evidence { return back(x, 60*ms, 100, 100) }, 554e3, 555e3},
		{"and they wait in a queue", func(x float64) *Evidence { return back(500e3, time.Duration(x), 100, 100) }, 50.1e6, 50e6},
		{"or one in twenty is lost", func(x float64) *Evidence { return back(500e3, 40*ms, 100, x) }, 94, 96},
		{"half of them are lost", func(x float64) *Evidence { return back(100e6, 40*ms, 100, x) }, 49, 50},
	})
}

// Acknowledgements are lost where both ends count them.
func TestAcksLost(t *testing.T) {
	for _, c := range []struct {
		went, came uint32
		want       float64
	}{{100, 25, 0.75}, {100, 100, 0}, {100, 110, 0}, {100, 0, 0}, {0, 100, 0}, {0, 0, 0}} {
		e := mid(20*mbps, "cubic", 0).evidence()
		eachSample(&e.Transfer.Server, func(n int, s *bulk.TCPInfo) { s.SegsOut = uint32(n) * c.went })
		eachSample(&e.Transfer.Client, func(n int, s *bulk.TCPInfo) { s.SegsIn = uint32(n) * c.came })
		if got := newView(e).acksLost(); got != c.want {
			t.Errorf("of %d acknowledgements %d came: %v lost", c.went, c.came, got)
		}
	}
}

func TestReorderingEdges(t *testing.T) {
	seen := func(reordered, retransmitted, spurious float64) *Evidence {
		e := mid(20*mbps, "cubic", 0).evidence()
		eachSample(&e.Transfer.Client, func(_ int, s *bulk.TCPInfo) { s.ReordSeen, s.Reordering = uint32(reordered), 5 })
		samples := e.Transfer.Client.Streams[0].Samples
		for i := range samples {
			samples[i].TCP.TotalRetrans = uint32(retransmitted)
		}
		e.Transfer.Client.Counters = map[string]int64{"TcpExt.TCPDSACKRecv": int64(spurious)}
		return e
	}
	checkEdges(t, Reordering, []edge{
		{"five times", func(x float64) *Evidence { return seen(x, 0, 0) }, 5, 4},
		{"five times as often as loss", func(x float64) *Evidence { return seen(x, 9, 3) }, 45, 44},
		{"a third of the reactions were unnecessary", func(x float64) *Evidence { return seen(100, 9, x) }, 3, 2},
		{"seldom, but half of the reactions were unnecessary", func(x float64) *Evidence { return seen(0, 10, x) }, 5, 4},
		{"of three at least", func(x float64) *Evidence { return seen(0, x, 3) }, 3, 2},
		{"no more than twice what was sent again", func(x float64) *Evidence { return seen(0, 10, x) }, 20, 21},
	})
}

func TestMemoryPressureEdges(t *testing.T) {
	short := func(used, pressure float64, entered int64) *Evidence {
		e := mid(20*mbps, "cubic", 0).evidence()
		e.Transfer.Server.Memory = &host.TCPMemory{Used: int64(used), Pressure: int64(pressure)}
		e.Transfer.Server.Counters = map[string]int64{pressures: entered}
		return e
	}
	checkEdges(t, MemoryPressure, []edge{
		{"at the mark", func(x float64) *Evidence { return short(x, 1000, 0) }, 1000, 999},
		{"there is no mark", func(x float64) *Evidence { return short(1000, x, 0) }, 1000, 0},
		{"it came to be short once", func(x float64) *Evidence { return short(0, 0, int64(x)) }, 1, 0},
	})
}

func TestCPUEdges(t *testing.T) {
	sends := func(used, quota, throttled float64, dry float64) *Evidence {
		s := mid(20*mbps, "cubic", 0)
		s.cwnd, s.window = 1<<20, 1<<20
		e := s.evidence()
		cores(&e.Transfer.Client, used, quota, throttled, 0.5, 0)
		return portion(e, &e.Transfer.Client, dry, func(s *bulk.Sample) { s.TCP.NotsentBytes = 0 })
	}
	receives := func(used, busy, softirq float64, silent float64) *Evidence {
		e := mid(20*mbps, "cubic", 0).evidence()
		cores(&e.Transfer.Server, used, 0, 0, busy, softirq)
		return portion(e, &e.Transfer.Server, silent, func(s *bulk.Sample) { s.TCP.LastDataRecv = 41 })
	}
	checkEdges(t, SenderCPU, []edge{
		{"nine tenths of its quota", func(x float64) *Evidence { return sends(x, 0.5, 0.5, 100) }, 0.45, 0.449},
		{"held back for a tenth of the time", func(x float64) *Evidence { return sends(0.5, 0.5, x, 100) }, 0.1, 0.099},
		{"nine tenths of a core", func(x float64) *Evidence { return sends(x, 0, 0, 100) }, 0.9, 0.899},
		{"its streams are known", func(x float64) *Evidence {
			e := sends(1, 0, 0, 100)
			e.Transfer.Client.Streams = e.Transfer.Client.Streams[:int(x)]
			return e
		}, 1, 0},
		{"but for a window that held it for half of the time", func(x float64) *Evidence {
			s := mid(20*mbps, "cubic", 0)
			s.cwnd, s.window, s.rwnd = 1<<20, 1<<20, x
			e := s.evidence()
			cores(&e.Transfer.Client, 1, 0, 0, 0.5, 0)
			return portion(e, &e.Transfer.Client, 100, func(s *bulk.Sample) { s.TCP.NotsentBytes = 0 })
		}, 0.5, 0.51},
		{"more than half of the time there was nothing to send", func(x float64) *Evidence { return sends(1, 0, 0, x) }, 51, 50},
	})
	checkEdges(t, ReceiverCPU, []edge{
		{"nine tenths of a core", func(x float64) *Evidence { return receives(x, 0.5, 0, 100) }, 0.9, 0.899},
		{"a core that is busy", func(x float64) *Evidence { return receives(0.2, x, 0.9, 100) }, 0.95, 0.949},
		{"with the network's interrupts", func(x float64) *Evidence { return receives(0.2, 1, x, 100) }, 0.6, 0.599},
		{"nine tenths of a core for each of two streams", func(x float64) *Evidence {
			e := mid(20*mbps, "cubic", 0).shared(2).evidence()
			cores(&e.Transfer.Server, x, 0, 0, 0.5, 0)
			return portion(e, &e.Transfer.Server, 100, func(s *bulk.Sample) { s.TCP.LastDataRecv = 41 })
		}, 1.8, 1.799},
		{"for how long is known", func(x float64) *Evidence {
			e := receives(0.2, 1, 0.9, 100)
			e.Transfer.Server.CPU.Elapsed = time.Duration(x)
			return e
		}, 10e9, 0},
		{"three tenths of the time it waited", func(x float64) *Evidence { return receives(1, 0.5, 0, x) }, 31, 30},
	})
}

// When pacing is said to have spared a transfer its losses. So many segments are sent,
// unpaced 8192, and sent again, in so many events.
func TestWhenPaced(t *testing.T) {
	type lost struct{ events, resent, sent uint32 }
	set := func(r *bulk.Result, l lost) {
		eachSample(&r.Client, func(_ int, s *bulk.TCPInfo) { s.TotalRetrans, s.DataSegsOut = l.resent, l.sent })
		r.Client.Counters = map[string]int64{"TcpExt.TCPSackRecovery": int64(l.events)}
	}
	for _, c := range []struct {
		name          string
		before, paced lost
		trains        float64 // share of short trains of packets that is lost
		fewer         bool
	}{
		{"none of three", lost{3, 3, 8192}, lost{0, 0, 8192}, 0, true},
		{"none of two may be chance", lost{2, 2, 8192}, lost{0, 0, 8192}, 0, false},
		{"unless trains lose packets, too", lost{2, 2, 8192}, lost{0, 0, 8192}, 0.1, true},
		{"one of two is not fewer by far", lost{2, 2, 8192}, lost{1, 1, 8192}, 0.1, false},
		{"one of four is", lost{4, 4, 8192}, lost{1, 1, 8192}, 0, true},
		{"as many of twice as much: one of four", lost{2, 2, 8192}, lost{1, 1, 16384}, 0, true},
		{"as often, but one packet instead of twenty", lost{2, 20, 8192}, lost{1, 1, 8192}, 0, true},
		{"of nineteen", lost{2, 19, 8192}, lost{1, 1, 8192}, 0, false},
		{"one of twenty, and half as much was sent", lost{2, 20, 8192}, lost{1, 1, 4096}, 0, false},
		{"none of 25 packets, in two events", lost{2, 25, 8192}, lost{0, 0, 8192}, 0, false},
	} {
		e := (&pathScene{scene: mid(5*mbps, "cubic", 0), change: trains(c.trains), trials: map[TrialKind]scene{TrialPaced: mid(6*mbps, "cubic", 0).paced(12.5 * mbps)}}).evidence()
		set(e.Transfer, c.before)
		set(e.Trials[0].Result, c.paced)
		v := newView(e)
		if got := v.whenPaced(); got.fewer != c.fewer {
			t.Errorf("%s: fewer %v (%+v)", c.name, got.fewer, got)
		}
	}
	for every, want := range map[int]bool{400: true, 600: false} { // half as often as one in 250 is one in 500
		c := pathScene{scene: mid(5*mbps, "cubic", 250), trials: map[TrialKind]scene{TrialPaced: mid(5*mbps, "cubic", every)}}
		if p := newView(c.evidence()).whenPaced(); p.asLossy != want {
			t.Errorf("one packet in 250 is lost, paced one in %d: as lossy %v", every, p.asLossy)
		}
	}
	// The pace is that of each connection.
	trial := mid(11*mbps, "cubic", 0).shared(4).paced(12.5 * mbps / 4)
	e := (&pathScene{scene: mid(5*mbps, "cubic", 250), trials: map[TrialKind]scene{TrialPaced: trial}}).evidence()
	if p := newView(e).whenPaced(); !p.atPace || !p.more {
		t.Errorf("four connections keep up with 12.5 Mb/s together: %+v", p)
	}
}

func TestShallowQueueEdges(t *testing.T) {
	base, fewer := mid(5*mbps, "cubic", 250), mid(12*mbps, "cubic", 0).paced(12.5*mbps)
	checkEdges(t, ShallowQueue, []edge{
		{"BBR gets four times as much and not all, and trains lose too much for a bucket", func(x float64) *Evidence {
			c := pathScene{scene: base, change: trains(x), trials: map[TrialKind]scene{TrialPaced: fewer, TrialCongestion: mid(20*mbps, "bbr", 100)}}
			return c.evidence()
		}, 0.6, 0.59},
	})
}

func TestPolicerEdges(t *testing.T) {
	bucket := func(lost float64, tried map[TrialKind]scene) *Evidence {
		c := pathScene{scene: mid(18*mbps, "cubic", 0), change: trains(lost), trials: tried}
		return c.evidence()
	}
	checkEdges(t, Policer, []edge{
		{"a fifth of each train is lost, where nothing else is", func(x float64) *Evidence {
			return bucket(x, map[TrialKind]scene{TrialCongestion: mid(19.5*mbps, "bbr", 0), TrialStreams: mid(19*mbps, "cubic", 0).shared(4)})
		}, 0.2, 0.19},
		{"or more than that, where trials differ", func(x float64) *Evidence {
			return bucket(x, map[TrialKind]scene{TrialCongestion: mid(30*mbps, "bbr", 15), TrialStreams: mid(19*mbps, "cubic", 80).shared(4)})
		}, 0.21, 0.2},
	})
}

func TestRandomLossEdges(t *testing.T) {
	base := mid(20*mbps, "cubic", 2000)
	checkEdges(t, RandomLoss, []edge{
		{"with BBR the queue goes: round trips were not twice as long", func(x float64) *Evidence {
			c := pathScene{scene: base.queueing(time.Duration(x)), trials: map[TrialKind]scene{TrialCongestion: mid(90*mbps, "bbr", 100)}}
			return c.evidence()
		}, 79e6, 80e6},
		{"something was lost", with(base, func(s *scene, x float64) { s.lossEvery = int(x) }), 2000, 0},
		{"a buffer held it for half of the time", with(base, func(s *scene, x float64) { s.sndbuf = x }), 0.49, 0.5},
		{"data waits for nine tenths of the time", with(base, func(s *scene, x float64) { s.idle = x }), 0.09, 0.1},
		{"the window was used up in half of the samples", func(x float64) *Evidence {
			e := base.evidence()
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.SndWnd = s.TCP.Unacked * s.TCP.SndMSS })
		}, 49, 50},
		{"half of the samples had nothing left to send", func(x float64) *Evidence {
			s := base
			s.cwnd = 1 << 20
			e := s.evidence()
			return portion(e, &e.Transfer.Client, x, func(s *bulk.Sample) { s.TCP.NotsentBytes = 0 })
		}, 49, 50},
	})
}

// Figures that models and causes share.
func TestSharedFigures(t *testing.T) {
	for _, c := range []struct {
		model, measured unit.Rate
		want            bool
	}{{76, 100, true}, {75, 100, false}, {132, 100, true}, {133, 100, false}, {100, 0, false}} {
		if Agrees(c.model, c.measured) != c.want {
			t.Errorf("%v against %v: want %v", c.model, c.measured, c.want)
		}
	}
	for _, c := range []struct {
		rate, link unit.Rate
		want       bool
	}{{90.1, 100, true}, {90, 100, false}, {104.9, 100, true}, {105, 100, false}} {
		if within(c.rate, c.link) != c.want {
			t.Errorf("%v on a link of %v: want %v", c.rate, c.link, c.want)
		}
	}
	v := newView(mid(20*mbps, "cubic", 0).evidence())
	limit, _ := v.pathLimit()
	for share, want := range map[float64]bool{0.879: true, 0.881: false} {
		if v.short(limit*unit.Rate(share)) != want {
			t.Errorf("%v of what the path carries is short: want %v", share, want)
		}
	}
	if known := newView(scene{goodput: 20 * mbps, rtt: ms, lowerBound: true, capacity: 100 * mbps}.evidence()).floor(); math.Abs(float64(known)/(97e6*1448/1500)-1) > 1e-6 {
		t.Errorf("a lower bound of 97 Mb/s carries at least %v", known)
	}
	beyond := scene{goodput: 20 * mbps, rtt: ms, lowerBound: true}.evidence()
	if beyond.Path.Forward.Capacity.Low = path.Fastest; newView(beyond).floor() != 0 {
		t.Error("what is faster than any link is taken for a lower bound")
	}
	for _, c := range []struct {
		spoil func(*Evidence)
		want  bool
	}{
		{func(*Evidence) {}, true},
		{func(e *Evidence) { e.Path.Forward.Capacity.Assumed = true }, false},
		{func(e *Evidence) { e.Path.Forward.Capacity.High = 0 }, false},
		{func(e *Evidence) { e.Path.Forward.Capacity.High = 18.8e6 }, false}, // the transfer reached more than a tenth beyond it
		{func(e *Evidence) { e.Path.Forward.Capacity.High = 18.9e6 }, true},
		{func(e *Evidence) { e.Path = nil }, false},
	} {
		e := mid(20*mbps, "cubic", 0).evidence()
		c.spoil(e)
		if _, known := newView(e).pathLimit(); known != c.want {
			t.Errorf("%+v: known %v, want %v", e.Path, known, c.want)
		}
	}
}

// On a slow link a burst of six packets takes its time, without that being a queue: 72 ms
// at 1 Mb/s.
func TestQueuedOnASlowLink(t *testing.T) {
	v := newView(scene{goodput: 0.5 * mbps, rtt: 100 * ms, capacity: mbps, cwnd: 100_000, inflight: 20_000, notsent: true}.evidence())
	for rtt, want := range map[time.Duration]bool{171 * ms: false, 173 * ms: true} {
		if got := v.queued(rtt); got != want {
			t.Errorf("a round trip of %v: queued %v", rtt, got)
		}
	}
	if newView(&Evidence{Transfer: &bulk.Result{}}).queued(time.Second) {
		t.Error("nothing is known of a round trip without a queue")
	}
}
