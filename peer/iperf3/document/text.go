package document

import (
	"fmt"
	"io"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/printable"
)

// manyStreams is from where on text has the sums only, unless it is verbose:
// eight and their sum, twice, are what fits on a screen of 24 lines.
const manyStreams = 8

// Style is how text is written.
type Style struct {
	Unit    Unit // of rates
	Verbose bool // all streams, however many, and all that is known about the test
}

// Printer writes a transfer as rows for people, in iperf3's columns; beside the
// congestion window there is the round-trip time. Its methods return what went
// wrong with the writer.
type Printer struct {
	w      io.Writer
	record Record
	style  Style
	opened bool // Open was called
	rows   int
}

// NewPrinter writes the text of what the record will be: the result's
// specification, the other end, and the rows are needed now.
func NewPrinter(w io.Writer, r Record, style Style) *Printer {
	return &Printer{w: w, record: r, style: style}
}

// Text is the whole text of a transfer that is over, as a server reports it to a
// client that wants it. It finishes the record's rows.
func Text(r Record) string {
	var out strings.Builder // whose Write does not fail
	r.Finish()
	p := NewPrinter(&out, r, Style{})
	_ = p.Open()
	for _, row := range r.Rows.All() {
		_ = p.write(row)
	}
	_ = p.Close(r)
	return out.String()
}

// lines are put together, and written at once.
type lines struct {
	strings.Builder
	title string
}

func (p *Printer) lines() *lines {
	return &lines{title: printable.Line(p.record.Title)}
}

func (l *lines) add(format string, args ...any) {
	if l.title != "" {
		l.WriteString(l.title + ":  ") // as iperf3 does with -T
	}
	l.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

func (p *Printer) flush(l *lines) error {
	if _, err := io.WriteString(p.w, l.String()); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// Open writes who talks to whom, once. With the first look of the rows it knows
// the connections; Row calls it if that was not done.
func (p *Printer) Open() error {
	if p.opened {
		return nil
	}
	p.opened = true
	r, spec, l := &p.record, p.record.spec(), p.lines()
	host := printable.Line(r.Host)
	if p.style.Verbose {
		l.add("%s", newStart(r).Version)
		l.add("%s", printable.Line(systemInfo()))
		if !r.Began.IsZero() {
			l.add("Time: %s", newStart(r).Timestamp.Time)
		}
	}
	if r.Server {
		l.add("Accepted connection from %s, port %d", host, r.Port)
	} else {
		l.add("Connecting to host %s, port %d", host, r.Port)
		if spec.Direction == bulk.Reverse {
			l.add("Reverse mode, remote host %s is sending", host)
		}
	}
	connected := newStart(r).Connected
	if !p.each() && len(connected) > 0 {
		l.add("%d streams between %s and %s", len(connected), connected[0].LocalHost, connected[0].RemoteHost)
		connected = nil
	}
	for _, c := range connected {
		l.add("[%3d] local %s port %d connected to %s port %d", c.Socket, c.LocalHost, c.LocalPort, c.RemoteHost, c.RemotePort)
	}
	if p.style.Verbose {
		p.asked(l)
	}
	return p.flush(l)
}

// asked is what else the test was asked to be.
func (p *Printer) asked(l *lines) {
	r, start := &p.record, newStart(&p.record)
	if r.Software != "" {
		l.add("      Far end: %s", printable.Line(r.Software))
	}
	if r.Cookie != "" {
		l.add("      Cookie: %s", printable.Line(r.Cookie))
	}
	if start.MSS != nil {
		l.add("      TCP MSS: %d", *start.MSS)
	} else if start.MSSDefault != nil {
		l.add("      TCP MSS: %d (default)", *start.MSSDefault)
	}
	if start.Rate > 0 {
		l.add("      Target Bitrate: %d", start.Rate)
	}
	what := fmt.Sprintf("%g second test", start.Test.Duration)
	if start.Test.Blocks > 0 {
		what = fmt.Sprintf("%d blocks to send", start.Test.Blocks)
	} else if start.Test.Bytes > 0 {
		what = fmt.Sprintf("%d bytes to send", start.Test.Bytes)
	}
	l.add("Starting Test: protocol: %s, %d streams, %d byte blocks, omitting %g seconds, %s, tos %d",
		start.Test.Protocol, start.Test.NumStreams, start.Test.BlkSize, start.Test.Omit, what, start.Test.TOS)
}

// each says that streams have rows of their own.
func (p *Printer) each() bool { return p.style.Verbose || p.record.spec().Streams <= manyStreams }

// Row writes the row that Rows.Add or Rows.Finish said is complete.
func (p *Printer) Row() error {
	row, ok := p.record.Rows.Last()
	if !ok {
		return nil
	}
	if err := p.Open(); err != nil {
		return err
	}
	return p.write(row)
}

func (p *Printer) write(row Row) error {
	l, spec := p.lines(), p.record.spec()
	columns := p.columns(row)
	if p.rows++; p.rows == 1 {
		l.add("%s", columns.header(false))
	} else if spec.Streams > 1 && p.each() {
		l.add("%s", separator)
	}
	for _, d := range spec.Directions() {
		sends := p.record.Sends(d)
		for _, s := range row.Streams {
			if s.Sender == sends && p.each() {
				l.add("%s", columns.interval(s))
			}
		}
		if sum, ok := row.Sum(sends); ok && (spec.Streams > 1 || !p.each()) {
			l.add("%s", columns.interval(sum))
		}
	}
	return p.flush(l)
}
