package datagram

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// iperf3Tally is iperf3's accounting (iperf_udp_recv in its iperf_udp.c), written down
// without care for anything else.
type iperf3Tally struct {
	packetCount, cntError, outOfOrder int64
	jitter, prevTransit               float64
	received                          bool
}

func (p *iperf3Tally) recv(pcount int64, sent, arrival time.Duration) {
	if pcount >= p.packetCount+1 {
		if pcount > p.packetCount+1 {
			p.cntError += pcount - 1 - p.packetCount
		}
		p.packetCount = pcount
	} else {
		p.outOfOrder++
		if p.cntError > 0 {
			p.cntError--
		}
	}
	transit := (arrival - sent).Seconds()
	if !p.received {
		p.prevTransit = transit
	}
	p.received = true
	d := math.Abs(transit - p.prevTransit)
	p.prevTransit = transit
	p.jitter += (d - p.jitter) / 16
}

// Whatever a path does to datagrams, the counts are iperf3's, also where a
// narrow number wraps, which iperf3 itself does not get over.
func TestTallyIsIperf3s(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := header{wide: rapid.Bool().Draw(t, "wide")}
		base := rapid.SampledFrom([]int64{0, 1<<31 - 100, 1<<32 - 100, 1 << 32, 5<<32 - 100}).Draw(t, "base")
		n := rapid.IntRange(1, 300).Draw(t, "datagrams")
		var order []int64 // as they come: some are lost, late, or come twice
		for i := range n {
			fate := rapid.IntRange(0, 9).Draw(t, "fate")
			number := base + int64(i) + 1
			switch fate {
			case 0, 1: // lost
			case 2: // twice
				order = append(order, number, number)
			case 3: // late
				order = append(order, number)
				back := rapid.IntRange(1, 20).Draw(t, "late")
				for j := len(order) - 1; j > max(0, len(order)-1-back); j-- {
					order[j], order[j-1] = order[j-1], order[j]
				}
			default:
				order = append(order, number)
			}
		}
		got, want := tally{highest: base}, iperf3Tally{packetCount: base}
		at, omitAt := time.Duration(0), rapid.IntRange(0, n).Draw(t, "omitted")
		var omitted bulk.Counts
		for i, number := range order {
			at += time.Duration(rapid.IntRange(0, 5e6).Draw(t, "gap"))
			sent := time.Duration(number-base) * time.Millisecond
			if i == omitAt {
				omitted = got.counts()
				got.restart()
				want.jitter, want.received = 0, false
			}
			b := make([]byte, headerSize64)
			h.put(b, number, sent)
			parsed, parsedSent, ok := h.parse(b, got.highest)
			if !ok || parsed != number || parsedSent != sent {
				t.Fatalf("parse: number %d sent %v, want %d and %v", parsed, parsedSent, number, sent)
			}
			got.add(arrival{parsed, 100, parsedSent, at}, 24*time.Hour)
			want.recv(number, sent, at)
		}
		counts := bulk.Counts{Packets: want.packetCount, Lost: want.cntError, OutOfOrder: want.outOfOrder}
		if diff := cmp.Diff(counts, got.counts()); diff != "" {
			t.Errorf("-iperf3 +got:\n%s", diff)
		}
		if math.Abs(got.jitter-want.jitter) > 1e-9 || got.malformed != 0 || got.bytes != 100*int64(len(order)) {
			t.Errorf("jitter %v, want %v; %d malformed, %d bytes of %d datagrams", got.jitter, want.jitter, got.malformed, got.bytes, len(order))
		}
		d := got.since(omitted)
		if d.Lost < 0 || d.Lost+d.Omitted.Lost != want.cntError || d.Packets+d.Omitted.Packets != want.packetCount {
			t.Errorf("divided into %+v, the sum being %+v", d, counts)
		}
	})
}

func TestTallyAbsurdNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		numbers []int64
		want    bulk.Datagrams
	}{
		"one in between":                {[]int64{1, 2, 1 << 30, 3, 4}, bulk.Datagrams{Packets: 4, Malformed: 1}},
		"the last":                      {[]int64{1, 2, 1 << 30}, bulk.Datagrams{Packets: 2, Malformed: 1}},
		"an outage":                     {[]int64{1, 2, 100_001, 100_002}, bulk.Datagrams{Packets: 100_002, Lost: 99_998}},
		"an outage, then out of order":  {[]int64{1, 2, 100_002, 100_001, 100_003}, bulk.Datagrams{Packets: 100_003, Lost: 99_998, OutOfOrder: 1}},
		"an outage, then a gap":         {[]int64{1, 2, 100_001, 100_011}, bulk.Datagrams{Packets: 100_011, Lost: 100_007}},
		"two that do not agree":         {[]int64{1, 1 << 30, 1 << 31, 2}, bulk.Datagrams{Packets: 2, Malformed: 2}},
		"more than can have been sent":  {[]int64{1, 1 << 40, 1<<40 + 1, 2}, bulk.Datagrams{Packets: 2, Malformed: 2}},
		"the largest":                   {[]int64{1, math.MaxInt64, math.MaxInt64, 2}, bulk.Datagrams{Packets: 2, Malformed: 2}},
		"none, and less than none":      {[]int64{1, 0, -5, math.MinInt64, 2}, bulk.Datagrams{Packets: 2, Malformed: 3}},
		"a long gap that is just right": {[]int64{1, 1 + maxJump}, bulk.Datagrams{Packets: 1 + maxJump, Lost: maxJump - 1}},
	} {
		var got tally
		for _, n := range c.numbers {
			got.add(arrival{number: n, size: 100}, 10*time.Second)
		}
		if diff := cmp.Diff(c.want, got.since(bulk.Counts{})); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// What is late across the end of the omitted time takes a loss back there.
func TestTallyLateAcrossOmit(t *testing.T) {
	var got tally
	for _, n := range []int64{1, 3} {
		got.add(arrival{number: n}, time.Second)
	}
	before := got.counts()
	got.restart()
	for _, n := range []int64{2, 4} {
		got.add(arrival{number: n}, time.Second)
	}
	want := bulk.Datagrams{Packets: 1, OutOfOrder: 1, Omitted: bulk.Counts{Packets: 3}}
	if diff := cmp.Diff(want, got.since(before)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// No datagram, however it looks, makes counts that cannot be.
func FuzzArrivals(f *testing.F) {
	good := make([]byte, 0, 64)
	for i := range int64(3) {
		b := make([]byte, headerSize)
		header{}.put(b, i+1, time.Duration(i)*time.Millisecond)
		good = append(append(good, byte(len(b))), b...)
	}
	f.Add(false, good)
	f.Add(true, append([]byte{16}, make([]byte, 16)...))
	f.Add(true, []byte{16, 0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add(false, []byte{3, 1, 2, 3})
	f.Fuzz(func(t *testing.T, wide bool, stream []byte) {
		h := header{wide}
		var got tally
		const running = time.Minute
		datagrams := int64(0)
		for len(stream) > 0 {
			n := min(int(stream[0]), len(stream)-1)
			b := stream[1 : 1+n]
			stream = stream[1+n:]
			datagrams++
			number, sent, ok := h.parse(b, got.highest)
			if !ok {
				continue
			}
			got.add(arrival{number, n, sent, time.Hour}, running)
		}
		d := got.since(bulk.Counts{})
		most := int64((running.Seconds() + 1) * maxRate)
		if d.Lost < 0 || d.Lost > d.Packets || d.Packets > most || d.OutOfOrder > datagrams || d.Malformed < 0 || d.Malformed > datagrams {
			t.Errorf("%d datagrams came to %+v", datagrams, d)
		}
		if math.IsNaN(d.Jitter) || math.IsInf(d.Jitter, 0) || d.Jitter < 0 {
			t.Errorf("jitter %v", d.Jitter)
		}
	})
}

// The pacer keeps its rate over any time, and never falls behind or runs ahead
// by more than a burst and a quantum.
func TestPacer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pacer{
			rate:   unit.Rate(rapid.Int64Range(100, 1e11).Draw(t, "rate")),
			length: rapid.IntRange(MinLength, MaxLength).Draw(t, "length"),
			burst:  rapid.Int64Range(1, 1000).Draw(t, "burst"),
		}
		var now time.Duration
		var sent int64
		random := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "late")))
		for range 200 {
			n, wait := p.due(sent, now)
			if (n > 0) == (wait > 0) {
				t.Fatalf("%d due, wait %v", n, wait)
			}
			sent += n
			ideal := float64(p.rate) / 8 / float64(p.length) * now.Seconds()
			if n == 0 {
				now += wait + time.Duration(random.IntN(1000)) // sleeps last longer
			}
			if ahead := float64(sent) - ideal; ahead > float64(p.burst)*1.001+1 || ahead < -1e-3*ideal-1 {
				t.Fatalf("after %v %d datagrams of bursts of %d were due, ideally %.1f", now, sent, p.burst, ideal)
			}
		}
	})
}
