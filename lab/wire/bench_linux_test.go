package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// BenchmarkWire measures one TCP flow from kernel to kernel over an unlimited path
// of 0.2 ms. An operation is a transfer of two seconds:
//
//	go test -run '^$' -bench Wire -benchtime 1x ./lab/wire
func BenchmarkWire(b *testing.B) {
	for _, rate := range []unit.Rate{0, unit.Gbps} {
		for _, mtu := range []int{1500, 9000} {
			name := fmt.Sprintf("mtu=%d/rate=%v", mtu, rate)
			if rate == 0 {
				name = fmt.Sprintf("mtu=%d/unlimited", mtu)
			}
			b.Run(name, func(b *testing.B) {
				a, z := newHosts(b, mtu, "cubic")
				d := Direction{Rate: rate, Delay: 100 * time.Microsecond}
				w := wired(b, a, z, mtu, d, Direction{Delay: d.Delay})
				var bytes int64
				var elapsed time.Duration
				for b.Loop() {
					_, got := transfer(b, a, z, ipv4, 2*time.Second, "count")
					bytes, elapsed = bytes+got.Bytes, elapsed+got.Elapsed
				}
				s := w.Stats().AToB
				b.ReportMetric(float64(bytes)*8/elapsed.Seconds()/1e9, "Gb/s")
				b.ReportMetric(float64(s.Lateness.P99.Microseconds()), "late-p99-us")
				b.ReportMetric(float64(s.SegmentsOut)/float64(s.Writes), "segments/write")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
