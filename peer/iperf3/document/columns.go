package document

import (
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

const separator = "- - - - - - - - - - - - - - - - - - - - - - - - -"

// columns are those that the rows of a transfer have.
type columns struct {
	unit    Unit
	server  bool
	both    bool
	udp     bool
	retrans bool // some sender knows
	sends   bool // this end sends; or, with both, sends and receives
	wide    int  // of seconds
	rate    int  // wide, of rates
}

func (p *Printer) columns(row Row) columns {
	spec := p.record.spec()
	c := columns{
		unit: p.style.Unit, server: p.record.Server, both: spec.Direction == bulk.Both, udp: spec.Protocol == bulk.UDP,
		sends: p.record.Sends(spec.Direction), wide: 6, rate: len("50.3 Mbits/sec"),
	}
	if c.unit >= 'A' && c.unit <= 'Z' {
		c.rate = len("50.3 MBytes/sec")
	}
	if spec.Omit+spec.Duration >= 1000*time.Second {
		c.wide = 8
	}
	for _, s := range row.Streams {
		c.retrans = c.retrans || s.Retransmits >= 0
	}
	return c
}

// header names the columns; those at the end have no windows.
func (c columns) header(end bool) string {
	role := ""
	if c.both {
		role = "[Role]"
	}
	line := fmt.Sprintf("[ ID]%s %-*s  %-11s  %-*s  ", role, 2*c.wide+5, "Interval", "Transfer", c.rate, "Bitrate")
	switch {
	case c.udp && c.sends && !c.both && !end:
		return line + "Total Datagrams"
	case c.udp:
		return line + fmt.Sprintf("%-10s  %s", "Jitter", "Lost/Total Datagrams")
	case c.retrans && end:
		return line + "Retr"
	case c.retrans:
		return line + fmt.Sprintf("%-4s  %-11s  %9s", "Retr", "Cwnd", "RTT")
	}
	return line
}

// lead is what all rows begin with.
func (c columns) lead(id int, sends bool, start, end time.Duration) string {
	name := "SUM"
	if id != 0 {
		name = fmt.Sprintf("%3d", id)
	}
	role := ""
	if c.both {
		way, who := "RX", "C"
		if sends {
			way = "TX"
		}
		if c.server {
			who = "S"
		}
		role = "[" + way + "-" + who + "]"
	}
	return fmt.Sprintf("[%s]%s %*.2f-%-*.2f sec  ", name, role, c.wide, start.Seconds(), c.wide, end.Seconds())
}

// moved are the columns that follow.
func (c columns) moved(bytes int64, rate unit.Rate) string {
	return fmt.Sprintf("%-11s  %-*s  ", size(bytes), c.rate, c.unit.rate(float64(rate)))
}

// interval is one row while the transfer runs.
func (c columns) interval(s StreamRow) string {
	line := c.lead(s.ID, s.Sender, s.Start, s.End) + c.moved(s.Bytes, s.Rate())
	switch {
	case c.udp && s.Sender && c.both:
		line += fmt.Sprintf("%-10s  %d", "", s.Packets)
	case c.udp && s.Sender:
		line += fmt.Sprintf("%d", s.Packets)
	case c.udp:
		line += lost(s.Jitter, s.Lost, s.Packets)
	case s.Retransmits >= 0:
		line += fmt.Sprintf("%4d  %-11s  %9s", s.Retransmits, size(s.Cwnd), unit.Milliseconds(s.RTT))
	case c.retrans:
		line += fmt.Sprintf("%4s  %-11s  %9s", "", "", "")
	}
	if s.Omitted {
		line += "  (omitted)"
	}
	return line
}

func lost(jitter time.Duration, lost, packets int64) string {
	share, digits := LostPercent(lost, packets), 2
	if share >= 10 {
		digits = 3 // with two, iperf3 writes 1e+02
	}
	return fmt.Sprintf("%-10s  %d/%d (%.*g%%)", fmt.Sprintf("%.3f ms", float64(jitter)/float64(time.Millisecond)), lost, packets, digits, share)
}
