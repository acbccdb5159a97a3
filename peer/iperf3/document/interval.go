package document

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Interval is one element of `intervals`.
type Interval struct {
	Streams    []IntervalRow `json:"streams"`
	Sum        *IntervalRow  `json:"sum,omitempty"`               // of both-way tests: of what the client sends
	SumReverse *IntervalRow  `json:"sum_bidir_reverse,omitempty"` // of both-way tests: of what the server sends
}

// IntervalRow is one stream in one interval, or, without a socket, their sum.
type IntervalRow struct {
	Socket int `json:"socket,omitempty"`
	Span
	Retransmits *int64 `json:"retransmits,omitempty"` // of a TCP sender
	*SenderState
	Datagrams
	Omitted bool `json:"omitted"`
	Sender  bool `json:"sender"`
}

// Span is how much was moved in a stretch of time.
type Span struct {
	Start         float64 `json:"start"`   // s
	End           float64 `json:"end"`     // s
	Seconds       float64 `json:"seconds"` // s
	Bytes         int64   `json:"bytes"`
	BitsPerSecond float64 `json:"bits_per_second"`
}

// SenderState is a TCP sender's state at the end of an interval.
type SenderState struct {
	Cwnd    int64 `json:"snd_cwnd"` // bytes
	Wnd     int64 `json:"snd_wnd"`  // bytes
	RTT     int64 `json:"rtt"`      // us
	RTTVar  int64 `json:"rttvar"`   // us
	PMTU    int64 `json:"pmtu"`     // bytes
	Reorder int64 `json:"reorder"`
}

// Datagrams are what a row of UDP has more; a sender's interval has the packets
// only.
type Datagrams struct {
	Jitter      *float64 `json:"jitter_ms,omitempty"`
	Lost        *int64   `json:"lost_packets,omitempty"`
	Packets     *int64   `json:"packets,omitempty"`
	LostPercent *float64 `json:"lost_percent,omitempty"`
}

func newSpan(start, end time.Duration, bytes int64) Span {
	return Span{
		Start: start.Seconds(), End: end.Seconds(), Seconds: (end - start).Seconds(),
		Bytes: bytes, BitsPerSecond: float64(unit.RateOf(bytes, end-start)),
	}
}

func newInterval(row Row, r *Record) Interval {
	spec := r.spec()
	interval := Interval{Streams: make([]IntervalRow, 0, len(row.Streams))}
	for _, d := range spec.Directions() {
		sends := r.Sends(d)
		for _, s := range row.Streams {
			if s.Sender == sends {
				interval.Streams = append(interval.Streams, newIntervalRow(s, spec))
			}
		}
		sum, ok := row.Sum(sends)
		if !ok {
			continue
		}
		out := newIntervalRow(sum, spec)
		if d == bulk.Reverse && spec.Direction == bulk.Both {
			interval.SumReverse = &out
		} else {
			interval.Sum = &out
		}
	}
	return interval
}

func newIntervalRow(s StreamRow, spec bulk.Spec) IntervalRow {
	row := IntervalRow{Socket: s.ID, Span: newSpan(s.Start, s.End, s.Bytes), Omitted: s.Omitted, Sender: s.Sender}
	switch {
	case spec.Protocol == bulk.UDP && s.Sender:
		row.Packets = new(s.Packets)
	case spec.Protocol == bulk.UDP:
		row.Datagrams = newDatagrams(s.Jitter, s.Lost, s.Packets)
	case s.Retransmits >= 0:
		row.Retransmits = new(s.Retransmits)
		if s.ID != 0 {
			row.SenderState = &SenderState{
				Cwnd: s.Cwnd, Wnd: s.Wnd, RTT: s.RTT.Microseconds(), RTTVar: s.RTTVar.Microseconds(),
				PMTU: s.PMTU, Reorder: s.Reorder,
			}
		}
	}
	return row
}

func newDatagrams(jitter time.Duration, lost, packets int64) Datagrams {
	return Datagrams{
		Jitter: new(float64(jitter) / float64(time.Millisecond)),
		Lost:   new(lost), Packets: new(packets), LostPercent: new(LostPercent(lost, packets)),
	}
}
