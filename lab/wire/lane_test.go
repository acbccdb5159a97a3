package wire

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/lab/schema"
	"github.com/fullbore/fullbore/unit"
)

// arrival is a segment as it leaves the lane.
type arrival struct {
	due    int64
	id     int // which segment it is, counted from the first sent
	ce     bool
	spoilt bool
}

// drive sends packets of n segments each through a lane, gap apart, and returns
// what arrives in order. Each segment has 1000 bytes.
func drive(d Direction, packets, n int, gap time.Duration) (*lane, []arrival) {
	l := newLane(d, 0, 1500)
	s := superPacket{version: 4, payload: make([]byte, n*960), mss: 960, ecn: 2}
	number := map[*packet]int{}
	for i := range packets {
		p := new(packet)
		if err := p.parse(s.build()); err != nil {
			panic(err)
		}
		number[p] = i
		l.admit(p, int64(i)*int64(gap))
	}
	var out []arrival
	for way := l.next(); way != nil; way = l.next() {
		c := *way.at(0)
		way.pop()
		for i := range c.n {
			out = append(out, arrival{due: c.due, id: number[c.packet]*n + c.first + i, ce: c.ce, spoilt: c.spoilt})
		}
		l.delivered(&c, c.due, false)
	}
	return l, out
}

// However packets come, n segments behind each other take n times bits/rate, and
// none arrives before its own bits could have.
func TestRateIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := unit.Rate(rapid.Float64Range(1e6, 1e11).Draw(t, "rate"))
		packets, n := rapid.IntRange(1, 200).Draw(t, "packets"), rapid.IntRange(1, 60).Draw(t, "segments")
		delay := time.Duration(rapid.IntRange(0, 1e9).Draw(t, "delay"))
		_, out := drive(Direction{Rate: rate, Delay: delay, Queue: Queue{Bytes: unit.GiB}}, packets, n, 0)
		if len(out) != packets*n {
			t.Fatalf("%d of %d segments arrived", len(out), packets*n)
		}
		perSegment := 8000e9 / float64(rate)
		for i, a := range out {
			exact := float64(delay) + float64(i+1)*perSegment
			if late := float64(a.due) - exact; late < -2 || late > float64(Quantum)+2 {
				t.Fatalf("segment %d arrives %.0f ns late", i, late)
			}
		}
		if last := float64(delay) + float64(len(out))*perSegment; math.Abs(float64(out[len(out)-1].due)-last) > 2 {
			t.Fatalf("the last arrives at %d, want %.0f", out[len(out)-1].due, last)
		}
	})
}

// Whatever is asked for, segments are neither made nor lost uncounted, and only
// Reorder changes their order.
func TestEverySegmentIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := func(name string) schema.Share {
			return rapid.SampledFrom([]schema.Share{0, 0, 0.01, 0.3, 1}).Draw(t, name)
		}
		d := Direction{
			Rate:      rapid.SampledFrom([]unit.Rate{0, 10 * unit.Mbps, unit.Gbps}).Draw(t, "rate"),
			Delay:     5 * time.Millisecond,
			Jitter:    rapid.SampledFrom([]time.Duration{0, time.Millisecond, 5 * time.Millisecond}).Draw(t, "jitter"),
			Loss:      Loss{Share: share("loss")},
			Duplicate: Duplicate(share("duplicate")),
			Corrupt:   Corrupt(share("corrupt")),
			Seed:      rapid.Uint64().Draw(t, "seed"),
		}
		if s := share("reorder"); s > 0 {
			d.Reorder = Reorder{Share: s, By: 2 * time.Millisecond}
		}
		if rapid.Bool().Draw(t, "policed") {
			d.Policer = Policer{Rate: 20 * unit.Mbps, Burst: 20_000}
		}
		if p := share("p"); p > 0 {
			d.Loss = Loss{Model: "gilbert", P: p, R: 0.2, Share: 0.9}
		}
		if rapid.Bool().Draw(t, "interrupted") {
			d.Outage = Outage{Every: 4 * time.Millisecond, For: time.Millisecond}
		}
		if faults := d.Faults(d.Delay, 1500); faults != nil {
			t.Fatal(faults)
		}
		l, out := drive(d, 50, 20, 300*time.Microsecond)
		s := l.stats()
		if s.SegmentsIn != 1000 || s.Waiting != 0 || s.SegmentsOut != uint64(len(out)) ||
			s.SegmentsIn+s.Duplicated != s.SegmentsOut+s.Drops.Total() {
			t.Fatalf("%d arrived: %+v", len(out), s)
		}
		inOrder := slices.IsSortedFunc(out, func(a, b arrival) int { return a.id - b.id })
		if !inOrder && d.Reorder.Share == 0 {
			t.Fatal("order changed")
		}
		if !slices.IsSortedFunc(out, func(a, b arrival) int { return int(a.due - b.due) }) {
			t.Fatal("time goes back")
		}
	})
}

