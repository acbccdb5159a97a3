package diagnose

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/stat"
)

// flow is one stream with its measured samples picked out, as [bulk.Stream.Measured]
// has them.
type flow struct {
	*bulk.Stream
	measured []bulk.Sample // without the base, unless there is no other
	base     *bulk.Sample  // counters are taken from there
}

func flows(streams []bulk.Stream) []flow {
	out := make([]flow, 0, len(streams))
	for i := range streams {
		f := flow{Stream: &streams[i]}
		if samples := f.Measured(); len(samples) > 0 {
			f.base, f.measured = &samples[0], samples[min(1, len(samples)-1):]
		}
		out = append(out, f)
	}
	return out
}

func (f flow) last() *bulk.Sample { return &f.measured[len(f.measured)-1] }

func (f flow) elapsed() time.Duration {
	if len(f.measured) == 0 {
		return 0
	}
	return max(0, f.last().At-f.base.At)
}

// delta is by how much a counter grew over the measured time.
func (f flow) delta(counter func(*bulk.TCPInfo) uint64) float64 {
	if len(f.measured) == 0 {
		return 0
	}
	before, after := counter(&f.base.TCP), counter(&f.last().TCP)
	if after < before {
		return 0
	}
	return float64(after - before)
}

// median of a figure over the measured samples; 0 without samples.
func (f flow) median(figure func(*bulk.Sample) float64) float64 {
	return f.quantile(0.5, figure)
}

// quantile of a figure over the measured samples; 0 without samples.
func (f flow) quantile(q float64, figure func(*bulk.Sample) float64) float64 {
	if len(f.measured) == 0 {
		return 0
	}
	return stat.Quantile(series(f.measured, figure), q)
}

// growth is the median of a figure in the last quarter of the measured time
// over that in the quarter before: 1 when it does not change. Fewer than eight
// samples are too few to say, and give 1.
func (f flow) growth(figure func(*bulk.Sample) float64) float64 {
	n := len(f.measured)
	if n < 8 {
		return 1
	}
	before := stat.Median(series(f.measured[n/2:n*3/4], figure))
	after := stat.Median(series(f.measured[n*3/4:], figure))
	if before <= 0 {
		return 1
	}
	return after / before
}

func series(samples []bulk.Sample, figure func(*bulk.Sample) float64) []float64 {
	out := make([]float64, len(samples))
	for i := range samples {
		out[i] = figure(&samples[i])
	}
	return out
}

// sent is how many bytes are sent and not acknowledged: what counts against the
// receiver's window, whatever became of them.
func sent(s *bulk.Sample) int64 { return int64(s.TCP.Unacked) * int64(s.TCP.SndMSS) }
