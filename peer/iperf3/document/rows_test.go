package document

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
)

const ms = time.Millisecond

// spans are the rows of one stream: from, to, and in brackets what was omitted.
func spans(rows []Row) string {
	var out []string
	for _, row := range rows {
		s := row.Streams[0]
		text := s.Start.String() + "-" + s.End.String()
		if s.Omitted {
			text = "(" + text + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestRowsSpans(t *testing.T) {
	for _, test := range []struct {
		name  string
		spec  bulk.Spec
		every time.Duration
		end   time.Duration
		want  string
	}{
		{"as long as the transfer", bulk.Spec{Duration: 3 * time.Second}, 0, 0, "0s-3s"},
		{"one a second", bulk.Spec{Duration: 3 * time.Second}, time.Second, 0, "0s-1s 1s-2s 2s-3s"},
		{"a shorter last one", bulk.Spec{Duration: 2500 * ms}, time.Second, 0, "0s-1s 1s-2s 2s-2.5s"},
		{"omitted time", bulk.Spec{Duration: 2 * time.Second, Omit: 1500 * ms}, time.Second, 0, "(0s-1s) (1s-1.5s) 0s-1s 1s-2s"},
		{"omitted, and one for the rest", bulk.Spec{Duration: 2 * time.Second, Omit: time.Second}, 0, 0, "(0s-1s) 0s-2s"},
		{"stopped while omitting", bulk.Spec{Duration: 2 * time.Second, Omit: time.Second}, time.Second, 600 * ms, "(0s-600ms)"},
		{"stopped soon", bulk.Spec{Duration: 9 * time.Second}, time.Second, 1300 * ms, "0s-1s 1s-1.3s"},
		{"the last one takes what comes late", bulk.Spec{Duration: 2 * time.Second}, time.Second, 2200 * ms, "0s-1s 1s-2.2s"},
		{"but no more than an interval", bulk.Spec{Duration: 2 * time.Second}, time.Second, 4200 * ms, "0s-1s 1s-3s 3s-4s 4s-4.2s"},
		{"bytes end it", bulk.Spec{Bytes: 1 << 30}, time.Second, 2400 * ms, "0s-1s 1s-2s 2s-2.4s"},
	} {
		test.spec.Direction, test.spec.Streams = bulk.Forward, 1
		r := made{spec: test.spec, end: test.end}
		rows := NewRows(test.spec, test.every)
		whole := test.spec.Omit + test.spec.Duration
		if test.end > 0 {
			whole = test.end
		}
		for at := madeTick; at <= whole; at += madeTick {
			rows.Add(r.progress(at))
		}
		end := r.recorded(false, whole)
		rows.Finish(end)
		if got := spans(rows.All()); got != test.want {
			t.Errorf("%s: rows are %s, want %s", test.name, got, test.want)
		}
		if rows.Finish(end) || rows.Add(r.progress(whole+madeTick)) {
			t.Errorf("%s: there are rows after the end", test.name)
		}
	}
}

// Where the receiver's clock starts with the first byte, what came before is not
// an omitted time.
func TestRowsBeforeTheFirstByte(t *testing.T) {
	spec := bulk.Spec{Direction: bulk.Reverse, Streams: 1, Duration: time.Second}
	rows := NewRows(spec, time.Second)
	look := func(at time.Duration, omitted bool, bytes int64) {
		rows.Add(bulk.Progress{At: at, Streams: []bulk.Look{{ID: 1, Sample: bulk.Sample{At: at, Omitted: omitted, Bytes: bytes}}}})
	}
	look(100*ms, true, 0)
	look(200*ms, false, 50)
	look(1100*ms, false, 900)
	rows.Finish(bulk.End{Streams: []bulk.Stream{{ID: 1, Bytes: 1000, Began: 150 * ms, Elapsed: time.Second}}})
	want := []Row{{Streams: []StreamRow{{ID: 1, End: 1150 * ms, Bytes: 1000, Retransmits: -1}}}}
	if d := cmp.Diff(want, rows.All()); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
}

// A transfer that was over before anybody looked has its row too, and one whose
// omitted time was.
func TestRowsWithoutALook(t *testing.T) {
	for _, omit := range []time.Duration{0, 30 * ms} {
		spec := bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: 50 * ms, Omit: omit}
		rows := NewRows(spec, time.Second)
		rows.Finish(bulk.End{Streams: []bulk.Stream{{
			ID: 1, Sender: true, Bytes: 500, Omitted: int64(omit / ms), Began: omit, Elapsed: 50 * ms,
			Samples: []bulk.Sample{{At: 40 * ms, TCP: bulk.TCPInfo{Length: 280, TotalRetrans: 7}}},
		}}})
		last, _ := rows.Last()
		want := StreamRow{ID: 1, Sender: true, End: 50 * ms, Bytes: 500, Retransmits: 7}
		if d := cmp.Diff([]StreamRow{want}, last.Streams); d != "" {
			t.Errorf("omitting %v (-want +got):\n%s", omit, d)
		}
		if omit > 0 && spans(rows.All()) != "(0s-30ms) 0s-50ms" {
			t.Errorf("omitting %v: rows are %s", omit, spans(rows.All()))
		}
	}
}

// The kernel's counters have 32 bits.
func TestRowsOfACounterThatWraps(t *testing.T) {
	spec := bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Hour}
	rows := NewRows(spec, time.Second)
	var total uint32
	for i, more := range []uint32{1<<32 - 5, 3, 10, 0, 1<<32 - 1} {
		total += more
		at := time.Duration(i+1) * time.Second
		rows.Add(bulk.Progress{At: at, Streams: []bulk.Look{{ID: 1, Sender: true, Sample: bulk.Sample{TCP: bulk.TCPInfo{Length: 280, TotalRetrans: total}}}}})
		if last, _ := rows.Last(); last.Streams[0].Retransmits != int64(more) {
			t.Errorf("second %d has %d retransmits, want %d", i+1, last.Streams[0].Retransmits, more)
		}
	}
}

// A connection that was reset tells its totals, and no more its state; a kernel
// that tells nothing is not taken for one that counts nothing.
func TestRowsOfAClosedConnection(t *testing.T) {
	s := newFilling(bulk.Look{ID: 1, Sender: true}, bulk.Spec{})
	s.take(bulk.Sample{TCP: bulk.TCPInfo{}})
	if got := s.end(time.Second).Retransmits; got != -1 {
		t.Errorf("without TCP_INFO there are %d retransmits, want -1: not known", got)
	}
	s.take(bulk.Sample{TCP: bulk.TCPInfo{Length: 280, TotalRetrans: 2, RTT: 1500, SndCwnd: 10, SndMSS: 1448}})
	s.end(2 * time.Second)
	s.take(bulk.Sample{TCP: bulk.TCPInfo{Length: 280, TotalRetrans: 5, State: bulk.StateClosed}})
	s.take(bulk.Sample{TCP: bulk.TCPInfo{}})
	want := StreamRow{ID: 1, Sender: true, Start: 2 * time.Second, End: 3 * time.Second, Retransmits: 3, Cwnd: 14480, RTT: 1500 * time.Microsecond}
	if d := cmp.Diff(want, s.end(3*time.Second)); d != "" {
		t.Errorf("row (-want +got):\n%s", d)
	}
}

// A nil Rows is one that was not asked for.
func TestNoRows(t *testing.T) {
	var r *Rows
	if r.Add(bulk.Progress{}) || r.Finish(bulk.End{}) || r.All() != nil || r.Every() != 0 || r.Note() != "" {
		t.Error("there are rows")
	}
	if _, ok := r.Last(); ok {
		t.Error("there is a last row")
	}
}

// Whatever happens: no byte is in two rows or in none, rows follow each other,
// sums are those of the streams, rates are bytes over time, and there are never
// more rows than may be.
func TestRowsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := bulk.Spec{
			Direction: bulk.Both, Streams: rapid.IntRange(1, 3).Draw(t, "streams"), Duration: time.Minute,
			Omit: time.Duration(rapid.IntRange(0, 3).Draw(t, "omit")) * time.Second,
		}
		if rapid.Bool().Draw(t, "udp") {
			spec.Protocol = bulk.UDP
		}
		limit := rapid.SampledFrom([]int{24, 48, 1 << 17}).Draw(t, "limit")
		rows := NewRows(spec, time.Second).Bound(limit)
		n := 2 * spec.Streams
		bytes, retrans, lost := make([]int64, n), make([]uint32, n), make([]int64, n)
		var end bulk.End
		at := time.Duration(0)
		looks := func() []bulk.Look {
			var all []bulk.Look
			for i := range n {
				sample := bulk.Sample{At: at, Omitted: at < spec.Omit, Bytes: bytes[i], TCP: bulk.TCPInfo{Length: 280, TotalRetrans: retrans[i]}}
				if spec.Protocol == bulk.UDP {
					sample.TCP, sample.UDP = bulk.TCPInfo{}, &bulk.Datagrams{Packets: bytes[i] / 1000, Lost: lost[i]}
				}
				all = append(all, bulk.Look{ID: i + 1, Sender: i%2 == 0, Sample: sample})
			}
			return all
		}
		move := func() {
			at += time.Duration(rapid.Int64Range(1, int64(1500*ms)).Draw(t, "time"))
			for i := range n {
				bytes[i] += rapid.Int64Range(0, 1e9).Draw(t, "bytes")
				retrans[i] += rapid.Uint32().Draw(t, "retransmits")
				lost[i] += rapid.Int64Range(-3, 10).Draw(t, "lost") // late ones are found again
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "looks") {
			move()
			rows.Add(bulk.Progress{At: at, Streams: looks()})
		}
		move()
		for i, look := range looks() {
			s := bulk.Stream{ID: i + 1, Sender: look.Sender, Bytes: look.Bytes, Samples: []bulk.Sample{look.Sample}, Datagrams: look.UDP}
			if s.Began = min(at, spec.Omit); at > spec.Omit {
				s.Elapsed = at - spec.Omit
			}
			end.Streams = append(end.Streams, s)
		}
		rows.Finish(end)

		moved, reported := make([]int64, n), make([]int64, n)
		var before Row
		for i, row := range rows.All() {
			if i > 0 && before.Streams[0].Omitted == row.Streams[0].Omitted && before.Streams[0].End != row.Streams[0].Start {
				t.Fatalf("a row begins at %v, the one before ended at %v", row.Streams[0].Start, before.Streams[0].End)
			}
			before = row
			for k, s := range row.Streams {
				moved[k] += s.Bytes
				reported[k] += s.Lost
			}
			checkInterval(t, newInterval(row, &Record{Result: &bulk.Result{Spec: spec}}))
		}
		if d := cmp.Diff(bytes, moved); d != "" {
			t.Fatalf("bytes of the streams (-moved +in rows):\n%s", d)
		}
		if d := cmp.Diff(lost, reported); spec.Protocol == bulk.UDP && d != "" {
			t.Fatalf("lost datagrams (-lost +in rows):\n%s", d)
		}
		if most := max(limit, 3*n); len(rows.All())*n > most+n {
			t.Fatalf("%d rows of %d streams are kept, the limit is %d", len(rows.All()), n, limit)
		}
	})
}

