package document

import (
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Row is one interval of all streams of an end.
type Row struct {
	Streams []StreamRow
}

// StreamRow is one interval of one stream, or of all streams that go one way.
type StreamRow struct {
	ID         int           // 0: the sum of the streams that go one way
	Sender     bool          // this end sent
	Omitted    bool          // it lies before the measured time
	Start, End time.Duration // since the measured time began, or, if omitted, the transfer
	Bytes      int64

	// Of a TCP sender, if its kernel reports it: the state at End. Of a sum, windows
	// are summed up, the RTT is the mean, and the other three are not known.
	Retransmits   int64 // segments sent again; -1: not known, or a receiver
	Cwnd, Wnd     int64 // bytes: the congestion window, and the receiver's
	RTT, RTTVar   time.Duration
	PMTU, Reorder int64 // bytes; reordering events since the connection began

	// Of UDP.
	Packets    int64         // sent; of a receiver those received and those lost
	Lost       int64         // of a receiver; packets that come late are taken off again
	OutOfOrder int64         // of a receiver
	Jitter     time.Duration // of a receiver, at End; of a sum, the mean
}

// Rate is the bytes over the time of the row.
func (r StreamRow) Rate() unit.Rate { return unit.RateOf(r.Bytes, r.End-r.Start) }

// LostPercent is the share of the packets that did not come, 0..100.
func LostPercent(lost, packets int64) float64 {
	if packets <= 0 {
		return 0
	}
	return 100 * float64(lost) / float64(packets)
}

// Sum adds up the streams that this end sends on, or those that it receives on;
// false: there are none.
func (r Row) Sum(sender bool) (sum StreamRow, ok bool) {
	var n, timed int64
	for _, s := range r.Streams {
		if s.Sender != sender {
			continue
		}
		if n++; n == 1 {
			sum = StreamRow{Sender: sender, Omitted: s.Omitted, Start: s.Start, End: s.End, Retransmits: -1}
		}
		sum.Bytes += s.Bytes
		if s.Retransmits >= 0 {
			sum.Retransmits = max(0, sum.Retransmits) + s.Retransmits
		}
		sum.Cwnd += s.Cwnd
		sum.Wnd += s.Wnd
		if s.RTT > 0 {
			sum.RTT += s.RTT
			timed++
		}
		sum.Packets += s.Packets
		sum.Lost += s.Lost
		sum.OutOfOrder += s.OutOfOrder
		sum.Jitter += s.Jitter
	}
	sum.RTT /= time.Duration(max(1, timed))
	sum.Jitter /= time.Duration(max(1, n))
	return sum, n > 0
}

// continues says that next is the same streams' next interval, and of the same
// kind.
func (r Row) continues(next Row) bool {
	if len(r.Streams) != len(next.Streams) {
		return false
	}
	for i, s := range r.Streams {
		if s.Omitted != next.Streams[i].Omitted || s.End != next.Streams[i].Start {
			return false
		}
	}
	return true
}

// join is both rows in one.
func (r Row) join(next Row) Row {
	joined := Row{Streams: make([]StreamRow, len(next.Streams))}
	for i, s := range next.Streams {
		first := r.Streams[i]
		s.Start = first.Start
		s.Bytes += first.Bytes
		if first.Retransmits >= 0 {
			s.Retransmits = max(0, s.Retransmits) + first.Retransmits
		}
		s.Packets += first.Packets
		s.Lost += first.Lost
		s.OutOfOrder += first.OutOfOrder
		joined.Streams[i] = s
	}
	return joined
}
