package document

import (
	"encoding/json"
	"fmt"
	"io"
)

// Stream writes a transfer as iperf3's --json-stream does: one object a line,
// {"event": ..., "data": ...}, each with one Write, as they happen. The events
// are start, interval, error, server_output_json, server_output_text, fullbore
// (not iperf3's: what the document has under that key), and end. Its methods
// return what went wrong with the writer: a reader that went away is no reason
// to go on.
type Stream struct {
	w       io.Writer
	record  Record
	started bool
}

// NewStream writes the events of what the record will be: the result's
// specification, the other end, and the rows are needed now.
func NewStream(w io.Writer, r Record) *Stream { return &Stream{w: w, record: r} }

// Start writes the start event, once. With the first look of the rows it knows
// the connections; Interval calls it if that was not done.
func (s *Stream) Start() error {
	if s.started {
		return nil
	}
	s.started = true
	return s.write("start", newStart(&s.record))
}

// Interval writes the row that Rows.Add or Rows.Finish said is complete.
func (s *Stream) Interval() error {
	row, ok := s.record.Rows.Last()
	if !ok {
		return nil
	}
	if err := s.Start(); err != nil {
		return err
	}
	return s.write("interval", newInterval(row, &s.record))
}

// End writes what is left, when the transfer is over: the last interval, if the
// record's rows are not finished yet, and all that follows. A transfer that
// never began has an error and an empty end, and no start.
func (s *Stream) End(r Record) error {
	s.record = r
	if r.Finish() {
		if err := s.Interval(); err != nil {
			return err
		}
	}
	if len(connections(&r)) > 0 {
		if err := s.Start(); err != nil {
			return err
		}
	}
	document, text := serverOutput(&r)
	for _, event := range []struct {
		name  string
		there bool
		data  any
	}{
		{"error", r.Failed != nil, errorText(r.Failed)},
		{"server_output_json", len(document) > 0, document},
		{"server_output_text", text != "", text},
		{"fullbore", r.FullBore != nil, r.FullBore},
		{"end", true, newEnd(&r)},
	} {
		if !event.there {
			continue
		}
		if err := s.write(event.name, event.data); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stream) write(event string, data any) error {
	line, err := json.Marshal(struct {
		Event string `json:"event"`
		Data  any    `json:"data"`
	}{event, data})
	if err != nil {
		return fmt.Errorf("write %s event: %w", event, err)
	}
	if _, err := s.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write %s event: %w", event, err)
	}
	return nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
