package path

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/unit"
)

// link is a simulated bottleneck with a drop-tail queue, behind a sender of a
// given pace, and before a receiver that sees arrivals late by up to jitter.
type link struct {
	rate   unit.Rate
	sender unit.Rate
	bucket float64       // bytes that pass at the sender's pace before the rate holds
	queue  float64       // bytes
	jitter time.Duration // of each batch
	stall  float64       // share of trains in which the receiver stops for 5 ms
	busy   float64       // share of the sender's time that is its own, 1 unless it waits
	chance *rand.Rand
	trains int // sent so far
	bytes  int
}

func (l *link) run(size int) runner {
	return func(_ context.Context, n, packets int, _ time.Duration) ([]measured, error) {
		var out []measured
		for range n {
			out = append(out, l.train(packets, size))
			l.trains++
			l.bytes += packets * size
		}
		return out, nil
	}
}

func (l *link) train(packets, size int) measured {
	each := float64(size)
	perByte := 8e9 / float64(l.rate) // ns
	var arrivals []arrival
	tokens, free, last := l.bucket, 0.0, time.Duration(0)
	stalled := packets + 1
	if l.chance.Float64() < l.stall {
		stalled = l.chance.IntN(packets)
	}
	for i := range packets {
		now := float64(i+1) * each * 8e9 / float64(l.sender)
		leaves := now
		if tokens >= each {
			tokens -= each
		} else {
			if (free-now)/perByte > l.queue {
				continue
			}
			leaves = max(now, free) + each*perByte
			free = leaves
		}
		at := time.Duration(leaves)
		if l.jitter > 0 {
			at += time.Duration(l.chance.Int64N(int64(l.jitter)))
		}
		if i >= stalled && i < stalled+10 {
			at += 5 * time.Millisecond
		}
		last = max(last, at)
		arrivals = append(arrivals, arrival{last, int64(size)})
	}
	t := Train{ID: 1, Sent: packets}
	t.summarise(arrivals)
	return measured{t, time.Duration(float64(packets) * each * 8e9 / float64(l.sender) * l.busy)}
}

// Whatever the link, the capacity is found, with a bounded effort.
func TestMeasureCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &link{
			rate:   unit.Rate(math.Pow(10, rapid.Float64Range(6, 9.3).Draw(t, "log rate"))),
			sender: 8 * unit.Gbps,
			queue:  rapid.SampledFrom([]float64{48e3, 256e3, 1e9}).Draw(t, "queue"),
			jitter: rapid.SampledFrom([]time.Duration{0, 20 * time.Microsecond, 100 * time.Microsecond}).Draw(t, "jitter"),
			chance: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)),
		}
		size := rapid.SampledFrom([]int{1280, 1500, 9000}).Draw(t, "size")
		if l.queue < 20*float64(size) {
			t.Skip("no train fits into the queue")
		}
		got, err := measureCapacity(t.Context(), l.run(size), size)
		if err != nil {
			t.Fatal(err)
		}
		if miss := math.Abs(float64(got.Rate/l.rate) - 1); miss > 0.1 {
			t.Fatalf("%v measured as %+v", l.rate, got)
		}
		if got.Method != methodTrains || got.Low > got.Rate || got.High < got.Rate {
			t.Fatalf("%+v", got)
		}
		if l.trains > mostPilots+mostTrains || l.bytes > 24<<20 {
			t.Fatalf("took %d trains and %d bytes", l.trains, l.bytes)
		}
	})
}

// Where a queue holds only a few packets, nearly all of every train are lost. What
// comes through bounds the capacity from below, and no flood is sent to find out
// more.
func TestMeasureCapacityTinyQueue(t *testing.T) {
	for _, rate := range []unit.Rate{50 * unit.Kbps, 100 * unit.Kbps, unit.Mbps} {
		for _, queue := range []float64{0, 1500, 3000, 6000} {
			l := &link{rate: rate, sender: 8 * unit.Gbps, queue: queue, chance: rand.New(rand.NewPCG(1, 0))}
			got, err := measureCapacity(t.Context(), l.run(1500), 1500)
			if err != nil {
				t.Fatal(err)
			}
			if got.Rate > rate*1.05 || queue > 0 && got.Rate < rate/2 {
				t.Errorf("%v with a queue of %v bytes measured as %+v", rate, queue, got)
			}
			if l.bytes > 1<<20 {
				t.Errorf("%v with a queue of %v bytes: sent %d bytes", rate, queue, l.bytes)
			}
		}
	}
}

// A receiver that sometimes stops in the midst of a train, as on a busy machine,
// widens the interval and seldom moves the median.
func TestMeasureCapacityStalls(t *testing.T) {
	const repeats = 50
	good := 0
	for seed := range uint64(repeats) {
		l := &link{rate: unit.Gbps, sender: 8 * unit.Gbps, queue: 1e9, stall: 0.2, chance: rand.New(rand.NewPCG(seed, 0))}
		got, err := measureCapacity(t.Context(), l.run(1500), 1500)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(got.Rate/l.rate)-1) < 0.05 {
			good++
		}
	}
	if good < repeats*9/10 {
		t.Errorf("%d of %d within 5 %%", good, repeats)
	}
}

