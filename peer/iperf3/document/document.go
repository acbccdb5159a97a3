// Package document writes a transfer as iperf3 does: its -J document, its
// stream of JSON events, and its text. The keys are those of iperf3 3.21, in
// its order.
//
// # Where it differs from iperf3
//
//   - `socket` is the stream's number (1, 3, 4, ... with an iperf3 at the other
//     end), not a file descriptor: programs use it only to tell streams apart,
//     and so the documents of both ends can be matched.
//   - What the far end's kernel knew of its senders (max_snd_cwnd, max_rtt, ...)
//     is there in reverse tests too when the far end is fullbore.
//   - `seconds` of a receiver is the time that its rate is of.
//   - No key is there twice.
//   - `intervals` has a bound: see [Rows].
package document

import (
	"encoding/json"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// Record is what a document is made from: one transfer, as one end saw it.
type Record struct {
	Result   *bulk.Result // nil: it never began
	Server   bool         // this is the server's document: its own half is Result.Server
	Host     string       // of the other end
	Port     uint16       // of the other end
	Cookie   string       // 36 characters
	Began    time.Time    // the control connection
	Blocks   int64        // asked for with -k, 0: none
	Title    string
	Extra    string // --extra-data
	Rows     *Rows  // the intervals; nil: none were asked for
	Software string // version of the other end, if known

	ServerJSON json.RawMessage // --get-server-output
	ServerText string

	Failed   error // why it ended early; nil: it did not
	FullBore any   // what iperf3 has no place for, under "fullbore"; nil: nothing
}

// own is the half of the end whose document this is.
func (r *Record) own() bulk.End {
	switch {
	case r.Result == nil:
		return bulk.End{}
	case r.Server:
		return r.Result.Server
	}
	return r.Result.Client
}

// Finish completes the rows with what this end recorded, and says whether there
// was a last one: see [Rows.Finish].
func (r *Record) Finish() bool { return r.Rows.Finish(r.own()) }

// Sends says whether this end is the sender of a direction.
func (r *Record) Sends(d bulk.Direction) bool { return (d == bulk.Forward) != r.Server }

// spec is what was asked for.
func (r *Record) spec() bulk.Spec {
	if r.Result == nil {
		return bulk.Spec{Direction: bulk.Forward}
	}
	return r.Result.Spec
}

// Document is iperf3's -J document.
type Document struct {
	Start            Start           `json:"start"`
	Intervals        []Interval      `json:"intervals"`
	End              End             `json:"end"`
	Error            string          `json:"error,omitempty"`
	Title            string          `json:"title,omitempty"`
	Extra            string          `json:"extra_data,omitempty"`
	ServerOutputJSON json.RawMessage `json:"server_output_json,omitempty"`
	ServerOutputText string          `json:"server_output_text,omitempty"`
	Note             string          `json:"intervals_note,omitempty"` // not iperf3's: that the intervals are longer than was asked for
	FullBore         any             `json:"fullbore,omitempty"`       // not iperf3's
}

// New makes the document of a record. It finishes the record's rows.
func New(r Record) *Document {
	r.Finish()
	doc := &Document{
		Start: newStart(&r), Intervals: []Interval{}, End: newEnd(&r),
		Title: r.Title, Extra: r.Extra, Note: r.Rows.Note(), FullBore: r.FullBore,
	}
	for _, row := range r.Rows.All() {
		doc.Intervals = append(doc.Intervals, newInterval(row, &r))
	}
	if r.Failed != nil {
		doc.Error = r.Failed.Error()
	}
	doc.ServerOutputJSON, doc.ServerOutputText = serverOutput(&r)
	return doc
}

// serverOutput is what the server reported. What claims to be JSON and is not
// is passed on as text: it must not spoil the document.
func serverOutput(r *Record) (json.RawMessage, string) {
	if len(r.ServerJSON) > 0 && !json.Valid(r.ServerJSON) {
		return nil, string(r.ServerJSON)
	}
	return r.ServerJSON, r.ServerText
}
