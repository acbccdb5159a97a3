package diagnose

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// pathScene is a scene with the trials that were run after it.
type pathScene struct {
	name   string
	scene  scene
	change func(*Evidence) // nil: none
	trials map[TrialKind]scene
	want   string
	sure   float64   // least confidence of the verdict
	next   TrialKind // that is still to be run; "": none
	never  string    // a cause that must not even be found; "": any may
}

// trialKinds in the order in which they are asked for.
var trialKinds = []TrialKind{TrialSegment, TrialAgain, TrialPaced, TrialCongestion, TrialStreams, TrialLonger, TrialDepth}

func (c *pathScene) evidence() *Evidence {
	e := c.scene.evidence()
	if c.change != nil {
		c.change(e)
	}
	for _, kind := range trialKinds {
		s, run := c.trials[kind]
		if !run {
			continue
		}
		e.Trials = append(e.Trials, Trial{Kind: kind, Spec: s.spec, Result: s.evidence().Transfer})
	}
	return e
}

// turned is the same evidence of the other direction.
func turned(e *Evidence) *Evidence {
	turn := func(r *bulk.Result) { r.Client, r.Server = r.Server, r.Client }
	e.Direction = bulk.Reverse
	turn(e.Transfer)
	for i := range e.Trials {
		turn(e.Trials[i].Result)
	}
	if e.Path != nil {
		e.Path.Forward, e.Path.Reverse = e.Path.Reverse, e.Path.Forward
	}
	return e
}

func checkPathScenes(t *testing.T, scenes []pathScene) {
	t.Helper()
	var all findings
	for _, c := range scenes {
		d := Diagnose(c.evidence())
		all.add(c.name, d, true)
		t.Run(c.name, func(t *testing.T) {
			if d.Verdict.Cause != c.want || d.Verdict.Confidence < c.sure {
				t.Errorf("want %s (at least %v):\n%s", c.want, c.sure, words(d))
			}
			var next TrialKind
			if d.Next != nil {
				next = d.Next.Kind
			}
			if next != c.next {
				t.Errorf("next trial is %q, want %q", next, c.next)
			}
			for _, f := range d.Findings {
				if f.Cause == c.never {
					t.Errorf("found: %s: %s", f.Cause, f.Says)
				}
			}
			back := Diagnose(turned(c.evidence())).Verdict
			if back.Cause != d.Verdict.Cause || back.Confidence != d.Verdict.Confidence {
				t.Errorf("the other way round it is %s (%v)", back.Cause, back.Confidence)
			}
		})
	}
	all.check(t)
}

// The scenes below are of one path, of 100 Mb/s and 40 ms without a queue, and of
// congestion windows that are used up.
func mid(goodput unit.Rate, congestion string, lossEvery int) scene {
	s := scene{goodput: goodput, rtt: 40 * ms, congestion: congestion, lossEvery: lossEvery, capacity: 100 * mbps, notsent: true}
	s.cwnd = goodput.BytesIn(s.rtt)
	if lossEvery > 0 {
		events := float64(goodput.BytesIn(11*time.Second)) / 1448 / float64(lossEvery)
		s.counters = map[string]int64{"TcpExt.TCPSackRecovery": int64(events)}
	}
	return s
}

func (s scene) paced(rate unit.Rate) scene { s.spec.Pace = rate; return s }

// shared makes several streams of one.
func (s scene) shared(streams int) scene {
	s.streams, s.spec.Streams = streams, streams
	s.cwnd /= unit.Size(streams)
	return s
}

func (s scene) queueing(rtt time.Duration) scene {
	s.minRTT, s.rtt = s.rtt, rtt
	s.cwnd = s.goodput.BytesIn(rtt) / unit.Size(max(1, s.streams))
	return s
}

// trains lets a share of the packets of short trains be lost.
func trains(lost float64) func(*Evidence) {
	return func(e *Evidence) { e.Path.Forward.Capacity.Lost = lost }
}

// eachSample changes what the senders (or the receivers) recorded; n counts the
// samples of a stream from 0.
func eachSample(end *bulk.End, change func(n int, t *bulk.TCPInfo)) {
	for i := range end.Streams {
		for n := range end.Streams[i].Samples {
			change(n, &end.Streams[i].Samples[n].TCP)
		}
	}
}

