package flow

import (
	"math"
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// bounds are the most that the kernel lets a socket's buffers grow to; 0: not
// known.
type bounds struct{ receive, send unit.Size }

// view is the last seconds of one flow boiled down to the figures that causes
// look at.
type view struct {
	*track
	bounds  bounds
	app     *application // nil: none that is known for a window of its own
	samples []bulk.Sample
	base    *bulk.Sample // the sample before them: counters are taken from there

	elapsed     time.Duration
	goodput     unit.Rate
	rtt, minRTT time.Duration // the smoothed one is the median of the samples'
	busy        float64       // share of the time (0..1) in which there was something to send or to be acknowledged
	// Shares of the busy time, by the kernel's clocks.
	rwnd, sndbuf float64
	scratch      []float64
}

// span is how far back a view goes: long enough to count on, short enough to be
// called now, and ten round trips in any case.
func span(rtt time.Duration) time.Duration {
	return min(max(3*time.Second, 10*rtt), 10*time.Second)
}

// newView looks at a flow's history. Its samples are those of the track: they
// are good until the next one is added.
func newView(t *track, b bounds, scratch []float64) *view {
	t.trim(span(t.flow.RTT))
	v := &view{track: t, bounds: b, app: recognise(&t.flow), base: &t.history[0], samples: t.history[1:], scratch: scratch, minRTT: t.flow.MinRTT}
	if len(v.samples) == 0 {
		return v
	}
	last := &t.last().TCP
	v.elapsed = t.last().At - v.base.At
	bytes := last.BytesReceived - v.base.TCP.BytesReceived
	if t.flow.Sends {
		bytes = last.BytesAcked - v.base.TCP.BytesAcked
	}
	v.goodput = unit.RateOf(int64(min(bytes, math.MaxInt64)), v.elapsed)
	v.rtt = micros(uint32(v.median(func(s *bulk.Sample) float64 {
		if !t.flow.Sends && s.TCP.RcvRTT > 0 {
			return float64(s.TCP.RcvRTT)
		}
		return float64(s.TCP.RTT)
	})))
	v.minRTT = min(v.minRTT, v.rtt)
	busy := v.since(func(t *bulk.TCPInfo) uint64 { return t.BusyTime })
	v.busy = min(1, ratio(busy, float64(v.elapsed.Microseconds())))
	v.rwnd = min(1, ratio(v.since(func(t *bulk.TCPInfo) uint64 { return t.RwndLimited }), busy))
	v.sndbuf = min(1, ratio(v.since(func(t *bulk.TCPInfo) uint64 { return t.SndbufLimited }), busy))
	return v
}

// since is by how much a counter grew over the view. A counter that runs
// backwards tells nothing.
func (v *view) since(counter func(*bulk.TCPInfo) uint64) float64 {
	before, after := counter(&v.base.TCP), counter(&v.last().TCP)
	if after < before {
		return 0
	}
	return float64(after - before)
}

// quantile of a figure over the samples; 0 without samples.
func (v *view) quantile(q float64, figure func(*bulk.Sample) float64) float64 {
	if len(v.samples) == 0 {
		return 0
	}
	x := v.scratch[:0]
	for i := range v.samples {
		x = append(x, figure(&v.samples[i]))
	}
	slices.Sort(x)
	v.scratch = x
	return x[int(math.Round(q*float64(len(x)-1)))]
}

func (v *view) median(figure func(*bulk.Sample) float64) float64 { return v.quantile(0.5, figure) }

// share of the samples for which is holds.
func (v *view) share(is func(*bulk.Sample) bool) float64 {
	yes := 0
	for i := range v.samples {
		if is(&v.samples[i]) {
			yes++
		}
	}
	return ratio(float64(yes), float64(len(v.samples)))
}

// inflight is what was sent and not acknowledged, in bytes: what counts against
// the peer's window. (Both parts are exact; packets times MSS are not.)
func inflight(s *bulk.Sample) float64 { return max(0, float64(s.Unsent)-float64(s.TCP.NotsentBytes)) }

func window(s *bulk.Sample) float64 { return float64(s.TCP.SndWnd) }

func cwnd(s *bulk.Sample) float64 { return float64(s.TCP.SndCwnd) * float64(s.TCP.SndMSS) }

// windowFull says that data waits for the peer's window: what is in flight uses
// it up to less than one more segment or a tenth. Unlike rwnd_limited this does
// not depend on what blocked the sender a moment earlier: under BBR the pacing
// timer hides the window. Kernels that do not tell the window never say so.
func windowFull(s *bulk.Sample) bool {
	return s.TCP.Length >= lengthWithSndWnd && s.TCP.NotsentBytes > 0 && s.Unsent > 0 && window(s)-inflight(s) <= max(window(s)/10, float64(s.TCP.SndMSS))
}

// cwndFull says that the congestion window is used up, outside of the repair of
// a loss (TCP_CA_Recovery, TCP_CA_Loss).
func cwndFull(s *bulk.Sample) bool {
	return s.TCP.CAState < 3 && s.TCP.SndCwnd > 0 && float64(s.TCP.Inflight()) >= 0.9*cwnd(s)
}

// drained says that all that was written is in flight: the application, or the
// room it has to write to, brings no more.
func drained(s *bulk.Sample) bool {
	return s.TCP.NotsentBytes < max(1, s.TCP.SndMSS)
}

// crammed says that the send buffer holds all it can: Linux wakes the writer when
// a third is free (sk_stream_min_wspace, include/net/sock.h).
func crammed(s *bulk.Sample) bool {
	return s.Mem.SendBuf > 0 && float64(s.Mem.SendQueued) >= 0.6*float64(s.Mem.SendBuf)
}

// queued says whether the round-trip time shows a standing queue: a quarter above
// the least, and by more than a scheduler's hiccup.
func (v *view) queued() bool {
	return v.minRTT > 0 && v.rtt > v.minRTT*5/4 && v.rtt > v.minRTT+time.Millisecond
}

// growth of a figure: its median in the second half of the samples over that in
// the first. Fewer than eight samples do not tell, and give 1.
func (v *view) growth(figure func(*bulk.Sample) float64) float64 {
	all := v.samples
	if len(all) < 8 {
		return 1
	}
	defer func() { v.samples = all }()
	v.samples = all[:len(all)/2]
	before := v.median(figure)
	v.samples = all[len(all)/2:]
	after := v.median(figure)
	if before <= 0 {
		return 1
	}
	return after / before
}

// answers is how many packets with data the other end sent back in a round trip:
// an application's window needs them to move on.
func (v *view) answers() float64 {
	packets := float64(v.last().TCP.DataSegsIn - v.base.TCP.DataSegsIn)
	if !v.flow.Sends {
		packets = float64(v.last().TCP.DataSegsOut - v.base.TCP.DataSegsOut)
	}
	return ratio(packets*v.rtt.Seconds(), v.elapsed.Seconds())
}