// TestRunsStayTogether: segments are delivered together that follow each other, up to
// a quantum of the bottleneck's time.
func TestRunsStayTogether(t *testing.T) {
	for _, tt := range []struct {
		name   string
		d      Direction
		writes uint64 // of 60 segments of 1000 bytes in one super-packet
	}{
		{"no rate", Direction{}, 1},
		{"two in a quantum", Direction{Rate: 160 * unit.Mbps}, 30},
		{"one in a quantum", Direction{Rate: 80 * unit.Mbps}, 60},
		{"each marked but for the first two", Direction{Rate: 160 * unit.Mbps, ECN: ECN{Queue{Bytes: 1000}}}, 30},
		{"marked from the second on", Direction{Rate: 160 * unit.Mbps, ECN: ECN{Queue{Bytes: 1}}}, 31},
		{"a queue for ten", Direction{Rate: unit.Gbps, Queue: Queue{Packets: 10}}, 1},
		{"each alone", Direction{Duplicate: 1}, 120},
	} {
		l, _ := drive(tt.d, 1, 60, 0)
		if s := l.stats(); s.Writes != tt.writes {
			t.Errorf("%s: %d writes, want %d", tt.name, s.Writes, tt.writes)
		}
	}
	// A segment that is lost parts those before it from those behind it.
	l, out := drive(Direction{Loss: Loss{Share: 0.1}, Seed: 1}, 1, 60, 0)
	parts := uint64(0)
	for i, a := range out {
		if i == 0 || a.id != out[i-1].id+1 {
			parts++
		}
	}
	if s := l.stats(); s.Writes != parts || parts < 3 {
		t.Errorf("%d writes of %d parts", s.Writes, parts)
	}
}

// TestPacketIsHeld: a packet is needed once for each part of it that is on its way.
func TestPacketIsHeld(t *testing.T) {
	for want, d := range map[int]Direction{0: {BlackHoleAbove: 999}, 1: {}, 6: {Corrupt: 1}, 12: {Duplicate: 1}} {
		l := newLane(d, 0, 1500)
		var p packet
		if err := p.parse(superPacket{version: 4, payload: make([]byte, 6*960), mss: 960}.build()); err != nil {
			t.Fatal(err)
		}
		if l.admit(&p, 0); p.refs != want {
			t.Errorf("%+v: %d parts, want %d", d, p.refs, want)
		}
	}
}

// TestNextIsDueFirst: of both ways the one whose oldest is due first, and of two that
// are due at once the one that was not held back.
func TestNextIsDueFirst(t *testing.T) {
	for _, tt := range []struct {
		straight, held []int64
		want           string
	}{
		{nil, nil, "none"}, {[]int64{5}, nil, "straight"}, {nil, []int64{5}, "held"},
		{[]int64{5}, []int64{6}, "straight"}, {[]int64{5}, []int64{5}, "straight"}, {[]int64{5}, []int64{4}, "held"},
	} {
		var l lane
		for _, due := range tt.straight {
			l.straight.push(chunk{due: due})
		}
		for _, due := range tt.held {
			l.held.push(chunk{due: due})
		}
		got := map[*ring[chunk]]string{nil: "none", &l.straight: "straight", &l.held: "held"}[l.next()]
		if got != tt.want {
			t.Errorf("%v, held back %v: %s", tt.straight, tt.held, got)
		}
	}
}

// TestDelivered: what was written counts as out, and how late; what could not be
// written as an error, and as neither.
func TestDelivered(t *testing.T) {
	l := newLane(Direction{}, 0, 1500)
	var p packet
	if err := p.parse(superPacket{version: 4, payload: make([]byte, 3*960), mss: 960}.build()); err != nil {
		t.Fatal(err)
	}
	l.admit(&p, 0)
	l.delivered(&chunk{packet: &p, n: 2, due: 100}, 1100, false)
	l.delivered(&chunk{packet: &p, first: 2, n: 1, due: 100}, 9100, true)
	s := l.stats()
	got := []uint64{s.SegmentsOut, s.BytesOut, s.Writes, s.WriteErrors, s.Waiting, uint64(s.Lateness.Max)}
	if diff := cmp.Diff([]uint64{2, 2000, 1, 1, 0, 1000}, got); diff != "" {
		t.Error("out, bytes, writes, errors, waiting, latest: " + diff)
	}
}