// overtaking packets are seen once a sample, and undone are the reactions to loss
// that proved wrong, and segments that came twice.
func overtaking(undone int64) func(*Evidence) {
	return func(e *Evidence) {
		eachSample(&e.Transfer.Client, func(n int, t *bulk.TCPInfo) { t.ReordSeen, t.Reordering = uint32(n), 30 })
		setCounter(e, "TcpExt.TCPDSACKRecv", undone)
	}
}

func setCounter(e *Evidence, name string, n int64) {
	counters := maps.Clone(e.Transfer.Client.Counters)
	if counters == nil {
		counters = map[string]int64{}
	}
	counters[name] = n
	e.Transfer.Client.Counters = counters
}

// Loss without a queue: what is lost at random, in a queue too short for bursts,
// in a policer's bucket, or not at all, since it was overtaken.
func TestLossWithoutQueue(t *testing.T) {
	base := mid(5*mbps, "cubic", 250)
	same, fewer := base.paced(12.5*mbps), mid(12*mbps, "cubic", 0).paced(12.5*mbps)
	fast := mid(94*mbps, "bbr", 250)
	checkPathScenes(t, []pathScene{
		{name: "nothing was tried yet", scene: base, want: RandomLoss, sure: 0.9, next: TrialPaced},
		{name: "paced it loses as much, with BBR all gets through", scene: base,
			trials: map[TrialKind]scene{TrialPaced: same, TrialCongestion: fast}, want: RandomLoss, sure: 0.97},
		{name: "trains lose as much as the transfer", scene: base, change: trains(0.004),
			trials: map[TrialKind]scene{TrialPaced: same, TrialCongestion: fast}, want: RandomLoss, sure: 0.97},
		{name: "with BBR nearly all, and each of four as much as the one: no bucket", scene: base, change: trains(0.02),
			trials: map[TrialKind]scene{TrialPaced: same, TrialCongestion: mid(83*mbps, "bbr", 200), TrialStreams: mid(20*mbps, "cubic", 250).shared(4)}, want: RandomLoss, sure: 0.9},
		{name: "what leaves evenly is not lost", scene: base, change: trains(0.8),
			trials: map[TrialKind]scene{TrialPaced: fewer, TrialCongestion: fast}, want: ShallowQueue, sure: 0.97, never: Policer},
		{name: "evenly means BBR, of which several connections make no more", scene: base, change: trains(0.8),
			trials: map[TrialKind]scene{TrialCongestion: fast, TrialStreams: mid(8*mbps, "cubic", 100).shared(4)}, want: ShallowQueue, sure: 0.9, next: TrialPaced},
		{name: "a pace below the bucket's rate loses nothing either, but BBR finds the rate", scene: base, change: trains(0.4),
			trials: map[TrialKind]scene{TrialPaced: fewer, TrialCongestion: mid(19.5*mbps, "bbr", 15), TrialStreams: mid(9*mbps, "cubic", 80).shared(4)}, want: Policer, sure: 0.9},
		{name: "four connections and BBR all come to the bucket's rate", scene: mid(18*mbps, "cubic", 250),
			trials: map[TrialKind]scene{TrialPaced: mid(19*mbps, "cubic", 40).paced(45 * mbps), TrialCongestion: mid(19.5*mbps, "bbr", 15), TrialStreams: mid(19*mbps, "cubic", 80).shared(4)}, want: Policer, sure: 0.9},
		{name: "a policer and BBR from the start", scene: mid(19.5*mbps, "bbr", 170), change: trains(0.4),
			trials: map[TrialKind]scene{TrialStreams: mid(19.3*mbps, "bbr", 9).shared(4)}, want: Policer, sure: 0.9},
		{name: "others share what it gets in another way: a queue, and no bucket", scene: base,
			trials: map[TrialKind]scene{TrialPaced: same, TrialCongestion: mid(22*mbps, "bbr", 50).queueing(60 * ms), TrialStreams: mid(20*mbps, "cubic", 250).shared(4)}, want: RandomLoss, sure: 0.9, never: Policer},
		{name: "BBR on a busy host gets little: that alone is no bucket", scene: mid(14*mbps, "reno", 250),
			trials: map[TrialKind]scene{TrialPaced: mid(15*mbps, "reno", 250).paced(35 * mbps), TrialCongestion: mid(17*mbps, "bbr", 250)}, want: Policer, next: TrialStreams},
		{name: "each of four gets as much as the one, whatever BBR got", scene: mid(14*mbps, "reno", 250),
			trials: map[TrialKind]scene{TrialPaced: mid(15*mbps, "reno", 250).paced(35 * mbps), TrialCongestion: mid(17*mbps, "bbr", 250), TrialStreams: mid(54*mbps, "reno", 250).shared(4)}, want: RandomLoss, sure: 0.75, never: Policer},
		{name: "packets overtake each other and are sent again unnecessarily", scene: base, change: overtaking(18), want: Reordering, sure: 0.9, next: TrialCongestion},
		{name: "they overtake each other, which BBR minds less", scene: base, change: overtaking(18), trials: map[TrialKind]scene{TrialCongestion: fast, TrialPaced: same}, want: Reordering, sure: 0.9},
		{name: "they overtake each other and the path is full: jitter", scene: mid(95*mbps, "cubic", 0), change: overtaking(0), want: Healthy, sure: 0.85},
		{name: "the path duplicates packets, and loses some at random", scene: base, change: func(e *Evidence) { setCounter(e, "TcpExt.TCPDSACKRecv", 5000) },
			trials: map[TrialKind]scene{TrialPaced: same, TrialCongestion: fast}, want: RandomLoss, sure: 0.9},
		{name: "damaged frames explain it", scene: base, change: func(e *Evidence) { wired(e, host.LinkCounters{CRC: 18}) },
			trials: map[TrialKind]scene{TrialPaced: same, TrialCongestion: fast}, want: LinkErrors, sure: 0.9},
	})
}

