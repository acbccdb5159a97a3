package path

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/unit"
)

// arrive is the train of n packets that a link of the given rate spreads, and
// that something behind it releases only at multiples of a quantum.
func arrive(n, size int, rate unit.Rate, start, quantum time.Duration) []arrival {
	var out []arrival
	for i := range n {
		at := start + time.Duration(float64((i+1)*size*8)/float64(rate)*1e9)
		if quantum > 0 {
			at = (at + quantum - 1) / quantum * quantum
		}
		out = append(out, arrival{at, int64(size)})
	}
	return out
}

// Batching must not bias the rate, whatever its phase.
func TestSummariseBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := unit.Rate(rapid.Float64Range(1e6, 5e9).Draw(t, "rate"))
		size := rapid.SampledFrom([]int{576, 1500, 9000}).Draw(t, "size")
		quantum := time.Duration(rapid.IntRange(0, 100_000).Draw(t, "quantum"))
		start := time.Duration(rapid.IntRange(0, 1_000_000).Draw(t, "start"))
		n := max(lengthFor(rate, size), minPackets)

		var got Train
		got.summarise(arrive(n, size, rate, start, quantum))
		// Two ends of batches enclose what left meanwhile, give or take the one
		// packet that may have just missed each.
		slack := 0.01 + 2*float64(size)/float64(got.Late.Bytes)
		if miss := math.Abs(float64(got.Late.Rate()/rate) - 1); miss > slack {
			t.Fatalf("%v measured as %v, %.1f %% off", rate, got.Late.Rate(), 100*miss)
		}
	})
}

func TestSummarise(t *testing.T) {
	us := time.Microsecond
	for _, c := range []struct {
		name string
		in   []arrival
		want Train
	}{
		{"nothing", nil, Train{}},
		{"one packet", []arrival{{us, 100}}, Train{Received: 1, Bytes: 100, First: us, Last: us}},
		{"all at once", []arrival{{us, 100}, {us, 100}, {us, 100}, {us, 100}},
			Train{Received: 4, Bytes: 400, First: us, Last: us}},
		{"even, out of order", []arrival{{60 * us, 100}, {30 * us, 100}, {20 * us, 100}, {40 * us, 100}, {50 * us, 100}, {10 * us, 100}},
			Train{Received: 6, Bytes: 600, First: 10 * us, Last: 60 * us, Late: Dispersion{400, 40 * us}}},
		{"a burst, then the rate", append(arrive(16, 1000, 8e9, 0, 0), arrive(16, 1000, 8e6, 16*us, 0)...),
			Train{Received: 32, Bytes: 32000, First: us, Last: 16016 * us,
				// The packets of the burst are one batch, which is more than a quarter.
				Late: Dispersion{15000, 14*time.Millisecond + 1000*us}}},
	} {
		got := Train{}
		got.summarise(c.in)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestRecorder(t *testing.T) {
	var r recorder
	add := func(id, seq, count uint32, at time.Duration, lost int) {
		r.add(packet{kind: kindData, id: id, seq: seq, count: count}, at, 1000, lost)
	}
	add(0, 0, 2, 1, 0) // no such train
	add(1, 0, 3, 10, 0)
	add(1, 0, 3, 11, 0) // a duplicate
	add(1, 9, 3, 12, 0) // beyond the train
	add(1, 3, 9, 12, 0) // the same, of one that says that it is longer
	add(1, 1, 3, 20, 2)
	if n, complete := r.progress(1); n != 2 || complete {
		t.Errorf("train 1: %d packets, complete %v", n, complete)
	}
	if n, complete := r.progress(2); n != 0 || complete {
		t.Errorf("train 2 has not begun: %d packets, complete %v", n, complete)
	}
	add(3, 1, 2, 30, 0)
	add(1, 0, 3, 31, 5) // too late
	if n, complete := r.progress(3); n != 1 || !complete {
		t.Errorf("train 3: %d packets, complete %v", n, complete)
	}
	if _, complete := r.progress(1); !complete {
		t.Error("train 1 is over")
	}
	want := []Train{
		{ID: 1, Sent: 3, Received: 2, Bytes: 2000, Overflow: 2, First: 10, Last: 20},
		{ID: 3, Sent: 2, Received: 1, Bytes: 1000, First: 30, Last: 30},
	}
	if diff := cmp.Diff(want, r.trains()); diff != "" {
		t.Error(diff)
	}
	for id := range uint32(2 * maxTrains) {
		add(id, 0, 2, 40, 0)
	}
	if n := len(r.trains()); n != maxTrains {
		t.Errorf("%d trains were kept, the limit is %d", n, maxTrains)
	}
}
