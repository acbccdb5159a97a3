package plan

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

const (
	// windows is how many BDPs a receiver's window should hold: one that is on
	// its way, and another for what waits in the bottleneck's queue and, after a
	// loss, behind the packet that is being repeated. With 1.25 a sender in the
	// lab's california-uk scenario stalled during each repair.
	windows = 2

	// timeSlice is how long a process may wait for its core under load: one
	// tick at 250 Hz.
	timeSlice = 4 * time.Millisecond

	// leastShare bounds the observed part of a receive buffer that becomes
	// window: below, it is not overhead but an application that does not read.
	leastShare = 0.25
)

// need is what one stream needs to fill the path.
type need struct {
	rate    unit.Rate // to plan for, of IP packets, over all streams
	known   bool      // measured, not assumed
	rtt     time.Duration
	bdp     unit.Size // of one stream
	receive unit.Size // receive buffer
	send    unit.Size // send buffer
}

func (m *maker) measure() need {
	n := need{rtt: m.rtt()}
	n.rate, n.known = m.rate()
	n.bdp = n.rate.BytesIn(n.rtt) / unit.Size(m.Streams)
	n.receive = readable(windows * float64(n.bdp) / m.share())
	return n
}

// rate to plan for: the high end of what was measured, though not more than
// twice the middle, since Double finds out the rest. Where nothing was measured
// it is the assumed rate, or twice what a transfer already reached.
func (m *maker) rate() (rate unit.Rate, known bool) {
	reached := m.reached()
	d := m.way()
	if d == nil || !d.Capacity.Plausible() {
		m.note("The path's capacity is not known; the plan assumes %v, and doubling finds out whether more helps.", max(path.AssumedRate, 2*reached))
		return max(path.AssumedRate, 2*reached), false
	}
	c := d.Capacity
	if !c.Measured() {
		rate = max(c.Rate, 2*reached)
		m.note("The path's capacity was not measured; the plan assumes %v, and doubling finds out whether more helps.", rate)
		return rate, false
	}
	return max(c.Rate, min(c.High, 2*c.Rate), reached), true
}

// reached is the goodput of the baseline, 0 if there is none.
func (m *maker) reached() unit.Rate {
	if m.Baseline == nil {
		return 0
	}
	return m.Baseline.Goodput(m.Direction)
}

// rtt to plan for: the probe's median, or what TCP saw under load if that is
// more. A queue that the transfer built itself is no reason for a larger
// buffer, so load counts for at most another round trip, or a time slice of the
// scheduler on short paths.
func (m *maker) rtt() time.Duration {
	var idle time.Duration
	if m.Path != nil {
		idle = max(m.Path.RTT.Median, m.Path.RTT.Min)
	}
	loaded := m.loadedRTT()
	if idle <= 0 {
		return loaded
	}
	return max(idle, min(loaded, max(2*idle, idle+timeSlice)))
}

// loadedRTT is the median round trip that the senders' TCP saw, 0 if unknown.
func (m *maker) loadedRTT() time.Duration {
	if m.Baseline == nil {
		return 0
	}
	var all []float64
	for _, s := range m.Baseline.Senders(m.Direction) {
		for _, sample := range s.Samples {
			if !sample.Omitted && sample.TCP.RTT > 0 {
				all = append(all, float64(sample.TCP.RTT))
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	return time.Duration(stat.Median(all) * float64(time.Microsecond))
}

// share of the receive buffer that becomes window: what the baseline showed if
// that is less than usual, as with small packets in large pages.
func (m *maker) share() float64 {
	if m.Baseline == nil {
		return diagnose.ReceiverShare
	}
	var window, buffer float64
	for _, s := range m.Baseline.Senders(m.Direction) {
		for _, sample := range s.Samples {
			window = max(window, float64(sample.TCP.SndWnd))
		}
	}
	for _, s := range m.Baseline.Receivers(m.Direction) {
		buffer = max(buffer, float64(s.RecvBuf))
	}
	if window <= 0 || buffer <= 0 {
		return diagnose.ReceiverShare
	}
	return min(max(window/buffer, leastShare), diagnose.ReceiverShare)
}

// sendFactor is how many BDP of send buffer the kernel wants: it lets the buffer
// grow to twice the congestion window, three times under BBR
// (tcp_sndbuf_expand, net/ipv4/tcp_input.c; bbr_sndbuf_expand). A sender that
// this plan moves to BBR counts as one already.
func (m *maker) sendFactor() float64 {
	if m.bbr != "" || diagnose.IsBBR(m.congestion()) {
		return 3
	}
	return 2
}

// congestion is what the baseline's connections used; where that is not known, what
// the route to the receiver says, and without one the sender's default.
func (m *maker) congestion() string {
	if m.Baseline != nil {
		if senders := m.Baseline.Senders(m.Direction); len(senders) > 0 && senders[0].Congestion != "" {
			return senders[0].Congestion
		}
	}
	if m.Sender == nil {
		return ""
	}
	if said := m.Sender.Tunables[m.route(m.Sender)]; said != "" {
		return said
	}
	return m.Sender.Tunables[controls[m.Sender.OS]]
}

// controls are the tunables that choose a host's congestion control.
var controls = map[string]string{
	"linux": control, "freebsd": "net.inet.tcp.cc.algorithm", "windows": "CongestionProvider",
}

// way is the planned direction of the path, nil if unprobed.
func (m *maker) way() *path.Direction { return m.Path.Way(m.Direction == bulk.Reverse) }

// mtu of the path, 1500 if unknown.
func (m *maker) mtu() float64 {
	if d := m.way(); d != nil && d.MTU.Bytes > 0 {
		return float64(d.MTU.Bytes)
	}
	return 1500
}

// pathLimit is the goodput of a full path.
func (m *maker) pathLimit() (limit unit.Rate, known bool) {
	if !m.need.known {
		return 0, false
	}
	return m.way().Capacity.Rate * unit.Rate(path.PayloadShare(m.mtu(), path.Headers)), true
}

// windowRate is the goodput of one window a round trip on every stream.
func (m *maker) windowRate(window unit.Size) unit.Rate {
	if m.need.rtt <= 0 {
		return unlimited
	}
	return diagnose.WindowRate(window, m.need.rtt) * unit.Rate(m.Streams)
}

// Unseen gives the receive and send buffer maxima that fill the path, for the
// administrator of a host whose settings are not known: its own may be larger
// already.
func Unseen(in Input) (receive, send unit.Size) {
	m := newMaker(in)
	return m.need.receive, m.need.send
}
