package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer/iperf3/document"
	"github.com/fullbore/fullbore/unit"
)

// csvColumns name what CSV writes. A cell is empty where nothing is known, or
// where a column makes no sense: a receiver retransmits nothing.
var csvColumns = []string{
	"row",             // "interval", or "total" of the measured time
	"start_s",         // since the measured time began; of an omitted interval, since the transfer did
	"end_s",           //
	"direction",       // "forward": the client sends; "reverse": the server does
	"stream",          // number, or "sum" of all of a direction
	"counted_by",      // "sender" or "receiver"
	"omitted",         // "true" before the measured time
	"bytes",           //
	"bits_per_second", //
	"retransmits",     // segments sent again
	"snd_cwnd_bytes",  // at the end of an interval; the largest one of a total
	"snd_wnd_bytes",   // the same
	"rtt_us",          // at the end of an interval; the mean of a total
	"rttvar_us",       // at the end of an interval
	"pmtu_bytes",      // at the end of an interval
	"reorder",         // reordering events since the connection began
	"packets",         // UDP
	"lost_packets",    // UDP, as the receiver counts
	"lost_percent",    // UDP, as the receiver counts
	"out_of_order",    // UDP, as the receiver counts
	"jitter_ms",       // UDP, as the receiver measures
}

// CSV writes a transfer as comma-separated values (RFC 4180: a header, and lines
// that end in CR LF): a row for every stream and interval of the own end, one
// for their sum, and in the end the totals as both ends counted them, as far as
// they are known. It finishes the record's rows.
func CSV(w io.Writer, r document.Record) error {
	if r.Result == nil {
		r.Result = &bulk.Result{}
	}
	r.Finish()
	out := csv.NewWriter(w)
	out.UseCRLF = true
	rows := [][]string{csvColumns}
	for _, row := range r.Rows.All() {
		for _, d := range r.Result.Spec.Directions() {
			sends := r.Sends(d)
			for _, s := range row.Streams {
				if s.Sender == sends {
					rows = append(rows, csvInterval(s, d, r.Result.Spec))
				}
			}
			if sum, ok := row.Sum(sends); ok {
				rows = append(rows, csvInterval(sum, d, r.Result.Spec))
			}
		}
	}
	for _, d := range r.Result.Spec.Directions() {
		streams, sum := document.Totals(r.Result, d)
		for _, t := range append(streams, sum) {
			rows = append(rows, csvTotal(t, d, r.Result.Spec)...)
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// cells of one row, by column.
type cells map[string]string

func (c cells) row() []string {
	out := make([]string, len(csvColumns))
	for i, name := range csvColumns {
		out[i] = c[name]
	}
	return out
}

func (c cells) integer(name string, v int64) { c[name] = strconv.FormatInt(v, 10) }

func (c cells) float(name string, v float64) { c[name] = strconv.FormatFloat(v, 'f', -1, 64) }

// span are the columns that all rows have.
func (c cells) span(kind string, d bulk.Direction, id int, start, end time.Duration, bytes int64) {
	c["row"], c["direction"], c["stream"] = kind, string(d), "sum"
	if id != 0 {
		c["stream"] = strconv.Itoa(id)
	}
	c.float("start_s", start.Seconds())
	c.float("end_s", end.Seconds())
	c.integer("bytes", bytes)
	c.float("bits_per_second", float64(unit.RateOf(bytes, end-start)))
}

// arrived are the columns of a UDP receiver.
func (c cells) arrived(packets, lost, outOfOrder int64, jitter time.Duration) {
	c.integer("packets", packets)
	c.integer("lost_packets", lost)
	c.float("lost_percent", document.LostPercent(lost, packets))
	c.integer("out_of_order", outOfOrder)
	c.float("jitter_ms", float64(jitter)/float64(time.Millisecond))
}

func csvInterval(s document.StreamRow, d bulk.Direction, spec bulk.Spec) []string {
	c := cells{"counted_by": "receiver", "omitted": strconv.FormatBool(s.Omitted)}
	c.span("interval", d, s.ID, s.Start, s.End, s.Bytes)
	if s.Sender {
		c["counted_by"] = "sender"
	}
	switch {
	case spec.Protocol == bulk.UDP && s.Sender:
		c.integer("packets", s.Packets)
	case spec.Protocol == bulk.UDP:
		c.arrived(s.Packets, s.Lost, s.OutOfOrder, s.Jitter)
	case s.Retransmits >= 0:
		c.integer("retransmits", s.Retransmits)
		c.integer("snd_cwnd_bytes", s.Cwnd)
		c.integer("snd_wnd_bytes", s.Wnd)
		c.integer("rtt_us", s.RTT.Microseconds())
		if s.ID != 0 {
			c.integer("rttvar_us", s.RTTVar.Microseconds())
			c.integer("pmtu_bytes", s.PMTU)
			c.integer("reorder", s.Reorder)
		}
	}
	return c.row()
}

func csvTotal(t document.Total, d bulk.Direction, spec bulk.Spec) (rows [][]string) {
	if t.Sent.Known {
		c := cells{"counted_by": "sender", "omitted": "false"}
		c.span("total", d, t.ID, 0, t.Sent.Elapsed, t.Sent.Bytes)
		if spec.Protocol == bulk.UDP {
			c.integer("packets", t.Sent.Packets)
		}
		if t.Retransmits >= 0 {
			c.integer("retransmits", t.Retransmits)
		}
		if t.MeanRTT > 0 {
			c.integer("rtt_us", t.MeanRTT.Microseconds())
			c.integer("reorder", t.Reorder)
			if t.ID != 0 {
				c.integer("snd_cwnd_bytes", t.MaxCwnd)
				c.integer("snd_wnd_bytes", t.MaxWnd)
			}
		}
		rows = append(rows, c.row())
	}
	if t.Received.Known {
		c := cells{"counted_by": "receiver", "omitted": "false"}
		c.span("total", d, t.ID, 0, t.Received.Elapsed, t.Received.Bytes)
		if spec.Protocol == bulk.UDP {
			c.arrived(t.Received.Packets, t.Lost, t.OutOfOrder, t.Jitter)
		}
		rows = append(rows, c.row())
	}
	return rows
}
