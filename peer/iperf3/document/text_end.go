package document

import (
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/printable"
)

// Close writes the transfer's totals: a line of its sender and one of its
// receiver for each stream and for their sum, as far as they are known.
func (p *Printer) Close(r Record) error {
	p.record = r
	if err := p.Open(); err != nil {
		return err
	}
	l, spec := p.lines(), r.spec()
	columns := p.columns(Row{})
	began := false
	for _, d := range spec.Directions() {
		streams, sum := Totals(r.Result, d)
		began = began || len(streams) > 0
		columns.retrans = columns.retrans || sum.Retransmits >= 0
	}
	if began {
		l.add("%s", separator)
		if p.style.Verbose {
			l.add("Test Complete. Summary Results:")
		}
		l.add("%s", columns.header(true))
	}
	for _, d := range spec.Directions() {
		streams, sum := Totals(r.Result, d)
		sends := r.Sends(d)
		if p.each() {
			for _, s := range streams {
				columns.end(l, s, sends)
			}
		}
		if len(streams) > 0 && (spec.Streams > 1 || !p.each()) {
			columns.end(l, sum, sends)
		}
	}
	if note := r.Rows.Note(); note != "" {
		l.add("%s", note)
	}
	if p.style.Verbose && began {
		p.cost(l, r.Sends(spec.Directions()[0]))
	}
	if r.Failed != nil {
		l.add("error: %s", printable.Line(r.Failed.Error()))
	}
	p.reported(l)
	return p.flush(l)
}

// end writes the two lines of a total.
func (c columns) end(l *lines, t Total, sends bool) {
	if t.Sent.Known {
		line := c.lead(t.ID, sends, 0, t.Sent.Elapsed) + c.moved(t.Sent.Bytes, t.Sent.Rate())
		switch {
		case c.udp:
			line += lost(0, 0, t.Sent.Packets) + "  "
		case t.Retransmits >= 0:
			line += fmt.Sprintf("%4d  ", t.Retransmits)
		case c.retrans:
			line += fmt.Sprintf("%4s  ", "")
		}
		l.add("%ssender", line)
	}
	if t.Received.Known {
		line := c.lead(t.ID, sends, 0, t.Received.Elapsed) + c.moved(t.Received.Bytes, t.Received.Rate())
		switch {
		case c.udp:
			line += lost(t.Jitter, t.Lost, t.Received.Packets) + "  "
		case c.retrans:
			line += fmt.Sprintf("%4s  ", "")
		}
		l.add("%sreceiver", line)
	}
	if t.OutOfOrder > 0 {
		l.add("%s%d datagrams received out-of-order", c.lead(t.ID, sends, 0, t.Received.Elapsed), t.OutOfOrder)
	}
}

// cost is what the transfer cost both processors, and how it was steered.
func (p *Printer) cost(l *lines, sends bool) {
	end := newEnd(&p.record)
	local, remote := "receiver", "sender"
	if sends {
		local, remote = remote, local
	}
	l.add("CPU Utilization: local/%s %.1f%% (%.1f%%u/%.1f%%s), remote/%s %.1f%% (%.1f%%u/%.1f%%s)",
		local, end.CPU.HostTotal, end.CPU.HostUser, end.CPU.HostSystem,
		remote, end.CPU.RemoteTotal, end.CPU.RemoteUser, end.CPU.RemoteSystem)
	if end.SenderCongestion != "" {
		l.add("snd_tcp_congestion %s", printable.Line(end.SenderCongestion))
	}
	if end.ReceiverCongestion != "" {
		l.add("rcv_tcp_congestion %s", printable.Line(end.ReceiverCongestion))
	}
}

// reported is the server's own text or document.
func (p *Printer) reported(l *lines) {
	document, text := serverOutput(&p.record)
	if len(document) > 0 {
		l.add("\nServer JSON output:")
		for line := range strings.Lines(string(document)) {
			l.add("%s", printable.Line(strings.TrimRight(line, "\n")))
		}
	}
	if text != "" {
		l.add("\nServer output:")
		for line := range strings.Lines(text) {
			l.add("%s", printable.Line(strings.TrimRight(line, "\n")))
		}
	}
}