func checkInterval(t *rapid.T, interval Interval) {
	for i, sum := range []*IntervalRow{interval.Sum, interval.SumReverse} {
		var bytes, retransmits int64
		for _, row := range interval.Streams {
			checkRate(t, row.Span)
			if row.Sender != (i == 0) {
				continue
			}
			bytes += row.Bytes
			if row.Retransmits != nil {
				retransmits += *row.Retransmits
			}
		}
		checkRate(t, sum.Span)
		if sum.Bytes != bytes || sum.Retransmits != nil && *sum.Retransmits != retransmits {
			t.Fatalf("the sum has %d bytes and %v retransmits, its streams %d and %d", sum.Bytes, sum.Retransmits, bytes, retransmits)
		}
	}
}

func checkRate(t interface{ Fatalf(string, ...any) }, s Span) {
	want := 0.0
	if s.Seconds > 0 {
		want = float64(s.Bytes) * 8 / s.Seconds
	}
	if s.BitsPerSecond != want {
		t.Fatalf("%d bytes in %v s are %v bit/s, want %v", s.Bytes, s.Seconds, s.BitsPerSecond, want)
	}
}

// A day of many streams takes no more memory than is allowed, and says so.
func TestRowsAreBounded(t *testing.T) {
	spec := bulk.Spec{Direction: bulk.Forward, Streams: 2, Duration: 24 * time.Hour}
	m := made{spec: spec}
	rows := NewRows(spec, time.Second).Bound(1000)
	completed := 0
	for at := time.Second; at <= spec.Duration; at += time.Second {
		if rows.Add(m.progress(at)) {
			completed++
		}
	}
	rows.Finish(m.recorded(false, spec.Duration))
	if completed != 24*3600-1 {
		t.Errorf("%d rows were completed while it ran, want one a second but the last", completed)
	}
	if n := len(rows.All()); n < 250 || n > 500 {
		t.Errorf("%d rows of two streams are kept, want 250 to 500", n)
	}
	var sum int64
	for _, row := range rows.All() {
		sum += row.Streams[0].Bytes
	}
	if want := int64(madeRate.BytesIn(spec.Duration)); sum != want {
		t.Errorf("rows have %d bytes, want %d", sum, want)
	}
	want := "256 rows of 1s were joined into one: no more than 1000 rows of streams are kept"
	if doc := New(Record{Result: &bulk.Result{Spec: spec}, Rows: rows}); doc.Note != want {
		t.Errorf("the document says %q, want %q", doc.Note, want)
	}
}