// The burst that a shaper lets through is not taken for its rate.
func TestMeasureCapacityTokenBucket(t *testing.T) {
	for _, bucket := range []float64{0, 16e3, 64e3, 128e3, 256e3} {
		l := &link{rate: 100 * unit.Mbps, sender: 5 * unit.Gbps, bucket: bucket, queue: 1e9, chance: rand.New(rand.NewPCG(1, 2))}
		got, err := measureCapacity(t.Context(), l.run(1500), 1500)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(got.Rate/l.rate)-1) > 0.1 {
			t.Errorf("with a bucket of %.0f bytes: %+v", bucket, got)
		}
	}
}

// A pilot that is slow by chance makes trains that fit into the bucket: their
// rate gives it away.
func TestMeasureCapacityMisledPilot(t *testing.T) {
	l := &link{rate: 100 * unit.Mbps, sender: 5 * unit.Gbps, bucket: 64e3, queue: 1e9, chance: rand.New(rand.NewPCG(1, 2))}
	slow := &link{rate: 80 * unit.Mbps, sender: 5 * unit.Gbps, queue: 1e9, chance: l.chance}
	first := true
	run := func(ctx context.Context, n, packets int, spacing time.Duration) ([]measured, error) {
		if first {
			first = false
			return slow.run(1500)(ctx, n, packets, spacing)
		}
		return l.run(1500)(ctx, n, packets, spacing)
	}
	got, err := measureCapacity(t.Context(), run, 1500)
	if err != nil || math.Abs(float64(got.Rate/l.rate)-1) > 0.1 {
		t.Errorf("%+v (%v)", got, err)
	}
}

// A sender no faster than the path yields a lower bound; one that had to wait
// for the path is not the limit.
func TestMeasureCapacitySenderLimited(t *testing.T) {
	for _, c := range []struct {
		busy   float64
		method string
	}{{1, methodLimited}, {0.2, methodTrains}} {
		l := &link{rate: 10 * unit.Gbps, sender: 2 * unit.Gbps, queue: 1e9, busy: c.busy, chance: rand.New(rand.NewPCG(1, 2))}
		got, err := measureCapacity(t.Context(), l.run(1500), 1500)
		if err != nil || got.Method != c.method || (got.High == 0) != (c.method == methodLimited) || math.Abs(float64(got.Rate/l.sender)-1) > 0.1 {
			t.Errorf("busy %v: %+v (%v), want %s at %v", c.busy, got, err, c.method, l.sender)
		}
	}
}

func TestMeasureCapacityNothingArrives(t *testing.T) {
	none := func(context.Context, int, int, time.Duration) ([]measured, error) { return nil, nil }
	if got, err := measureCapacity(t.Context(), none, 1500); got != (Capacity{}) || err != nil {
		t.Errorf("%+v (%v) from no trains", got, err)
	}
	broken := errors.New("broken")
	fails := func(context.Context, int, int, time.Duration) ([]measured, error) { return nil, broken }
	if _, err := measureCapacity(t.Context(), fails, 1500); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// A receiver that drops packets itself gets shorter trains.
func TestMeasureCapacityOverflow(t *testing.T) {
	l := &link{rate: unit.Gbps, sender: 8 * unit.Gbps, queue: 1e9, chance: rand.New(rand.NewPCG(1, 2))}
	longest := 0
	run := func(ctx context.Context, n, packets int, spacing time.Duration) ([]measured, error) {
		trains, err := l.run(1500)(ctx, n, packets, spacing)
		for i := range trains {
			trains[i].Overflow = max(0, packets-100)
		}
		longest = packets
		return trains, err
	}
	got, err := measureCapacity(t.Context(), run, 1500)
	if err != nil || longest > 100 || math.Abs(float64(got.Rate/l.rate)-1) > 0.1 {
		t.Errorf("%+v (%v) with trains of %d", got, err, longest)
	}
}

func TestPlausible(t *testing.T) {
	good := Train{Sent: 10, Received: 9, Bytes: 9000, First: 1, Last: 9, Early: Dispersion{2000, 2}, Late: Dispersion{5000, 5}}
	if !good.plausible(10, 1000) {
		t.Errorf("%+v was refused", good)
	}
	for name, change := range map[string]func(*Train){
		"more packets than sent":  func(t *Train) { t.Received = 11 },
		"more bytes than sent":    func(t *Train) { t.Bytes = 10001 },
		"more bytes than came":    func(t *Train) { t.Late.Bytes = 8000 },
		"ends before it begins":   func(t *Train) { t.Last = 0 },
		"takes negative time":     func(t *Train) { t.Late.Time = -1 },
		"overflows by a negative": func(t *Train) { t.Overflow = -1 },
	} {
		bad := good
		change(&bad)
		if bad.plausible(10, 1000) {
			t.Errorf("%s: %+v was taken", name, bad)
		}
	}
}

// Tabulated ranks of the sign test's interval for the median, at least 95 %
// (Conover, Practical Nonparametric Statistics, table A3).
func TestMedianRank(t *testing.T) {
	for n, want := range map[int]int{1: 0, 5: 0, 6: 0, 8: 0, 9: 1, 11: 1, 12: 2, 15: 3, 16: 3, 17: 4, 20: 5, 25: 7} {
		if got := medianRank(n); got != want {
			t.Errorf("of %d values %d are left out at each side, want %d", n, got, want)
		}
	}
}

func TestAssumed(t *testing.T) {
	if c := assumed(0, "why"); c.Rate != AssumedRate || !c.Assumed || c.High != 0 || c.Note != "why" {
		t.Errorf("%+v", c)
	}
	if c := assumed(10*unit.Mbps, ""); c.Rate != 10*unit.Mbps || c.High != 10*unit.Mbps {
		t.Errorf("a card of 10 Mb/s: %+v", c)
	}
}
