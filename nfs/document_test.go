package nfs

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The distribution of a test's document is that of its requests: each share took no longer
// than its time, to three digits, and the last of them is all.
func TestDistributionIsOfAllRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Int64Range(1, int64(time.Minute/time.Microsecond)), 1, 300).Draw(t, "µs")
		h := NewLatency()
		for _, us := range took {
			if err := h.RecordValue(us); err != nil {
				t.Fatal(err)
			}
		}
		d := distribution(h)
		if last := d[len(d)-1]; last.Share != 1 {
			t.Errorf("the last share is %v", last.Share)
		}
		for i, at := range d {
			if i > 0 && (at.Share <= d[i-1].Share || at.Up < d[i-1].Up) {
				t.Errorf("%+v comes after %+v", at, d[i-1])
			}
			within, surely := 0, 0
			for _, us := range took {
				ms := float64(us) / 1000
				if ms <= at.Up*1.001 {
					within++
				}
				if ms <= at.Up*0.999 {
					surely++
				}
			}
			if n := int(math.Round(at.Share * float64(len(took)))); n > within || n < surely {
				t.Errorf("%d of %d are said to be within %v ms, and %d to %d are", n, len(took), at.Up, surely, within)
			}
		}
	})
}

// Rates over time are those of each stretch: together they are all requests.
func TestRatesOverTimeAddUp(t *testing.T) {
	rates := stretches([]Stretch{{900 * time.Millisecond, 900, 9000}, {2 * time.Second, 2200, 0}, {3 * time.Second, 0, 0}})
	began, requests := 0.0, 0.0
	for _, r := range rates {
		requests += r.IOPS * (r.Until - began)
		began = r.Until
	}
	if len(rates) != 3 || math.Abs(requests-3100) > 1e-6 || math.Abs(rates[0].Goodput-80_000) > 1e-6 || rates[1].IOPS < 1999 || rates[2].IOPS != 0 {
		t.Errorf("%v requests, %+v", requests, rates)
	}
	if distribution(NewLatency()) != nil || stretches(nil) != nil {
		t.Error("of nothing there is something")
	}
}
