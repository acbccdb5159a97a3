package diagnose

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// view is the evidence boiled down to the figures that causes look at. A figure
// that was not reported is zero.
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

	tried map[TrialKind]*view // see trial

	findings []Finding // that were judged so far, in the order of precedence
	beneath  *Finding  // see underneath; nil until the ends were judged
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
	if e.Passing != nil {
		v.goodput, _ = v.goodputInPassing()
	}
	v.rtt, v.minRTT = v.roundTrips()
	v.minRTT = v.leastTried()

	var busy, rwnd, sndbuf, elapsed float64
	for _, f := range v.senders {
		busy += f.delta(func(t *bulk.TCPInfo) uint64 { return t.BusyTime })
		rwnd += f.delta(func(t *bulk.TCPInfo) uint64 { return t.RwndLimited })
		sndbuf += f.delta(func(t *bulk.TCPInfo) uint64 { return t.SndbufLimited })
		elapsed += float64(f.elapsed().Microseconds())
	}
	// Both ends of a measurement are read at slightly different moments.
	v.rwnd, v.sndbuf, v.busy = min(1, ratio(rwnd, busy)), min(1, ratio(sndbuf, busy)), min(1, ratio(busy, elapsed))
	v.loss = v.findLoss()
	return v
}

// roundTrips are the median and the least of what TCP saw; the probe's figures
// where TCP reported none.
func (v *view) roundTrips() (median, least time.Duration) {
	var all []float64
	lowest := math.Inf(1)
	seen := v.senders
	if v.Passing != nil && len(seen) == 0 {
		seen = v.receivers
	}
	for _, f := range seen {
		for _, s := range f.measured {
			rtt := s.TCP.RTT
			if !f.Sender && s.TCP.RcvRTT > 0 {
				rtt = s.TCP.RcvRTT
			}
			if rtt > 0 {
				all = append(all, float64(rtt))
			}
			if s.TCP.MinRTT > 0 { // the kernel that has none yet says 2^32-1
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
		if least == 0 || shortOfTick(least, v.Path.RTT.Min) {
			least = v.Path.RTT.Min
		}
		least = min(least, v.Path.RTT.Min)
	}
	return median, least
}

// TimestampTick is the resolution of TCP's timestamps (TCP_TS_HZ, include/net/tcp.h). Where the
// kernel has only those to measure a round trip by, as for packets that it sent again,
// that is short by up to a tick (tcp_rtt_tsopt_us, net/ipv4/tcp_input.c).
const TimestampTick = time.Millisecond

// shortOfTick says whether the least round trip that TCP saw is a handshake's, less what
// the timestamps are too coarse for.
func shortOfTick(least, handshake time.Duration) bool {
	return least%TimestampTick == 0 && least < handshake && handshake-least < TimestampTick
}

// leastTried is the least round-trip time of this transfer and of the trials:
// others may have kept a queue until then.
func (v *view) leastTried() time.Duration {
	least := v.minRTT
	for i := range v.Trials {
		r := v.Trials[i].Result
		if r == nil {
			continue
		}
		tried := view{Evidence: &Evidence{Path: v.Path}, senders: flows(r.Senders(v.Direction))}
		if _, rtt := tried.roundTrips(); rtt > 0 {
			least = min(least, rtt)
		}
	}
	return least
}

// congestion is what the senders' kernel reports.
func (v *view) congestion() string {
	if len(v.senders) == 0 {
		return ""
	}
	return printable.Line(v.senders[0].Congestion)
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
func (v *view) end(at side) *bulk.End {
	if (at == sender) == (v.Direction != bulk.Reverse) {
		return &v.Transfer.Client
	}
	return &v.Transfer.Server
}

// tunable reads one number of a host's tunable, by its place in the value; 0 if
// the host does not report it.
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
