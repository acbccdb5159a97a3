package figure

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func at(text string) float64 {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return float64(t.Unix())
}

// An axis of dates is marked where the calendar is: at hours, days, the first of a
// month, or years, whichever has room; its name has what all dates share.
func TestDates(t *testing.T) {
	for _, c := range []struct{ from, to, title, labels string }{
		{"2026-11-20 09:10", "2026-11-20 14:50", "started, 2026-11-20", "10:00 11:00 12:00 13:00 14:00"},
		{"2026-11-20 09:10", "2026-11-22 14:50", "started, 2026", "12:00 | Nov 21 | 12:00 | Nov 22 | 12:00"},
		{"2026-11-02 00:00", "2026-11-27 00:00", "started, 2026", "Nov 6 | Nov 11 | Nov 16 | Nov 21 | Nov 26"},
		{"2026-09-10 00:00", "2027-03-20 00:00", "started", "Oct Nov Dec 2027 Feb Mar"},
		{"2019-02-10 00:00", "2027-03-20 00:00", "started", "2020 2021 2022 2023 2024 2025 2026 2027"},
	} {
		r := newRuler(Axis{Name: "started", Of: Date}, []float64{at(c.from), at(c.to)}, false)
		f := &frame{width: Width - 80, x: &r}
		var labels []string
		for _, tick := range r.marks(false, func(ticks []tick) bool { return roomy(ticks, f) && len(ticks) < 9 }) {
			labels = append(labels, tick.label)
		}
		got := strings.Join(labels, " ")
		if strings.Contains(c.labels, "|") {
			got = strings.Join(labels, " | ")
		}
		if got != c.labels || r.title() != c.title {
			t.Errorf("%s to %s: %q, %s; want %q, %s", c.from, c.to, r.title(), got, c.title, c.labels)
		}
	}
}

// Whatever the dates, the marks lie within the axis, in their order, and end.
func TestDatesOfAnyAxis(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		from := rapid.Float64Range(0, 4e9).Draw(r, "from")
		to := from + rapid.OneOf(rapid.Float64Range(0, 1e5), rapid.Float64Range(0, 3e9)).Draw(r, "long")
		axis := newRuler(Axis{Of: Date}, []float64{from, to}, false)
		for _, next := range calendar {
			ticks := axis.dates(next)
			if !slices.IsSortedFunc(ticks, func(a, b tick) int { return int(a.at - b.at) }) {
				r.Fatalf("marks of %v to %v are out of order: %v", from, to, ticks)
			}
			for _, m := range ticks {
				if m.at < axis.low-1 || m.at > axis.high || m.label == "" {
					r.Fatalf("a mark %+v on an axis from %v to %v", m, axis.low, axis.high)
				}
			}
		}
	})
}
