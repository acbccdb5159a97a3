package stat

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestRarer(t *testing.T) {
	for _, test := range []struct {
		name                       string
		events, tries, then, tried float64
		want                       float64
	}{
		{"as often, as much tried: one of two halves", 1, 100, 0, 100, 0.5},
		{"seven before, one then: 9 of 256", 7, 1000, 1, 1000, 9.0 / 256},
		{"two of four fall into either half: 11 of 16", 2, 1000, 2, 1000, 11.0 / 16},
		{"none of ten", 10, 1000, 0, 1000, math.Pow(0.5, 10)},
		{"none, but little was tried", 10, 1000, 0, 10, math.Pow(1000.0/1010, 10)},
		{"so many that nobody adds up their chances: three standard deviations fewer", 4e6 + 6000, 1e9, 4e6 - 6000, 1e9, math.Erfc((6000-0.5)/math.Sqrt(4e6)) / 2},
		{"none of a great many", 1e12, 1e12, 0, 1e12, 0},
		{"no events at all tell nothing", 0, 1000, 0, 1000, 1},
		{"nothing was tried", 5, 1000, 0, 0, 1},
		{"nothing had been tried", 0, 0, 5, 1000, 1},
		{"events without an end", math.Inf(1), 1000, 2, 1000, 1},
		{"tries without an end before", 5, math.Inf(1), 2, 1000, 1},
		{"tries without an end then", 5, 1000, 2, math.Inf(1), 1},
	} {
		if got := Rarer(test.events, test.tries, test.then, test.tried); !(math.Abs(got-test.want) <= 1e-9) { // NaN is wrong, too
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestRarerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 500)
		events, then := float64(count.Draw(t, "events")), float64(count.Draw(t, "then"))
		tries, tried := events+float64(count.Draw(t, "more tries")), then+float64(count.Draw(t, "more tried"))
		p := Rarer(events, tries, then, tried)
		if !(p >= 0 && p <= 1) {
			t.Fatalf("%v is no probability", p)
		}
		if more := Rarer(events, tries, then+1, tried+1); then+events > 0 && tried > 0 && tries > 0 && more < Rarer(events, tries, then, tried+1)-1e-9 {
			t.Fatalf("one event more is less likely: %v after %v", more, p)
		}
	})
}