// The same seed gives the same path; another seed another one; and an impairment
// that is added leaves the others' choices alone.
func TestSeed(t *testing.T) {
	ids := func(d Direction) (lost []int) {
		_, out := drive(d, 100, 20, time.Millisecond)
		arrived := make([]bool, 2000)
		for _, a := range out {
			arrived[a.id] = true
		}
		for id, ok := range arrived {
			if !ok {
				lost = append(lost, id)
			}
		}
		return lost
	}
	base := Direction{Loss: Loss{Share: 0.02}, Delay: 10 * time.Millisecond, Seed: 7}
	first := ids(base)
	if len(first) == 0 {
		t.Fatal("nothing lost")
	}
	if diff := cmp.Diff(first, ids(base)); diff != "" {
		t.Errorf("the same seed differs: %s", diff)
	}
	busy := base
	busy.Duplicate, busy.Corrupt, busy.Jitter = 0.1, 0.1, time.Millisecond
	busy.Reorder = Reorder{Share: 0.1, By: time.Millisecond}
	if diff := cmp.Diff(first, ids(busy)); diff != "" {
		t.Errorf("other impairments changed what is lost: %s", diff)
	}
	other := base
	other.Seed = 8
	if cmp.Equal(first, ids(other)) {
		t.Error("another seed loses the same segments")
	}
}

func TestQueue(t *testing.T) {
	const mbps8 = 8 * unit.Mbps // 1000 bytes take 1 ms
	for _, tt := range []struct {
		name              string
		queue             Queue
		ecn               ECN
		wantOut, wantPeak uint64 // of 100 segments at once
		wantMarked        uint64
	}{
		{"packets", Queue{Packets: 10}, ECN{}, 10, 10, 0},
		{"bytes", Queue{Bytes: 10_500}, ECN{}, 10, 10, 0},
		{"both, packets first", Queue{Bytes: 20_000, Packets: 10}, ECN{}, 10, 10, 0},
		{"both, bytes first", Queue{Bytes: 10_000, Packets: 20}, ECN{}, 10, 10, 0},
		{"default is at least 64 packets of 1500", Queue{}, ECN{}, 96, 96, 0},
		{"ecn by packets", Queue{Packets: 10}, ECN{Queue{Packets: 4}}, 10, 10, 5},
		{"ecn by bytes", Queue{Packets: 10}, ECN{Queue{Bytes: 4500}}, 10, 10, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _ := drive(Direction{Rate: mbps8, Queue: tt.queue, ECN: tt.ecn}, 2, 50, 0)
			s := l.stats()
			got := []uint64{s.SegmentsOut, s.PeakQueuePackets, s.PeakQueueBytes, s.Marked, s.Drops.Queue}
			want := []uint64{tt.wantOut, tt.wantPeak, tt.wantPeak * 1000, tt.wantMarked, 100 - tt.wantOut}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error("out, peak packets, peak bytes, marked, dropped: " + diff)
			}
		})
	}
}

// A queue drains at the rate: half full again after half its time.
func TestQueueDrains(t *testing.T) {
	l, _ := drive(Direction{Rate: 8 * unit.Mbps, Queue: Queue{Packets: 20}}, 2, 20, 10*time.Millisecond)
	if s := l.stats(); s.SegmentsOut != 30 {
		t.Errorf("%d of 20 + 20 segments got through, want 20 + 10", s.SegmentsOut)
	}
}

func TestPolicer(t *testing.T) {
	// The bucket of 10 segments is full; after that 1 segment passes per ms.
	l, out := drive(Direction{Policer: Policer{Rate: 8 * unit.Mbps, Burst: 10_000}}, 2, 20, 5*time.Millisecond)
	if s := l.stats(); s.SegmentsOut != 15 || s.Drops.Policer != 25 {
		t.Errorf("%d passed, %d policed, want 15 and 25", s.SegmentsOut, s.Drops.Policer)
	}
	if last := out[len(out)-1]; last.due != int64(5*time.Millisecond) {
		t.Errorf("a policer delays nothing, but the last arrived at %v", time.Duration(last.due))
	}
}

