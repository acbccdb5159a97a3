package schedule

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Window is a part of each day, in minutes after midnight; it may go past that. The zero value is all day.
type Window struct{ From, To int }

const day = 24 * 60

var validWindow = regexp.MustCompile(`^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$`)

// FromWord reads "22:00-06:00".
func (w *Window) FromWord(word string) error {
	m := validWindow.FindStringSubmatch(word)
	if m == nil {
		return fmt.Errorf("%q is no part of a day such as 22:00-06:00", word)
	}
	minutes := func(hours, rest string) int {
		h, _ := strconv.Atoi(hours) // they are digits
		m, _ := strconv.Atoi(rest)
		return 60*h + m
	}
	w.From, w.To = minutes(m[1], m[2]), minutes(m[3], m[4])
	if w.From == w.To {
		return fmt.Errorf("%q is no time at all: leave it out for all day", word)
	}
	return nil
}

// Range says what a window may be.
func (w *Window) Range() string { return "00:00-23:59, also past midnight" }

// String is as a schedule has it.
func (w Window) String() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", w.From/60, w.From%60, w.To/60, w.To%60)
}

// MarshalText is String.
func (w Window) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// has says whether a time lies in the window.
func (w Window) has(t time.Time) bool {
	if w == (Window{}) {
		return true
	}
	at := 60*t.Hour() + t.Minute()
	if w.From < w.To {
		return at >= w.From && at < w.To
	}
	return at >= w.From || at < w.To
}

// opens is when the window next begins after a time.
func (w Window) opens(t time.Time) time.Time {
	for days := 0; ; days++ {
		// The clock may not have that minute on the day on which it is put forward: then it is an hour later.
		at := time.Date(t.Year(), t.Month(), t.Day()+days, w.From/60, w.From%60, 0, 0, t.Location())
		if at.After(t) {
			return at
		}
	}
}

// long is how much of a day it is.
func (w Window) long() time.Duration {
	return time.Duration((w.To-w.From+day)%day) * time.Minute
}

// Due is when an experiment is to start: an interval after it last did, or now if it never did or that was
// long ago, drawn from within its jitter, and within its window. drawn is from 0 to less than 1.
func (e *Experiment) Due(last, now time.Time, drawn float64) time.Time {
	part := func(d time.Duration) time.Duration { return time.Duration(drawn * float64(d)) }
	due := now.Add(part(min(e.Jitter, time.Minute))) // soon
	if at := last.Add(e.Every - e.Jitter/2 + part(e.Jitter)); !last.IsZero() && at.After(now) {
		due = at.In(now.Location())
	}
	if e.Between.has(due) {
		return due
	}
	return e.Between.opens(due).Add(part(min(max(e.Jitter, time.Minute), e.Between.long())))
}
