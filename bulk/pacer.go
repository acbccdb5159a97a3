package bulk

import (
	"cmp"
	"math"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// pacer holds a sender to Spec.Rate as iperf3 does: a burst goes when the mean
// rate since the start, the omitted time included, is below it. What the
// network held up is so made up for. A nil pacer does not limit.
type pacer struct {
	rate    unit.Rate
	burst   int64 // bytes that go back to back
	written int64
	room    int64 // left of the burst
}

func newPacer(spec Spec) *pacer {
	if spec.Rate == 0 {
		return nil
	}
	return &pacer{rate: spec.Rate, burst: spec.burst()}
}

// allow is how many bytes, up to n, may be written at a time since the sender's
// start, or how long to wait for any.
func (p *pacer) allow(n int, at time.Duration) (int, time.Duration) {
	if p == nil {
		return n, 0
	}
	if p.room == 0 {
		if due := timeFor(p.written, p.rate); due > at {
			return 0, due - at
		}
		p.room = p.burst
	}
	return int(min(int64(n), p.room)), 0
}

// wrote takes n bytes off what may be written.
func (p *pacer) wrote(n int) {
	if p != nil {
		p.written += int64(n)
		p.room -= int64(n)
	}
}

// burst is how many bytes a sender with a rate writes back to back.
func (s Spec) burst() int64 {
	return int64(cmp.Or(s.Length, DefaultLength)) * int64(max(1, s.Burst))
}

// pause is the longest that a sender with a rate writes nothing.
func (s Spec) pause() time.Duration {
	if s.Rate == 0 {
		return 0
	}
	return timeFor(s.burst(), s.Rate)
}

// timeFor is how long n bytes take at a rate, to the nearest nanosecond, the longest transfer at most.
func timeFor(n int64, rate unit.Rate) time.Duration {
	return time.Duration(math.Round(min(float64(n)*8/float64(rate), 2*MaxDuration.Seconds()) * float64(time.Second)))
}