func TestReorder(t *testing.T) {
	l, out := drive(Direction{Reorder: Reorder{Share: 0.1, By: 2 * time.Millisecond}, Seed: 1}, 1000, 1, time.Millisecond)
	late := 0
	for _, a := range out {
		if lag := a.due - int64(a.id)*int64(time.Millisecond); lag == int64(2*time.Millisecond) {
			late++
		} else if lag != 0 {
			t.Fatalf("segment %d is %v late", a.id, time.Duration(lag))
		}
	}
	if s := l.stats(); uint64(late) != s.Reordered || late < 60 || late > 140 {
		t.Errorf("%d late, %d counted, want about 100", late, s.Reordered)
	}
}

// Jitter stays within its bounds, uses them, and is about zero on average.
func TestJitter(t *testing.T) {
	const delay, amplitude = 10 * time.Millisecond, 4 * time.Millisecond
	_, out := drive(Direction{Delay: delay, Jitter: amplitude, Seed: 3}, 20_000, 1, 100*time.Microsecond)
	low, high, total := time.Hour, time.Duration(0), time.Duration(0)
	for _, a := range out {
		d := time.Duration(a.due) - time.Duration(a.id)*100*time.Microsecond
		low, high, total = min(low, d), max(high, d), total+d
	}
	if low < delay-amplitude || high > delay+amplitude {
		t.Errorf("delays from %v to %v leave %v +- %v", low, high, delay, amplitude)
	}
	if high-low < amplitude {
		t.Errorf("delays from %v to %v hardly vary", low, high)
	}
	if mean := total / time.Duration(len(out)); mean < delay-amplitude/4 || mean > delay+amplitude/4 {
		t.Errorf("mean delay %v, want about %v", mean, delay)
	}
}

// The Gilbert model loses P/(P+R) of the segments in bursts of 1/R on average.
func TestGilbert(t *testing.T) {
	g := gilbert{Loss: Loss{P: 0.01, R: 0.25, Share: 1}, rng: rand.New(rand.NewPCG(5, 1))}
	const n = 1_000_000
	lost, bursts, before := 0, 0, false
	for range n {
		now := !g.pass(0, 0)
		if now {
			lost++
			if !before {
				bursts++
			}
		}
		before = now
	}
	if share := float64(lost) / n; math.Abs(share-0.01/0.26) > 0.002 {
		t.Errorf("lost %.4f, want %.4f", share, 0.01/0.26)
	}
	if mean := float64(lost) / float64(bursts); math.Abs(mean-4) > 0.2 {
		t.Errorf("bursts of %.2f, want 4", mean)
	}
}

func TestHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64Range(0, math.MaxInt64).Draw(t, "v")
		i := bucketOf(v)
		if u := upper(i); v > u || float64(u) > float64(v)*1.125+1 {
			t.Fatalf("%d is in bucket %d, up to %d", v, i, u)
		}
		if i > 0 && upper(i-1) >= v {
			t.Fatalf("%d also fits into bucket %d", v, i-1)
		}
	})
	var h histogram
	for range 98 {
		h.add(time.Microsecond, 1)
	}
	h.add(time.Millisecond, 2)
	got := h.lateness()
	if got.P50 < time.Microsecond || got.P50 > 1125 || got.P99 != time.Millisecond || got.Max != time.Millisecond {
		t.Errorf("%+v", got)
	}
}

// Once warm, deciding about a packet allocates nothing.
func TestNoAllocation(t *testing.T) {
	d := Direction{
		Rate: unit.Gbps, Delay: time.Millisecond, Jitter: time.Millisecond, Loss: Loss{Model: "gilbert", P: 0.01, R: 0.5, Share: 1}, Outage: Outage{Every: time.Second, For: time.Millisecond},
		Reorder: Reorder{Share: 0.01, By: time.Millisecond}, Duplicate: 0.01, Corrupt: 0.01, ECN: ECN{Queue{Packets: 5}}, MSSClamp: 1000,
	}
	l := newLane(d, 0, 1500)
	buf := superPacket{version: 4, payload: make([]byte, 40*960), mss: 960, ecn: 2}.build()
	var p packet
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += int64(time.Millisecond)
		if err := p.parse(buf); err != nil {
			t.Fatal(err)
		}
		l.admit(&p, now)
		for way := l.next(); way != nil && way.at(0).due <= now; way = l.next() {
			l.delivered(way.at(0), now, false)
			way.pop()
		}
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
