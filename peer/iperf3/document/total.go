package document

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Total is the result of one stream in the measured time, at both ends, or all
// streams that go one way.
type Total struct {
	ID             int // 0: the sum
	Sent, Received Half

	// As the sender counted.
	Retransmits      int64         // segments sent again; -1: not known
	Reorder          int64         // reordering events
	MaxCwnd, MaxWnd  int64         // bytes; 0: not known, or a sum
	MinRTT, MeanRTT  time.Duration // 0: not known
	MaxRTT           time.Duration
	Lost, OutOfOrder int64         // UDP, as the receiver counted
	Jitter           time.Duration // UDP, at the receiver
}

// Half is what one end counted.
type Half struct {
	Known   bool // this end told
	Bytes   int64
	Packets int64 // UDP
	Elapsed time.Duration
	began   time.Duration
}

// Rate is the bytes over the time.
func (h Half) Rate() unit.Rate { return unit.RateOf(h.Bytes, h.Elapsed) }

// Packets are those of UDP that were sent, or, where the sender did not say,
// that the receiver knows of.
func (t Total) Packets() int64 {
	if t.Sent.Packets > 0 {
		return t.Sent.Packets
	}
	return t.Received.Packets
}

// Totals are the streams of one direction, and their sum. What only one end
// reported is included.
func Totals(result *bulk.Result, d bulk.Direction) (streams []Total, sum Total) {
	if result == nil {
		return nil, Total{Retransmits: -1}
	}
	place := map[int]int{}
	of := func(id int) *Total {
		i, ok := place[id]
		if !ok {
			i = len(streams)
			place[id] = i
			streams = append(streams, Total{ID: id, Retransmits: -1})
		}
		return &streams[i]
	}
	for _, s := range result.Senders(d) {
		of(s.ID).send(s)
	}
	for _, s := range result.Receivers(d) {
		of(s.ID).receive(s)
	}
	return streams, add(streams)
}

func newHalf(s bulk.Stream) Half {
	h := Half{Known: true, Bytes: s.Bytes, Elapsed: s.Elapsed, began: s.Began}
	if s.Datagrams != nil {
		h.Packets = s.Datagrams.Packets
	}
	return h
}

func (t *Total) receive(s bulk.Stream) {
	t.Received = newHalf(s)
	if s.Datagrams != nil {
		t.Lost, t.OutOfOrder = s.Datagrams.Lost, s.Datagrams.OutOfOrder
		t.Jitter = time.Duration(s.Datagrams.Jitter * float64(time.Second))
	}
}

func (t *Total) send(s bulk.Stream) {
	t.Sent, t.Retransmits = newHalf(s), s.Retransmits
	t.MaxCwnd, t.MaxWnd = s.Peaks.MaxSndCwnd, s.Peaks.MaxSndWnd
	t.MinRTT, t.MeanRTT = time.Duration(s.Peaks.MinRTT)*time.Microsecond, time.Duration(s.Peaks.MeanRTT)*time.Microsecond
	t.MaxRTT = time.Duration(s.Peaks.MaxRTT) * time.Microsecond
	if n := len(s.Samples); n > 0 {
		t.Reorder = int64(s.Samples[n-1].TCP.ReordSeen)
	}
}

// add sums up. The time of all is from when the first one began to when the last
// one ended: streams with a share of a number of bytes each may well run one
// after the other.
func add(streams []Total) Total {
	sum := Total{Retransmits: -1}
	var timed, sent, received int
	for _, s := range streams {
		sum.Sent.add(s.Sent, &sent)
		sum.Received.add(s.Received, &received)
		if s.Retransmits >= 0 {
			sum.Retransmits = max(0, sum.Retransmits) + s.Retransmits
		}
		sum.Reorder += s.Reorder
		sum.Lost += s.Lost
		sum.OutOfOrder += s.OutOfOrder
		sum.Jitter += s.Jitter
		if s.MeanRTT > 0 {
			if timed++; timed == 1 || s.MinRTT < sum.MinRTT {
				sum.MinRTT = s.MinRTT
			}
			sum.MaxRTT = max(sum.MaxRTT, s.MaxRTT)
			sum.MeanRTT += s.MeanRTT
		}
	}
	sum.MeanRTT /= time.Duration(max(1, timed))
	sum.Jitter /= time.Duration(max(1, received))
	return sum
}

// add takes one stream into the sum of n before it.
func (h *Half) add(s Half, n *int) {
	if !s.Known {
		return
	}
	h.Known = true
	h.Bytes += s.Bytes
	h.Packets += s.Packets
	if s.Elapsed <= 0 {
		return
	}
	ended := max(h.began+h.Elapsed, s.began+s.Elapsed)
	if *n == 0 || s.began < h.began {
		h.began = s.began
	}
	h.Elapsed = ended - h.began
	*n++
}