// A round trip that is longer than without load: the path's queue is full of this
// transfer, of others, or it is the way back that is full.
func TestQueue(t *testing.T) {
	base := mid(20*mbps, "cubic", 2000).queueing(60 * ms)
	acks := func(e *Evidence) { // one for each two segments, 52 bytes each: 0.36 Mb/s
		e.Path.Reverse.Capacity = path.Capacity{Rate: 0.4 * mbps, Low: 0.38 * mbps, High: 0.42 * mbps, Method: "packet trains"}
		for _, end := range []*bulk.End{&e.Transfer.Client, &e.Transfer.Server} {
			eachSample(end, func(n int, t *bulk.TCPInfo) { t.SegsIn, t.SegsOut = uint32(86*n), uint32(86*n) })
		}
	}
	carried := func(bytes int64) func(*Evidence) {
		return func(e *Evidence) {
			e.Transfer.Client.Links = []host.LinkDelta{{Name: "eth0", Used: true, LinkCounters: host.LinkCounters{TxBytes: bytes}}}
		}
	}
	checkPathScenes(t, []pathScene{
		{name: "a queue, and a fifth of the path's rate: others fill it", scene: base, want: CompetingTraffic, sure: 0.9, next: TrialCongestion},
		{name: "BBR and four connections take a larger share of it", scene: base,
			trials: map[TrialKind]scene{TrialCongestion: mid(45*mbps, "bbr", 100).queueing(60 * ms), TrialStreams: mid(50*mbps, "cubic", 500).shared(4).queueing(60 * ms)}, want: CompetingTraffic, sure: 0.97},
		{name: "no queue, but the sender's interface is busy with others", scene: mid(20*mbps, "cubic", 0), change: carried(110_000_000), want: CompetingTraffic, sure: 0.75, next: TrialCongestion},
		{name: "others share the interface, but not the bottleneck", scene: mid(20*mbps, "cubic", 1940), change: carried(50_000_000), want: RandomLoss, sure: 0.75, next: TrialPaced, never: CompetingTraffic},
		{name: "the same queue, filled by acknowledgements on the way back", scene: mid(20*mbps, "cubic", 0).queueing(130 * ms), change: acks, want: ReversePath, sure: 0.9, never: CompetingTraffic},
		{name: "as many acknowledgements, and room for them", scene: base, change: func(e *Evidence) { acks(e); e.Path.Reverse.Capacity.Rate = 10 * mbps }, want: CompetingTraffic, sure: 0.9, next: TrialCongestion},
		{name: "most acknowledgements are lost", scene: mid(20*mbps, "cubic", 0), change: func(e *Evidence) {
			acks(e)
			e.Path.Reverse.Capacity.Rate = 50 * mbps
			eachSample(&e.Transfer.Client, func(n int, t *bulk.TCPInfo) { t.SegsIn = uint32(20 * n) })
		}, want: ReversePath, sure: 0.75},
		{name: "most acknowledgements are lost, and what the way back carries is not known", scene: mid(20*mbps, "cubic", 0), change: func(e *Evidence) {
			acks(e)
			e.Path.Reverse.Capacity.Assumed = true
			eachSample(&e.Transfer.Client, func(n int, t *bulk.TCPInfo) { t.SegsIn = uint32(20 * n) })
		}, want: ReversePath, sure: 0.5},
		{name: "full, and the queue doubles the round trip", scene: mid(95*mbps, "cubic", 20000).queueing(75 * ms), want: Healthy, sure: 0.9},
		{name: "full, and a round trip takes six times as long", scene: mid(95*mbps, "reno", 20000).queueing(240 * ms), want: Bufferbloat, sure: 0.9},
		{name: "it looked as if it might get long, and Reno's slow start finds the end", scene: mid(95*mbps, "cubic", 0).queueing(70 * ms),
			trials: map[TrialKind]scene{TrialDepth: mid(94*mbps, "reno", 200).queueing(260 * ms)}, want: Bufferbloat, sure: 0.9},
		{name: "it may get long: ask", scene: mid(95*mbps, "cubic", 0).queueing(70 * ms), want: Healthy, sure: 0.9, next: TrialDepth},
		{name: "it does not", scene: mid(95*mbps, "cubic", 0).queueing(70 * ms),
			trials: map[TrialKind]scene{TrialDepth: mid(94*mbps, "reno", 200).queueing(80 * ms)}, want: Healthy, sure: 0.9},
		{name: "nobody knows the capacity, and four get no more than one", scene: unknownCapacity(mid(95*mbps, "bbr", 200)),
			trials: map[TrialKind]scene{TrialStreams: mid(96*mbps, "bbr", 50).shared(4)}, want: Healthy, sure: 0.85},
		{name: "nobody knows the capacity, and four get four times as much", scene: unknownCapacity(mid(20*mbps, "bbr", 200)),
			trials: map[TrialKind]scene{TrialStreams: mid(80*mbps, "bbr", 200).shared(4)}, want: Unknown},
	})
}

