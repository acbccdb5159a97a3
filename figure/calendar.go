package figure

import "time"

// calendar are the distances between marks of an axis of dates, from the finest on:
// each gives the first mark after one.
var calendar = func() []func(time.Time) time.Time {
	var all []func(time.Time) time.Time
	for _, step := range []time.Duration{time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour} {
		all = append(all, func(t time.Time) time.Time { return t.Truncate(step).Add(step) })
	}
	for _, days := range []int{1, 2, 5, 10} {
		all = append(all, func(t time.Time) time.Time { // counted from the first of each month
			next := t.Truncate(day).Add(day)
			for (next.Day()-1)%days != 0 || days > 1 && next.Day() > 31-days/2 {
				next = next.Add(day)
			}
			return next
		})
	}
	for _, months := range []int{1, 3, 12, 24, 60, 120} {
		all = append(all, func(t time.Time) time.Time {
			since := t.Year()*12 + int(t.Month()) - 1
			return time.Date(0, time.Month((since/months+1)*months+1), 1, 0, 0, 0, 0, time.UTC)
		})
	}
	return all
}()

const day = 24 * time.Hour

// instant is a place on an axis of dates.
func instant(v float64) time.Time { return time.Unix(int64(v), 0).UTC() }

// dates are the marks by one of the calendar's distances. What all of them have in
// common, a day or a year, the axis's name says.
func (r *ruler) dates(next func(time.Time) time.Time) []tick {
	var ticks []tick
	for t := next(instant(r.low).Add(-time.Second)); float64(t.Unix()) <= r.high && len(ticks) < 200; t = next(t) {
		ticks = append(ticks, tick{float64(t.Unix()), dateLabel(t, next(t).Sub(t))})
	}
	return ticks
}

func dateLabel(t time.Time, step time.Duration) string {
	midnight := t.Equal(t.Truncate(day))
	switch {
	case step < time.Minute:
		return t.Format("15:04:05")
	case step < day && !midnight:
		return t.Format("15:04")
	case step <= 12*day:
		return t.Format("Jan 2")
	case step < 300*day && t.Month() != time.January:
		return t.Format("Jan")
	}
	return t.Format("2006")
}

// common is what all dates of an axis have in common.
func (r *ruler) common() string {
	from, to := instant(r.low), instant(r.high)
	switch {
	case from.Truncate(day).Equal(to.Truncate(day)):
		return from.Format(time.DateOnly)
	case from.Year() == to.Year():
		return from.Format("2006")
	}
	return ""
}
