package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// BenchmarkWire measures one TCP flow from kernel to kernel over a path of 0.2 ms.
// An operation is a transfer of two seconds:
//
//	go test -run '^$' -bench Wire -benchtime 1x ./lab/wire
func BenchmarkWire(b *testing.B) {
	for _, rate := range []unit.Rate{0, unit.Gbps} {
		for _, mtu := range []int{1500, 9000} {
			name := fmt.Sprintf("mtu=%d/unlimited", mtu)
			if rate > 0 {
				name = fmt.Sprintf("mtu=%d/rate=%.0fM", mtu, rate/unit.Mbps)
			}
			b.Run(name, func(b *testing.B) { benchmark(b, rate, mtu) })
		}
	}
}

func benchmark(b *testing.B, rate unit.Rate, mtu int) {
	a, z := newHosts(b, mtu, "cubic")
	d := Direction{Rate: rate, Delay: 100 * time.Microsecond, Queue: Queue{Bytes: 2 * unit.MiB}}
	w := wired(b, a, z, mtu, d, Direction{Delay: d.Delay})
	var goodput, carried unit.Rate
	for b.Loop() {
		measured := make(chan unit.Rate)
		go func() { measured <- carriedMidway(w) }()
		_, got := transfer(b, a, z, ipv4, 2*time.Second, "count")
		goodput += unit.RateOf(got.Bytes, got.Elapsed)
		carried += <-measured
	}
	s := w.Stats().AToB
	b.ReportMetric(float64(goodput/unit.Gbps)/float64(b.N), "Gb/s")
	if rate > 0 {
		b.ReportMetric(100*float64(carried/rate)/float64(b.N)-100, "rate-error-%")
	}
	b.ReportMetric(float64(s.Lateness.P50.Microseconds()), "late-p50-us")
	b.ReportMetric(float64(s.Lateness.P99.Microseconds()), "late-p99-us")
	b.ReportMetric(float64(s.Lateness.Max.Microseconds()), "late-max-us")
	b.ReportMetric(float64(s.SegmentsOut)/float64(s.Writes), "segments/write")
	b.ReportMetric(0, "ns/op")
}

// carriedMidway is the rate in IP bytes for a second in the middle of a transfer.
func carriedMidway(w *Wire) unit.Rate {
	time.Sleep(700 * time.Millisecond)
	began, before := time.Now(), w.Stats().AToB.BytesOut
	time.Sleep(time.Second)
	return unit.RateOf(int64(w.Stats().AToB.BytesOut-before), time.Since(began))
}