func unknownCapacity(s scene) scene { s.assumed = true; return s }

// What holds the network's trials back holds the first transfer, too, whatever its
// own signs are.
func TestUnderneath(t *testing.T) {
	base := mid(20*mbps, "cubic", 2000)
	base.rmem = "4096 65536 200000"
	window := scene{goodput: 20.3 * mbps, rtt: 40 * ms, congestion: "bbr", capacity: 100 * mbps, notsent: true, window: 100_000, inflight: 100_000, cwnd: 300_000, rwnd: 0.95, recvBuf: 200_000, lossEvery: 2000}
	more := window
	more.goodput = 40 * mbps
	checkPathScenes(t, []pathScene{
		{name: "BBR meets the receiver's window, and gets no more", scene: base, trials: map[TrialKind]scene{TrialAgain: base, TrialPaced: base, TrialCongestion: window}, want: ReceiverBuffer, sure: 0.75},
		{name: "it meets it only at twice the rate", scene: base, trials: map[TrialKind]scene{TrialPaced: base, TrialCongestion: more}, want: RandomLoss, sure: 0.75},
	})
}

// What chance or too little time did, another transfer undoes.
func TestAgainAndLonger(t *testing.T) {
	stalled := mid(70*mbps, "cubic", 20_000)
	opening := scene{goodput: 20 * mbps, rtt: 40 * ms, capacity: 100 * mbps, notsent: true, windowGrowth: 3, cwnd: 100000, inflight: 99000, window: 900000}
	checkPathScenes(t, []pathScene{
		{name: "somewhat short, and packets are lost again and again: that is no stall", scene: mid(70*mbps, "cubic", 3000), want: RandomLoss, next: TrialPaced},
		{name: "somewhat short: again", scene: stalled, want: RandomLoss, next: TrialAgain},
		{name: "again it is full", scene: stalled, trials: map[TrialKind]scene{TrialAgain: mid(95*mbps, "cubic", 30000)}, want: Healthy, sure: 0.85},
		{name: "again it is as short", scene: stalled, trials: map[TrialKind]scene{TrialAgain: stalled}, want: RandomLoss, next: TrialPaced},
		{name: "its windows are opening: longer", scene: opening, want: ShortTransfer, sure: 0.75, next: TrialLonger},
		{name: "with more time nothing arrives", scene: opening, trials: map[TrialKind]scene{TrialLonger: {rtt: 40 * ms}}, want: ShortTransfer, sure: 0.75, next: TrialCongestion},
		{name: "with more time it fills the path", scene: opening, trials: map[TrialKind]scene{TrialLonger: mid(94*mbps, "cubic", 0)}, want: Healthy, sure: 0.85},
	})
}

