package diagnose

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// view is the evidence boiled down to the figures that causes look at. A figure
// that nobody reported is zero, NaN where zero would mean something.
type view struct {
	*Evidence
	senders   []flow // one a stream, as the sender saw it
	receivers []flow

	goodput unit.Rate
	rtt     time.Duration // smoothed, median over the measured time
	minRTT  time.Duration

	// Shares of the time in which there was something to send (0..1).
	rwnd, sndbuf float64
	busy         float64 // share of the measured time in which there was
	loss         loss
}

// newView never fails: what is missing stays zero and no cause will fit it.
func newView(e *Evidence) *view {
	if e == nil {
		e = &Evidence{}
	}
	v := &view{Evidence: e}
	if e.Transfer == nil {
		return v
	}
	v.senders = flows(e.Transfer.Senders(e.Direction))
	v.receivers = flows(e.Transfer.Receivers(e.Direction))
	v.goodput = e.Transfer.Goodput(e.Direction)
	v.rtt, v.minRTT = v.roundTrips()

	var busy, rwnd, sndbuf, elapsed float64
	for _, f := range v.senders {
		busy += f.delta(func(t *bulk.TCPInfo) uint64 { return t.BusyTime })
		rwnd += f.delta(func(t *bulk.TCPInfo) uint64 { return t.RwndLimited })
		sndbuf += f.delta(func(t *bulk.TCPInfo) uint64 { return t.SndbufLimited })
		elapsed += float64(f.elapsed().Microseconds())
	}
	v.rwnd, v.sndbuf, v.busy = ratio(rwnd, busy), ratio(sndbuf, busy), ratio(busy, elapsed)
	v.loss = v.findLoss()
	return v
}

// roundTrips are the median and the least of what TCP saw; the probe's figures
// where TCP reported none.
func (v *view) roundTrips() (median, least time.Duration) {
	var all []float64
	lowest := math.Inf(1)
	for _, f := range v.senders {
		for _, s := range f.measured {
			if s.TCP.RTT > 0 {
				all = append(all, float64(s.TCP.RTT))
			}
			if s.TCP.MinRTT > 0 && s.TCP.MinRTT != math.MaxUint32 { // MaxUint32: the kernel has none yet
				lowest = min(lowest, float64(s.TCP.MinRTT))
			}
		}
	}
	if len(all) > 0 {
		median = time.Duration(stat.Median(all) * float64(time.Microsecond))
		least = time.Duration(min(lowest, stat.Quantile(all, 0)) * float64(time.Microsecond))
	}
	if v.Path != nil && v.Path.RTT.Min > 0 {
		if median == 0 {
			median = v.Path.RTT.Median
		}
		if least == 0 || v.Path.RTT.Min < least {
			least = v.Path.RTT.Min
		}
	}
	return median, least
}

// queued says whether a round-trip time shows a standing queue: a quarter above
// the least, and by more than a scheduler's hiccup.
func (v *view) queued(rtt time.Duration) bool {
	return v.minRTT > 0 && rtt > v.minRTT*5/4 && rtt > v.minRTT+time.Millisecond
}

// window is the sum over the streams of the window that the receiver
// advertised, as the sender saw it; 0 where the kernel does not tell.
func (v *view) window() unit.Size {
	return unit.Size(sum(v.senders, func(f flow) float64 {
		return f.median(func(s *bulk.Sample) float64 { return float64(s.TCP.SndWnd) })
	}))
}

// windowFull is the share of samples in which the sender had used up the
// receiver's window, to less than one more segment or a tenth. Unlike
// rwnd_limited it does not depend on what blocked the sender a moment earlier:
// under BBR the pacing timer hides the window.
func (v *view) windowFull() float64 {
	return v.samples(func(s *bulk.Sample) bool {
		window := int64(s.TCP.SndWnd)
		return window > 0 && window-sent(&s.TCP) <= max(window/10, int64(s.TCP.SndMSS))
	})
}

// cwndFull is the share of samples in which the congestion window was used up.
func (v *view) cwndFull() float64 {
	return v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.TCP.SndCwnd > 0 && float64(s.TCP.Unacked) >= full*float64(s.TCP.SndCwnd)
	})
}

// drained is the share of samples in which everything the application was able
// to write is in flight, and neither window is used up: only more send buffer
// would bring more data.
func (v *view) drained() float64 {
	return v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.Unsent > 0 && s.TCP.NotsentBytes < s.TCP.SndMSS && float64(sent(&s.TCP)) < full*room(s)
	})
}

// outgrown is the share of samples in which the send buffer is smaller than what
// both windows would let the sender have in flight. The kernel wants it twice as
// large as the congestion window, so it has reached its maximum long before.
func (v *view) outgrown() float64 {
	return v.samples(func(s *bulk.Sample) bool {
		return !recovering(s) && s.Mem.SendBuf > 0 && float64(s.Mem.SendBuf) < full*room(s)
	})
}

// room is what both windows let the sender have in flight, in bytes.
func room(s *bulk.Sample) float64 {
	return min(float64(s.TCP.SndCwnd)*float64(s.TCP.SndMSS), float64(s.TCP.SndWnd))
}

// recovering says whether the sender was repairing a loss (TCP_CA_Recovery,
// TCP_CA_Loss), when its windows do not tell what limits it.
func recovering(s *bulk.Sample) bool { return s.TCP.CAState >= 3 }

// samples is the share of the senders' measured samples for which is holds.
func (v *view) samples(is func(*bulk.Sample) bool) float64 {
	n, yes := 0, 0
	for _, f := range v.senders {
		for i := range f.measured {
			n++
			if is(&f.measured[i]) {
				yes++
			}
		}
	}
	return ratio(float64(yes), float64(n))
}

// congestion is what the senders' kernel reports.
func (v *view) congestion() string {
	if len(v.senders) == 0 {
		return ""
	}
	return v.senders[0].Congestion
}

// mss is the payload of a full segment in bytes, options taken off; 0: unknown.
func (v *view) mss() float64 {
	if len(v.senders) == 0 || len(v.senders[0].measured) == 0 {
		return 0
	}
	return float64(v.senders[0].last().TCP.SndMSS)
}

// direction is the probed way of the path that the data took, nil if unprobed.
func (v *view) direction() *path.Direction { return v.Path.Way(v.Direction == bulk.Reverse) }

// end is what the sending or the receiving host recorded.
func (v *view) end(sender bool) *bulk.End {
	if sender == (v.Direction != bulk.Reverse) {
		return &v.Transfer.Client
	}
	return &v.Transfer.Server
}

// tunable reads one number of a host's tunable, by its place in the value; 0 if
// the host does not tell.
func tunable(h *host.Facts, name string, place int) unit.Size {
	if h == nil {
		return 0
	}
	fields := strings.Fields(h.Tunables[name])
	if place >= len(fields) {
		return 0
	}
	n, err := strconv.ParseInt(fields[place], 10, 64)
	if err != nil {
		return 0
	}
	return unit.Size(n)
}

// ratio is a/b, and 0 when there is no b.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

func sum(flows []flow, figure func(flow) float64) float64 {
	total := 0.0
	for _, f := range flows {
		total += figure(f)
	}
	return total
}
