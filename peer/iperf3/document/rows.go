package document

import (
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// Rows collects the intervals of a transfer while it runs, at one end. iperf3
// keeps all it has, gigabytes in a day of many streams. Here, when there would
// be more than maxStreamRows rows of streams, two neighbours each become one,
// and from then on rows are kept twice as long: their sums stay exact, and Note
// says so. Last is as long as was asked for all the same.
//
// The methods are for one goroutine at a time. A nil Rows has no rows.
type Rows struct {
	spec    bulk.Spec
	every   time.Duration
	streams []*filling
	at      time.Duration // the latest look
	next    time.Duration // when the row that is being filled ends
	done    bool          // Finish was called

	last Row // the one that was completed last
	kept kept
}

// NewRows collects the rows of a transfer, one every so often. 0: one for the
// whole measured time, and one for what was omitted before.
func NewRows(spec bulk.Spec, every time.Duration) *Rows {
	return &Rows{spec: spec, every: every, next: every, kept: kept{limit: maxStreamRows, stretch: 1}}
}

// Add is for bulk's watch: it takes one look, and says whether a row was
// completed by it; then Last is that row.
//
// A row ends when its time is over, and when the measured time of a stream
// begins, which is counted from there. The row with which the transfer is due to
// end waits for Finish, which knows the final counts, though no more than
// another interval.
func (r *Rows) Add(p bulk.Progress) bool {
	if r == nil || r.done {
		return false
	}
	if r.streams == nil {
		for _, look := range p.Streams {
			r.streams = append(r.streams, newFilling(look, r.spec))
		}
	}
	if len(p.Streams) != len(r.streams) {
		return false // not of this transfer
	}
	r.at = p.At
	begins := false
	for i, s := range r.streams {
		begins = s.take(p.Streams[i].Sample) || begins
	}
	return r.divide(begins)
}

// divide completes the row that is being filled if its time has come, or if the
// measured time of a stream begins.
func (r *Rows) divide(begins bool) bool {
	due := r.every > 0 && r.at >= r.next
	if due && r.ends() {
		due = r.at >= r.next+r.every
	}
	if !due && !begins {
		return false
	}
	completed := r.complete(due)
	if begins {
		r.next = r.at
	}
	for r.every > 0 && r.next <= r.at {
		r.next += r.every
	}
	return completed
}

// ends says that the transfer is due to end with the row that is being filled,
// or a tenth of an interval around it.
func (r *Rows) ends() bool {
	if !r.spec.Timed() {
		return false
	}
	for _, s := range r.streams {
		if s.row.Omitted {
			return false
		}
		if end := s.base + r.spec.Duration; end < r.next-r.every/10 || end > r.next+r.every/10 {
			return false
		}
	}
	return true
}

// complete ends the row that is being filled, now. One that is very short and
// empty is dropped, as iperf3 does, unless it is due.
func (r *Rows) complete(due bool) bool {
	var row Row
	worth := due
	for _, s := range r.streams {
		stream := s.end(r.at)
		worth = worth || stream.Bytes > 0 || stream.Lost != 0 || stream.End-stream.Start > r.every/10
		row.Streams = append(row.Streams, stream)
	}
	if worth && len(row.Streams) > 0 {
		r.last = row
		r.kept.add(row)
		return true
	}
	return false
}

// Finish completes the last row with what the end recorded, and says whether
// there was one; then Last is that row. Only the first call does something.
func (r *Rows) Finish(end bulk.End) bool {
	if r == nil || r.done {
		return false
	}
	r.done = true
	if r.streams == nil { // it was over before anybody looked
		for _, s := range end.Streams {
			r.streams = append(r.streams, newFilling(bulk.Look{ID: s.ID, Sender: s.Sender, Local: s.Local, Remote: s.Remote}, r.spec))
		}
	}
	recorded := map[int]*bulk.Stream{}
	for i := range end.Streams {
		recorded[end.Streams[i].ID] = &end.Streams[i]
	}
	// Nobody may have looked since the measured time began.
	begins, began := false, r.at
	for _, s := range r.streams {
		if stream := recorded[s.look.ID]; stream != nil && s.row.Omitted && stream.Elapsed > 0 {
			now := s.look.Sample
			now.Omitted, now.Bytes = false, max(now.Bytes, stream.Omitted)
			begins, began = s.take(now) || begins, max(began, stream.Began)
		}
	}
	r.at = began
	if begins {
		r.divide(true)
	}
	for _, s := range r.streams {
		if stream := recorded[s.look.ID]; stream != nil {
			s.take(final(s.look.Sample, stream))
			r.at = max(r.at, stream.Began+stream.Elapsed)
		}
	}
	return r.complete(false)
}

// final is the last state of a stream whose latest one was seen. Bytes that
// came after the measured time do not count.
func final(seen bulk.Sample, s *bulk.Stream) bulk.Sample {
	now := seen
	now.Bytes = max(seen.Bytes, s.Bytes+s.Omitted)
	if n := len(s.Samples); n > 0 && s.Samples[n-1].At >= seen.At {
		now.TCP = s.Samples[n-1].TCP
	}
	if s.Datagrams != nil {
		now.UDP = s.Datagrams
	}
	return now
}

// Last is the row that was completed last, if there is one.
func (r *Rows) Last() (Row, bool) {
	if r == nil {
		return Row{}, false
	}
	return r.last, len(r.last.Streams) > 0
}

// All are the rows so far, the first one first.
func (r *Rows) All() []Row {
	if r == nil {
		return nil
	}
	return r.kept.rows
}

// Every is how long rows were asked to be; 0: as long as the transfer.
func (r *Rows) Every() time.Duration {
	if r == nil {
		return 0
	}
	return r.every
}

// connections are the streams as they were first seen.
func (r *Rows) connections() []bulk.Look {
	if r == nil {
		return nil
	}
	var looks []bulk.Look
	for _, s := range r.streams {
		looks = append(looks, s.first)
	}
	return looks
}

// Bound changes how many rows of streams are kept; call it first.
func (r *Rows) Bound(streamRows int) *Rows {
	r.kept.limit = streamRows
	return r
}

// Note says that rows had to be joined, or nothing.
func (r *Rows) Note() string {
	if r == nil || r.kept.stretch == 1 {
		return ""
	}
	return fmt.Sprintf("%d rows of %v were joined into one: no more than %d rows of streams are kept", r.kept.stretch, r.every, r.kept.limit)
}