// Small packets, and large ones that vanish.
func TestPacketSizes(t *testing.T) {
	size := func(mss, pmtu uint32, probed path.MTU) func(*Evidence) {
		return func(e *Evidence) {
			e.Path.Forward.MTU = probed
			eachSample(&e.Transfer.Client, func(_ int, t *bulk.TCPInfo) { t.SndMSS, t.PMTU = mss, pmtu })
		}
	}
	hole := path.MTU{Bytes: 1400, Link: 1500, Method: "udp probe", Note: "packets above 1400 bytes vanish without an ICMP error", BlackHole: true}
	told := path.MTU{Bytes: 1400, Link: 1500, Method: "udp probe", Note: "the kernel knows of the limit, by an ICMP error or from its routes"}
	full := mid(95*mbps, "cubic", 0)
	stuck := mid(1000, "cubic", 1)
	small := mid(92*mbps, "cubic", 0)
	small.spec.MSS = 1340
	checkPathScenes(t, []pathScene{
		{name: "segments of 536 bytes where 1448 would pass", scene: mid(88*mbps, "cubic", 0), change: size(524, 1500, path.MTU{Bytes: 1500, Link: 1500}), want: SmallMSS, sure: 0.9},
		{name: "the same with loss: larger segments grow the window faster", scene: mid(3*mbps, "cubic", 250), change: size(524, 1500, path.MTU{Bytes: 1500, Link: 1500}), want: RandomLoss, sure: 0.9, next: TrialPaced},
		{name: "that was asked for", scene: withMSS(mid(88*mbps, "cubic", 0), 536), change: size(524, 1500, path.MTU{Bytes: 1500, Link: 1500}), want: Healthy, sure: 0.85},
		{name: "a tunnel takes 100 bytes of each packet", scene: full, change: size(1348, 1400, told), want: Healthy, sure: 0.85},
		{name: "a link of 9000 bytes, a path of 1500", scene: full, change: size(1448, 1500, path.MTU{Bytes: 1500, Link: 9000}), want: Healthy, sure: 0.85},
		{name: "full packets vanish", scene: stuck, change: size(1448, 1500, hole), want: MTUBlackHole, sure: 0.85, next: TrialSegment},
		{name: "nothing arrives at all", scene: scene{rtt: 40 * ms, capacity: 100 * mbps, notsent: true, cwnd: 14480}, change: size(1448, 1500, hole), want: MTUBlackHole, sure: 0.85, next: TrialSegment},
		{name: "nothing arrives at all, but in small segments", scene: scene{rtt: 40 * ms, capacity: 100 * mbps, notsent: true, cwnd: 14480}, change: size(1448, 1500, hole), trials: map[TrialKind]scene{TrialSegment: small}, want: MTUBlackHole, sure: 0.9},
		{name: "large ones come through slowly, small ones well", scene: mid(5*mbps, "cubic", 0), change: size(1448, 1500, hole), trials: map[TrialKind]scene{TrialSegment: withRate(small, 40*mbps)}, want: MTUBlackHole, sure: 0.9},
		{name: "small segments come through", scene: stuck, change: size(1448, 1500, hole), trials: map[TrialKind]scene{TrialSegment: small}, want: MTUBlackHole, sure: 0.9},
		{name: "it found its way round", scene: full, change: size(1348, 1400, hole), want: Healthy, sure: 0.85},
	})
	// A limit of the path that the kernel knows, and one that only the handshake told
	// of, are no black hole, however badly the transfer went and whatever its TCP
	// believes.
	agreed := path.MTU{Bytes: 1400, Link: 1500, Method: "kernel", Note: "the TCP segment size agreed at the handshake fits packets of 1400 bytes"}
	for _, mtu := range []path.MTU{told, agreed} {
		for _, pmtu := range []uint32{0, 1400, 1500} {
			e := stuck.evidence()
			size(1348, pmtu, mtu)(e)
			for _, f := range Diagnose(e).Findings {
				if f.Cause == MTUBlackHole {
					t.Errorf("%q, and TCP believes in %d bytes: packets are said to vanish", mtu.Note, pmtu)
				}
			}
		}
	}
}

