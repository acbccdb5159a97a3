package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/peer/iperf3/document"
	"github.com/fullbore/fullbore/report"
)

// outputFlags say how a transfer is reported.
type outputFlags struct {
	Interval   float64 `short:"i" default:"1" placeholder:"SECONDS" help:"Time between rows (1), 0.1 to 60; 0 for none."`
	Verbose    bool    `short:"V" help:"Show everything that was measured."`
	Format     string  `short:"f" placeholder:"UNIT" help:"Unit of rates: k, m, g, t (bits) or K, M, G, T (bytes)."`
	JSON       bool    `short:"J" xor:"output" help:"iperf3's JSON document, with fullbore's own keys under .fullbore."`
	JSONStream bool    `name:"json-stream" xor:"output" help:"The same in parts, one a line, as they come."`
	CSV        bool    `name:"csv" xor:"output" help:"The intervals as comma-separated values."`
	Prometheus bool    `name:"prometheus" xor:"output" help:"The figures in Prometheus' text format."`
	ForceFlush bool    `name:"forceflush" hidden:"" help:"It always does."`
}

// form writes the output of a transfer, or of several.
type form interface {
	begin(run string, r document.Record) // run is empty unless there are several; r: what was asked for
	opened(r document.Record)            // what is known before data moves
	progress(p bulk.Progress)
	row() error // one of the record's rows was completed
	run(r *document.Record, name string, run *experiment.Run) error
	end(r *document.Record, own *own) error
}

// form chooses one. A note comes before the text.
func (c *outputFlags) form(app *app, title, note string) (form, error) {
	if !(c.Interval == 0 || c.Interval >= bulk.DefaultInterval.Seconds() && c.Interval <= 60) { // as iperf3's
		return nil, usageError("--interval: %v seconds: use %v to 60, or 0 for none", c.Interval, bulk.DefaultInterval.Seconds())
	}
	unit, err := document.ParseUnit(c.Format)
	if err != nil {
		return nil, usageError("--format: %w", err)
	}
	switch {
	case c.JSON:
		return &asDocument{watched: newWatched(app), print: func(r *document.Record) error { return printJSON(app.stdout, document.New(*r)) }}, nil
	case c.JSONStream:
		return &asStream{w: app.stdout}, nil
	case c.CSV:
		return &asDocument{watched: newWatched(app), print: func(r *document.Record) error { return report.CSV(app.stdout, *r) }}, nil
	case c.Prometheus:
		return &asDocument{watched: newWatched(app), print: func(r *document.Record) error { return report.Prometheus(app.stdout, *r) }}, nil
	}
	text := &asText{w: app.stdout, rows: app.stdout, style: document.Style{Unit: unit, Verbose: c.Verbose}, every: c.Interval, note: note}
	if title != "" {
		text.w = &titled{w: app.stdout, title: title + ":  "} // rows have it
	}
	return text, nil
}

// watched shows progress on a terminal while stdout waits for a document.
type watched struct{ report.Monitor }

func newWatched(app *app) watched {
	return watched{report.NewMonitor(app.stderr, !isTerminal(app.stderr))}
}

func (w watched) begin(run string, _ document.Record) {
	if run == "" {
		run = "transfer"
	}
	w.Phase(run)
}

func (w watched) opened(document.Record)   {}
func (w watched) progress(p bulk.Progress) { w.Progress(p) }
func (w watched) row() error               { return nil }

// asDocument writes one document in the end.
type asDocument struct {
	watched
	print func(r *document.Record) error
}

func (d *asDocument) run(_ *document.Record, _ string, run *experiment.Run) error {
	d.Result(run.Goodput.String())
	return nil
}

func (d *asDocument) end(r *document.Record, _ *own) error {
	d.End()
	return d.print(r)
}

// asStream writes events, a start and an end for each run.
type asStream struct {
	w      io.Writer
	stream *document.Stream
}

func (s *asStream) begin(_ string, r document.Record) { s.opened(r) }
func (s *asStream) opened(r document.Record)          { s.stream = document.NewStream(s.w, r) }
func (s *asStream) progress(bulk.Progress)            { _ = s.stream.Start() } // if it fails, so does the first row
func (s *asStream) row() error                        { return s.stream.Interval() }

func (s *asStream) run(r *document.Record, _ string, _ *experiment.Run) error { return s.end(r, nil) }

func (s *asStream) end(r *document.Record, _ *own) error {
	return s.stream.End(*r)
}

// asText writes for people: rows as they come, in iperf3's columns, then what it
// does not have. Of several runs only a line each, unless all was asked for.
type asText struct {
	w       io.Writer
	rows    io.Writer
	style   document.Style
	every   float64 // seconds; 0: no rows until the end
	note    string  // before all, once
	printer *document.Printer
	several bool
}

func (t *asText) begin(run string, r document.Record) {
	t.several = run != ""
	t.opened(r)
	if t.note != "" && r.Result != nil {
		_, _ = fmt.Fprintln(t.w, t.note)
		t.note = ""
	}
}

func (t *asText) opened(r document.Record) { t.printer = document.NewPrinter(t.rows, r, t.style) }

func (t *asText) progress(bulk.Progress) {
	if !t.brief() {
		_ = t.printer.Open() // if it fails, so does the first row
	}
}

// brief says that a run is shown as one line.
func (t *asText) brief() bool { return t.several && !t.style.Verbose }

func (t *asText) row() error {
	if t.every == 0 || t.brief() {
		return nil
	}
	return t.printer.Row()
}

func (t *asText) run(r *document.Record, name string, run *experiment.Run) error {
	if err := t.single(r); err != nil {
		return err
	}
	report.Run(t.w, run, name)
	return nil
}

// single writes the end of one run.
func (t *asText) single(r *document.Record) error {
	if t.brief() || r.Result == nil {
		return nil
	}
	said := *r
	said.Failed = nil // stderr has it, with what to do about it
	if err := t.printer.Close(said); err != nil {
		return err
	}
	if len(r.Result.Client.Streams) > 0 {
		_, _ = fmt.Fprintln(t.w)
		report.Transfer(t.w, r.Result, t.style.Verbose)
	}
	return nil
}

func (t *asText) end(r *document.Record, own *own) error {
	switch {
	case own.Repeat == nil: // of several, the first ended early
		t.several = false
		return t.single(r)
	case r.Failed == nil:
		last := len(own.Runs)
		if err := t.run(r, fmt.Sprintf("run %d", last), &own.Runs[last-1]); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(t.w)
	report.Repeated(t.w, own.Repeat)
	return nil
}

// titled begins each line with a title.
type titled struct {
	w     io.Writer
	title string
	in    bool // a line
}

func (t *titled) Write(p []byte) (int, error) {
	var b bytes.Buffer
	for line := range bytes.Lines(p) {
		if !t.in {
			b.WriteString(t.title)
		}
		b.Write(line)
		t.in = !bytes.HasSuffix(line, []byte("\n"))
	}
	if _, err := t.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
