package clock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestEstimate: whatever the ways there and back take, the error is within the bound; with one
// exchange that waited in no queue it is next to nothing.
func TestEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := func(most time.Duration, label string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, label))
		}
		ahead, least := d(time.Hour, "ahead")-30*time.Minute, d(100*time.Millisecond, "least")
		now, clear := d(time.Hour, "now"), false
		var all []Exchange
		for range rapid.IntRange(1, 20).Draw(t, "exchanges") {
			there, back, takes := d(20*time.Millisecond, "there"), d(20*time.Millisecond, "back"), d(time.Millisecond, "takes")
			if rapid.IntRange(0, 5).Draw(t, "free") == 0 {
				there, back, clear = 0, 0, true
			}
			e := Exchange{Sent: now}
			e.Received = now + least + there + ahead
			e.Answered = e.Received + takes
			e.Came = e.Answered - ahead + least + back
			now = e.Came
			all = append(all, e)
		}
		o, err := Estimate(all)
		if err != nil {
			t.Fatal(err)
		}
		off := o.Ahead - ahead
		if off > o.Bound+1 || -off > o.Bound+1 {
			t.Errorf("off by %v, the bound is %v", off, o.Bound)
		}
		if clear && (off > 1 || -off > 1) {
			t.Errorf("off by %v although one exchange waited nowhere", off)
		}
		if here := d(time.Hour, "here"); o.Here(o.There(here)) != here {
			t.Error("there and back is another instant")
		}
	})
}

// TestNarrow: what is known from before and after an instant is never wrong, and never less than what
// either says of it; clocks that went further apart than clocks do are an error.
func TestNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := func(most time.Duration, label string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, label))
		}
		// The other clock is fast or slow by up to 500 ppm, as this one may be.
		ahead, rate := d(time.Hour, "ahead"), rapid.Float64Range(-drift, drift).Draw(t, "rate")
		truth := func(at Instant) time.Duration { return ahead + time.Duration(rate*float64(at)) }
		exchange := func(at Instant, label string) Offset {
			o := Offset{Bound: d(10*time.Millisecond, label+" bound"), At: at}
			o.Ahead = truth(at) + time.Duration(rapid.Float64Range(-1, 1).Draw(t, label+" error")*float64(o.Bound))
			return o
		}
		before := exchange(d(time.Minute, "before"), "before")
		at := before.At + d(10*time.Second, "instant")
		after := exchange(at+d(10*time.Second, "after"), "after")
		o, err := Narrow(before, after, at)
		if err != nil {
			t.Fatal(err)
		}
		off := o.Ahead - truth(at)
		if max(off, -off) > o.Bound+3 || o.Bound > min(before.Error(at), after.Error(at))+3 { // of rounding
			t.Errorf("off by %v, the bound is %v; before alone %v, after alone %v", off, o.Bound, before.Error(at), after.Error(at))
		}
	})
	set := Offset{Ahead: time.Second, Bound: time.Millisecond, At: time.Second}
	if o, err := Narrow(Offset{Bound: time.Millisecond}, set, time.Second); !errors.Is(err, ErrNonsense) {
		t.Errorf("a clock that was set: %+v, %v", o, err)
	}
}

// TestEstimateRefuses: a host that lies about its clock is an error, not an offset.
func TestEstimateRefuses(t *testing.T) {
	for name, e := range map[string]Exchange{
		"answered before it was asked": {10, 20, Reading{50, 40}},
		"takes longer than it took":    {10, 20, Reading{50, 61}},
		"a clock that goes back":       {20, 10, Reading{50, 50}},
	} {
		if o, err := Estimate([]Exchange{{0, 1, Reading{}}, e}); !errors.Is(err, ErrNonsense) {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
	if _, err := Estimate(nil); err == nil {
		t.Error("an offset of nothing")
	}
}

// TestAsk: the exchange with the least round trip counts, and the bound grows with time.
func TestAsk(t *testing.T) {
	now, asked := Instant(0), 0
	step := func() Instant { now += time.Millisecond; return now }
	o, err := Ask(t.Context(), step, func(context.Context) (Reading, error) {
		asked++
		if asked != 7 {
			now += 5 * time.Millisecond
		}
		return Reading{now + time.Hour, now + time.Hour}, nil
	})
	if err != nil || asked != Exchanges || o.Bound != time.Millisecond/2 || o.Ahead != time.Hour-time.Millisecond/2 {
		t.Errorf("after %d: %+v, %v", asked, o, err)
	}
	for _, apart := range []time.Duration{2 * time.Second, -2 * time.Second} {
		if got := o.Error(o.At + apart); got != o.Bound+2*time.Millisecond+1 { // ns
			t.Errorf("%v later the bound is %v", apart, got)
		}
	}
	gone := errors.New("it is gone")
	if _, err := Ask(t.Context(), step, func(context.Context) (Reading, error) { return Reading{}, gone }); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

// TestUntil: nobody wakes up too early, and who gives up does so at once.
func TestUntil(t *testing.T) {
	for _, wait := range []time.Duration{-time.Second, 0, time.Millisecond, 20 * time.Millisecond} {
		at := Now() + wait
		woke, err := Until(t.Context(), at)
		if err != nil || woke < at {
			t.Errorf("woke %v too early, %v", at-woke, err)
		}
		t.Logf("after %v: %v late", wait, woke-at)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := Until(ctx, Now()+time.Hour); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("%v", err)
	}
}
