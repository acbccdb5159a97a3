package bulk

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/unit"
)

func TestThrottleRate(t *testing.T) {
	for name, test := range map[string]struct {
		rate    unit.Rate
		streams int
	}{
		"one stream":     {50 * unit.Mbps, 1},
		"shared by four": {50 * unit.Mbps, 4},
		"slow":           {100 * unit.Kbps, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := &throttle{rate: test.rate}
				start, chunks := time.Now(), 200
				var streams sync.WaitGroup
				for range test.streams {
					streams.Go(func() {
						for range chunks {
							limit.pay(t.Context(), limit.length(DefaultLength))
						}
					})
				}
				streams.Wait()
				moved := int64(chunks) * int64(test.streams) * int64(limit.length(DefaultLength))
				// What it moves at once at the start is all it may be ahead.
				if got := unit.RateOf(moved, time.Since(start)); got < test.rate*0.99 || got > test.rate*1.01 {
					t.Errorf("moved %v, want %v", got, test.rate)
				}
			})
		})
	}
}

func TestThrottleSavesNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := &throttle{rate: 8 * unit.Kbps} // 1000 bytes a second
		limit.pay(t.Context(), 1000)
		time.Sleep(time.Hour)
		start := time.Now()
		limit.pay(t.Context(), 1000)
		if got := time.Since(start); got < time.Second-throttleStep {
			t.Errorf("1000 bytes took %v after an hour's rest", got)
		}
	})
}

func TestThrottleStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		(&throttle{rate: 1}).pay(ctx, 1<<20)
		if got := time.Since(start); got != time.Second {
			t.Errorf("waited %v, want to the end of its context after 1s", got)
		}
	})
}

func TestNewThrottle(t *testing.T) {
	for text, want := range map[string]unit.Rate{"": 0, "50000000": 50 * unit.Mbps, "20mbit": 20 * unit.Mbps} {
		t.Setenv(EnvSlowReader, text)
		limit, err := newThrottle(EnvSlowReader)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := limit != nil; got != (want > 0) {
			t.Errorf("%q: limits %v", text, got)
		}
		if limit != nil && limit.rate != want {
			t.Errorf("%q: got %v, want %v", text, limit.rate, want)
		}
	}
	t.Setenv(EnvSlowReader, "fast")
	if _, err := newThrottle(EnvSlowReader); err == nil {
		t.Error(`"fast" was taken for a rate`)
	}
}
