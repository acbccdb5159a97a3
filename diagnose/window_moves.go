package diagnose

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// moves is how the receiver's window behaves, as its sender sees it. One that a
// buffer bounds does not change. One that an application keeps small by not reading
// moves, and often closes. Where it moves little, because the application reads in
// small pieces, the round trip still shows it: Linux acknowledges at once only what it
// has window for to offer again (__tcp_ack_snd_check, net/ipv4/tcp_input.c), the
// rest when the application reads. (A path's queue delays as well, but a window that
// a buffer bounds is never larger than that.)
type moves struct {
	low, median, high unit.Size // a tenth of the samples each below low and above high
	widest            unit.Size // ever seen
	shut              float64   // share of the samples in which it had no room for a segment
	steady            bool      // it stands at its widest
	shrunk            bool      // to less than half of what it was
	late              bool      // acknowledgements wait for the application
}

// moves of the first stream's window.
func (v *view) moves() (m moves) {
	if len(v.senders) == 0 || len(v.senders[0].measured) == 0 || !v.tellsWindow() {
		return m
	}
	f := v.senders[0]
	low, median, high := f.quantile(0.1, window), f.median(window), f.quantile(0.9, window)
	widest := max(float64(f.Peaks.MaxSndWnd), high)
	step := max(float64(int(1)<<min(f.last().TCP.SndWScale, 14)), high/100) // what headers can say, or a hundredth
	m = moves{low: unit.Size(low), median: unit.Size(median), high: unit.Size(high), widest: unit.Size(widest)}
	m.shut = v.samples(func(s *bulk.Sample) bool { return s.TCP.SndWnd < s.TCP.SndMSS })
	m.steady = low >= high-step && median >= widest-step
	m.shrunk = median < 0.5*widest
	m.late = !m.steady && v.rtt > v.minRTT+max(time.Millisecond, v.minRTT/20)
	return m
}

// signs is how many there are of an application that does not read.
func (m moves) signs() int {
	return count(m.shut > 0.05, m.shrunk, float64(m.low) < 0.5*float64(m.high), m.late)
}

func (m moves) facts(f *Finding) {
	f.Add("window", float64(m.median), "B", "the receiver offers a window of %v", m.median)
	f.Add("window_low", float64(m.low), "B", "in one sample of ten no more than %v", m.low)
	f.Add("window_high", float64(m.high), "B", "in one of ten %v or more", m.high)
	f.Add("window_widest", float64(m.widest), "B", "%v at most since it is watched", m.widest)
	f.AddShare("window_shut", m.shut, "of the time it was shut")
}