func withMSS(s scene, mss int) scene { s.spec.MSS = mss; return s }

// A sender that runs dry, for want of buffer or of data.
func TestRunsDry(t *testing.T) {
	queued := func(bytes int) func(*Evidence) {
		return func(e *Evidence) {
			for i := range e.Transfer.Client.Streams {
				samples := e.Transfer.Client.Streams[i].Samples
				for n := range samples {
					samples[n].Mem.SendQueued = bytes
				}
			}
		}
	}
	dry := scene{goodput: 20 * mbps, rtt: 40 * ms, capacity: 100 * mbps, sendBuf: 128 << 10, wmem: "4096 16384 131072"}
	grows := dry
	grows.wmem = "4096 16384 4194304"
	checkPathScenes(t, []pathScene{
		{name: "the buffer is full, at its maximum, and makes just that rate", scene: withSndbuf(dry, 0.8), change: queued(110 << 10), want: SenderBuffer, sure: 0.9},
		{name: "the buffer may still grow: the application writes no more", scene: grows, change: queued(110 << 10), want: SlowSender, sure: 0.75},
		{name: "the buffer is at its maximum and half empty", scene: withRate(dry, 8*mbps), change: queued(40 << 10), want: SlowSender, sure: 0.75},
	})
}

func withSndbuf(s scene, share float64) scene { s.sndbuf = share; return s }
func withRate(s scene, rate unit.Rate) scene  { s.goodput = rate; return s }

// A trial is like the transfer, but for a pace that is none.
func TestTrialOfAnAbsurdPace(t *testing.T) {
	for _, pace := range []unit.Rate{unit.Rate(math.Inf(1)), unit.Rate(math.Inf(-1)), unit.Rate(math.NaN()), -1, path.Fastest} {
		e := mid(70*mbps, "cubic", 3000).evidence()
		e.Transfer.Spec.Pace = pace
		next := Diagnose(e).Next
		if next == nil {
			t.Fatal("no trial is asked for")
		}
		if !(next.Spec.Pace >= 0 && next.Spec.Pace < path.Fastest) {
			t.Errorf("after a transfer at a pace of %v: a trial at %v", float64(pace), float64(next.Spec.Pace))
		}
	}
}

