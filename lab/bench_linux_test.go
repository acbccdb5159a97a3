package lab

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkRoundTrip asks what ping sees of a path's delay. An operation is a lab with
// 40 echoes, 0.2 s apart, so that the processors fall asleep in between:
//
//	go test -run '^$' -bench RoundTrip -benchtime 5x ./lab
func BenchmarkRoundTrip(b *testing.B) {
	for _, rtt := range []time.Duration{100 * time.Microsecond, 150 * time.Microsecond, 300 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond, 150 * time.Millisecond} {
		b.Run(rtt.String(), func(b *testing.B) {
			scenario, err := Parse("round-trip.yaml", fmt.Appendf(nil, "name: round-trip\npath:\n  a_to_b: {rate: 1gbit, delay: %v}\n", rtt/2))
			if err != nil {
				b.Fatal(err)
			}
			var medians []float64 // of each lab, in ms
			for b.Loop() {
				seen := pings(b, scenario)
				medians = append(medians, seen[len(seen)/2])
			}
			slices.Sort(medians)
			for name, at := range map[string]int{"least-ms": 0, "median-ms": len(medians) / 2, "most-ms": len(medians) - 1} {
				b.ReportMetric(medians[at], name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// pings gives the round trips in ms that the system's ping sees from a to b, sorted.
func pings(b *testing.B, scenario *Scenario) (seen []float64) {
	lab, err := Start(b.Context(), scenario, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := lab.Close(); err != nil {
			b.Error(err)
		}
	}()
	var out bytes.Buffer
	const count = 40
	cmd := lab.Host("a").Command(b.Context(), "ping", "-n", "-c", strconv.Itoa(count), "-i", "0.2", "b")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		b.Fatalf("ping: %v: %s", err, out.Bytes())
	}
	for _, found := range regexp.MustCompile(`time=([0-9.]+) ms`).FindAllSubmatch(out.Bytes(), -1) {
		ms, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			b.Fatal(err)
		}
		seen = append(seen, ms)
	}
	if len(seen) != count {
		b.Fatalf("%d of %d echoes came back", len(seen), count)
	}
	slices.Sort(seen)
	return seen
}
