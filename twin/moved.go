package twin

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// moved is one transfer of the run, and what its samples show from one to the next,
// all streams together.
type moved struct {
	*bulk.Result
	found     bool // with the hosts' settings as they were found
	plain     bool // and with nothing else set either: as any application would
	senders   []bulk.Stream
	receivers []bulk.Stream
	goodput   unit.Rate
	steps     []step
}

// step is the time between two samples.
type step struct {
	from, to  time.Duration
	omitted   bool    // in the time that is not measured: slow start
	rtt       float64 // the longest smoothed round trip at either end of it, and before and after, in ns
	least     float64 // the shorter one of those at its ends
	sent      float64 // data segments
	again     float64 // segments sent again
	needless  float64 // segments that the receiver had already
	delivered float64 // segments that the receiver was seen to have got
	marked    float64 // with Congestion Experienced
}

// read takes a transfer of the run; nil where nothing can be seen in it.
func (s *seen) read(t *record.Transfer) *moved {
	r := t.Result
	if r == nil || r.Spec.Protocol == bulk.UDP {
		return nil
	}
	m := &moved{Result: r, senders: r.Senders(s.direction), receivers: r.Receivers(s.direction)}
	m.found = !strings.HasPrefix(t.Phase, "try:") && !strings.HasPrefix(t.Phase, "do without:") && !strings.HasPrefix(t.Phase, "measure before and after")
	m.plain = m.found && r.Spec.Congest == "" && r.Spec.Pace == 0 && r.Spec.MSS == 0 && r.Spec.Rate == 0
	if len(m.senders) == 0 || len(m.senders) > bulk.MaxStreams || !slices.ContainsFunc(m.senders, func(s bulk.Stream) bool { return len(s.Samples) > 1 }) {
		return nil
	}
	m.goodput = sound(r.Goodput(s.direction))
	m.steps = steps(m.senders)
	if len(m.steps) == 0 {
		return nil
	}
	return m
}

// steps adds the streams up, whose samples are taken at the same times.
func steps(streams []bulk.Stream) []step {
	longest := 0
	for i := range streams {
		if len(streams[i].Samples) > len(streams[longest].Samples) {
			longest = i
		}
	}
	all := make([]step, len(streams[longest].Samples)-1)
	for i := range streams {
		samples := streams[i].Samples
		for j := 1; j < len(samples); j++ {
			before, after, into := &samples[j-1], &samples[j], &all[j-1]
			if i == longest {
				into.from, into.to, into.omitted = before.At, after.At, after.Omitted
			}
			for _, near := range samples[max(0, j-2):min(len(samples), j+2)] {
				into.rtt = max(into.rtt, 1e3*float64(near.TCP.RTT))
			}
			if ends := 1e3 * float64(min(before.TCP.RTT, after.TCP.RTT)); into.least == 0 || ends < into.least {
				into.least = ends
			}
			into.sent += grown(before.TCP.DataSegsOut, after.TCP.DataSegsOut)
			into.again += grown(before.TCP.TotalRetrans, after.TCP.TotalRetrans)
			into.needless += grown(before.TCP.DsackDups, after.TCP.DsackDups)
			into.delivered += grown(before.TCP.Delivered, after.TCP.Delivered)
			into.marked += grown(before.TCP.DeliveredCE, after.TCP.DeliveredCE)
		}
	}
	return slices.DeleteFunc(all, func(s step) bool { return s.to <= s.from || s.from < 0 })
}

// grown is by how much a counter grew, which begins again at 0 after 2^32. Half of that
// in one step is no count of anything.
func grown(before, after uint32) float64 {
	if d := after - before; d < 1<<31 {
		return float64(d)
	}
	return 0
}

// packet is the size of a full IP packet of the transfer in bytes, and what of it is
// payload.
func (m *moved) packet() (bytes, payload float64) {
	mss := 0.0
	for i := range m.senders {
		if n := len(m.senders[i].Samples); n > 0 {
			mss = max(mss, float64(m.senders[i].Samples[n-1].TCP.SndMSS))
		}
	}
	if mss < 36 || mss > 65495 {
		mss = 1448
	}
	headers := float64(path.Headers)
	if m.last().Options&bulk.OptTimestamps == 0 {
		headers -= 12
	}
	return mss + headers, path.PayloadShare(mss+headers, headers)
}

// last is what TCP says at the end of the first stream.
func (m *moved) last() *bulk.TCPInfo {
	for i := range m.senders {
		if n := len(m.senders[i].Samples); n > 0 {
			return &m.senders[i].Samples[n-1].TCP
		}
	}
	return &bulk.TCPInfo{}
}

// carried is the rate of IP packets that the transfer's goodput makes on a link.
func (m *moved) carried() unit.Rate {
	_, payload := m.packet()
	return m.goodput / unit.Rate(payload)
}

// rate is that of the packets delivered in a step, in bits a second.
func (m *moved) rate(s step) float64 {
	bytes, _ := m.packet()
	return s.delivered * bytes * 8 / (s.to - s.from).Seconds()
}

// congestion is what the first sender's kernel reports.
func (m *moved) congestion() string { return m.senders[0].Congestion }

// gentle says whether the sender takes loss for congestion: what it loses is then
// counted event by event.
func (m *moved) gentle() bool { return !diagnose.IsBBR(m.congestion()) }

// leastRTT is the least that TCP saw over all transfers, in ns; infinite if it saw none.
// Where only timestamps tell, it may be short by one tick of theirs, a millisecond.
func (s *seen) leastRTT() float64 {
	least := math.Inf(1)
	for _, m := range s.moved {
		for i := range m.senders {
			for j := range m.senders[i].Samples {
				t := &m.senders[i].Samples[j].TCP
				for _, us := range []uint32{t.MinRTT, t.RTT} {
					if us > 0 && us < math.MaxUint32/2 {
						least = min(least, 1e3*float64(us))
					}
				}
			}
		}
	}
	return least
}

// plainOnes are the transfers as any application would make them, with the settings that
// were found.
func (s *seen) plainOnes() []*moved {
	return slices.DeleteFunc(slices.Clone(s.moved), func(m *moved) bool { return !m.plain })
}

// interval is a value and what it lies between.
type interval struct{ value, low, high float64 }

// typical is the median with the least and the most.
func typical(all []float64) interval {
	return interval{stat.Median(all), slices.Min(all), slices.Max(all)}
}