// Round trips that are few, because a queue made them long, call for more time
// before anything else is asked. The transfer takes about ten seconds.
func TestSlowRounds(t *testing.T) {
	for _, c := range []struct {
		name        string
		rtt, minRTT time.Duration
		goodput     unit.Rate
		want        bool
	}{
		{"seven round trips, of three and a half times the least", 1400 * ms, 400 * ms, 20 * mbps, true},
		{"of three times the least", 1400 * ms, 1400 * ms / 3, 20 * mbps, true},
		{"of less than that", 1400 * ms, 470 * ms, 20 * mbps, false},
		{"nine of them", 1100 * ms, 300 * ms, 20 * mbps, false},
		{"three times the least and no more", 1350 * ms, 450 * ms, 20 * mbps, false},
		{"the path is full", 1400 * ms, 400 * ms, 95 * mbps, false},
	} {
		s := mid(c.goodput, "cubic", 0)
		s.rtt, s.minRTT = c.rtt, c.minRTT
		if got := newView(s.evidence()).slowRounds(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	v := newView(mid(20*mbps, "cubic", 0).evidence())
	v.rtt = v.senders[0].elapsed() / 8
	v.minRTT = v.rtt / 4
	if v.slowRounds() {
		t.Error("eight round trips are too few")
	}
	if v.rtt++; !v.slowRounds() {
		t.Error("less than eight round trips are enough")
	}
	if newView(&Evidence{}).slowRounds() {
		t.Error("nothing was transferred")
	}
}

// Trials of a transfer with several streams: together they send at the pace, and the
// trial of more has four times as many.
func TestTrialsOfSeveralStreams(t *testing.T) {
	base, found := mid(5*mbps, "cubic", 250), Finding{Cause: RandomLoss}
	one, four := newView(base.evidence()), newView(base.shared(4).evidence())
	for _, v := range []*view{one, four} {
		paced, streams := v.askPaced(&found), v.askStreams(&found)
		if paced == nil || streams == nil {
			t.Fatal("no trial is asked for")
		}
		n := len(v.senders)
		if total, want := paced.Spec.Pace*unit.Rate(n), one.askPaced(&found).Spec.Pace; math.Abs(float64(total/want)-1) > 1e-9 {
			t.Errorf("%d streams at %v each, want %v together", n, paced.Spec.Pace, want)
		}
		if streams.Spec.Streams != 4*n {
			t.Errorf("%d streams after %d", streams.Spec.Streams, n)
		}
	}
}

// A congestion control is tried where the sending host has it, or does not say.
func TestAllows(t *testing.T) {
	for _, c := range []struct {
		facts *host.Facts
		want  bool
	}{
		{nil, true},
		{&host.Facts{}, true},
		{&host.Facts{Tunables: map[string]string{"net.ipv4.tcp_available_congestion_control": "reno bbr cubic"}}, true},
		{&host.Facts{Tunables: map[string]string{"net.ipv4.tcp_available_congestion_control": "reno cubic bbr2"}}, false},
	} {
		v := newView(mid(5*mbps, "cubic", 250).evidence())
		v.SenderHost = c.facts
		if got := v.askCongestion(&Finding{Cause: RandomLoss}) != nil; got != c.want {
			t.Errorf("%+v: BBR is tried %v, want %v", c.facts, got, c.want)
		}
	}
}

// A processor that a trial kept busy is not what holds the first transfer.
func TestUnderneathIsNoProcessor(t *testing.T) {
	c := pathScene{scene: mid(20*mbps, "cubic", 2000), trials: map[TrialKind]scene{TrialCongestion: {goodput: 20.3 * mbps, rtt: 40 * ms, congestion: "bbr", capacity: 100 * mbps}}}
	e := c.evidence()
	cores(&e.Trials[0].Result.Client, 0.5, 0.5, 0.8, 0.9, 0)
	v := newView(e)
	if v.trial(TrialCongestion).found(SenderCPU) == nil || v.underneath() != nil {
		t.Errorf("underneath: %+v", v.underneath())
	}
	e = c.evidence()
	cores(&e.Trials[0].Result.Server, 0.97, 0, 0, 0.99, 0.1)
	e.Trials[0].Result.Server.Counters = map[string]int64{"TcpExt.TCPBacklogDrop": 3}
	if v = newView(e); v.trial(TrialCongestion).found(ReceiverCPU) == nil {
		t.Fatal("the trial kept no processor busy")
	}
	if f := v.underneath(); f != nil && f.Cause == ReceiverCPU {
		t.Errorf("underneath: %+v", f)
	}
}
