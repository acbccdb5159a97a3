package wire

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
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

// BenchmarkRoundTrip asks what ping sees of a path's delay: an operation is 200
// echoes, 30 ms apart, so that both hosts fall asleep in between.
//
//	go test -run '^$' -bench RoundTrip -benchtime 1x ./lab/wire
func BenchmarkRoundTrip(b *testing.B) {
	for _, rtt := range []time.Duration{50 * time.Microsecond, 150 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond, 150 * time.Millisecond} {
		b.Run(rtt.String(), func(b *testing.B) {
			a, z := newHosts(b, 1500, "cubic")
			d := Direction{Rate: unit.Gbps, Delay: rtt / 2, Queue: Queue{Bytes: unit.MiB}}
			wired(b, a, z, 1500, d, d)
			var seen []time.Duration
			for b.Loop() {
				seen = append(seen, a.ping(b, addresses[1][ipv4], 200, 30*time.Millisecond)...)
			}
			slices.Sort(seen)
			for _, share := range []int{5, 50, 95} {
				b.ReportMetric(float64(seen[len(seen)*share/100].Nanoseconds())/1000, fmt.Sprintf("p%d-us", share))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// ping gives the round trips that the system's ping sees.
func (h *testHost) ping(t testing.TB, address string, count int, every time.Duration) (seen []time.Duration) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("ping", "-n", "-c", strconv.Itoa(count), "-i", strconv.FormatFloat(every.Seconds(), 'f', -1, 64), address)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	h.must(t, cmd.Start)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("ping: %v\n%s", err, out.Bytes())
	}
	for _, found := range regexp.MustCompile(`time=([0-9.]+) ms`).FindAllSubmatch(out.Bytes(), -1) {
		ms, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, time.Duration(ms*float64(time.Millisecond)))
	}
	if len(seen) != count {
		t.Fatalf("%d of %d echoes came back", len(seen), count)
	}
	return seen
}

// carriedMidway is the rate in IP bytes for a second in the middle of a transfer.
func carriedMidway(w *Wire) unit.Rate {
	time.Sleep(700 * time.Millisecond)
	began, before := time.Now(), w.Stats().AToB.BytesOut
	time.Sleep(time.Second)
	return unit.RateOf(int64(w.Stats().AToB.BytesOut-before), time.Since(began))
}
