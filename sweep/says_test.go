package sweep

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
)

// TestSays: the sentence that an experiment ends with, for every way that it can go.
func TestSays(t *testing.T) {
	var text strings.Builder
	for _, c := range []struct {
		name    string
		spec    string
		scatter float64
		carries func(p Point) float64
	}{
		{"one factor", "factors: {buffers: [present, 128KiB, 512KiB, 2MiB, 4MiB]}", 0.002, nil},
		{"one factor, runs that scatter", "factors: {buffers: [present, 512KiB, 2MiB, 4MiB]}", 0.1, nil},
		{"another factor too", "factors: {buffers: [128KiB, 512KiB, 2MiB], connections: [1, 4]}", 0.002, nil},
		{"the same whatever else", "factors: {buffers: [128KiB, 512KiB], direction: [forward, reverse]}", 0.002, nil},
		{"another factor, runs that scatter", "factors: {buffers: [512KiB, 2MiB, 4MiB], direction: [forward, reverse]}", 0.1, nil},
		{"nothing is faster", "factors: {buffers: [present, 64KiB, 128KiB]}", 0.002, nil},
		{"nothing matters", "factors: {write_size: [16KiB, 64KiB, 128KiB]}", 0.002, nil},
		{"a little faster, which does not matter", "factors: {write_size: [64KiB, 128KiB, 256KiB]}", 0.0001, func(p Point) float64 {
			if v, _ := p.Of("write_size"); v.Number == 256<<10 {
				return 1.01e8
			}
			return 1e8
		}},
		{"words", "factors: {congestion: [present, cubic, bbr]}", 0.002, func(p Point) float64 {
			if v, _ := p.Of("congestion"); v.Word == "bbr" {
				return 9e8
			}
			return 1e8
		}},
		{"words that make no difference", "factors: {congestion: [present, cubic, reno]}", 0.02, nil},
		{"one point", "factors: {congestion: [cubic]}", 0.002, nil},
		{"ACKs", "factors: {congestion: [present, cubic]}\nmeasure: {duration: 1s, also: [acks]}", 0.02, nil},
		{"a law", "factors: {direction: [forward, reverse], buffers: [64KiB]}\nlaw: window", 0.002, nil},
		{"a search", "factors: {buffers: {from: present, to: 8MiB}}\nplan: search", 0.002, nil},
		{"a search that ends with its range", "factors: {buffers: {from: 64KiB, to: 512KiB}}\nplan: search", 0.002, nil},
		{"a search among runs that scatter", "factors: {buffers: {from: 1MiB, to: 8MiB}}\nplan: search", 0.2, nil},
		{"a search that finds a peak", "factors: {buffers: {from: 64KiB, to: 8MiB}}\nplan: search", 0.002, func(p Point) float64 {
			if v, _ := p.Of("buffers"); v.Number > 256<<10 {
				return 1e8
			}
			v, _ := p.Of("buffers")
			return v.Number * 1000
		}},
	} {
		w := newWorld()
		w.scatter, w.carries = c.scatter, c.carries
		doc, err := Run(t.Context(), parse(t, c.spec), w, &Memory{}, &log{})
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(c.name + ":\n  " + doc.Says + "\n")
	}
	golden.Check(t, "says.txt", text.String())
}
