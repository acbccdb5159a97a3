package html

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/record"
)

// asJSON is a run as it is exported.
func asJSON(t testing.TB, run *record.Run) string {
	t.Helper()
	text, err := json.MarshalIndent(run, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A mailed report is a record: the runs that were written are read back.
func TestReportIsARecord(t *testing.T) {
	for name, runs := range realRuns(t) {
		read, err := Read(bytes.NewReader(written(t, runs...)))
		if err != nil {
			t.Fatal(err)
		}
		if len(read) != len(runs) {
			t.Fatalf("%s: %d runs come back, want %d", name, len(read), len(runs))
		}
		for i, run := range runs {
			want := *run
			want.Document = withoutSamples(run.Document) // see TestSamplesAreEmbeddedOnce
			if d := cmp.Diff(asJSON(t, &want), asJSON(t, read[i])); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
}

// Test's document repeats every sample of the last transfer: they are embedded once, and
// the rest of the document stays as it is, key by key.
func TestSamplesAreEmbeddedOnce(t *testing.T) {
	for document, want := range map[string]string{
		`{"end":{"b":1,"a":2.50},"fullbore":{"client":{"streams":[{"id":1,"samples":[{"at_ns":1}],"bytes":1e3}]}}}`: `{"end":{"b":1,"a":2.50},"fullbore":{"client":{"streams":[{"id":1,"bytes":1e3}]}}}`,
		`{"samples":[1],"x":[]}`: `{"x":[]}`, `{"x":"samples"}`: `{"x":"samples"}`, `{"x":"\"samples\""}`: `{"x":"\"samples\""}`, `{"samples"`: ``, ``: ``,
	} {
		if got := string(withoutSamples([]byte(document))); got != want {
			t.Errorf("of %s there is %s left, want %s", document, got, want)
		}
	}
}

// long is a run with as many transfers and samples as one can have, which compress as
// badly as real ones.
func long(transfers, streams, samples int) *record.Run {
	draw := rand.New(rand.NewPCG(1, 2))
	run := &record.Run{Header: record.Header{Schema: record.Schema, ID: "x", Kind: record.Test, State: record.Done, Goodput: 1e9, From: "a", To: "b", Tags: []string{}, Command: []string{"test"}}}
	end := func(sender bool) bulk.End {
		var e bulk.End
		for id := range streams {
			s := bulk.Stream{ID: id + 1, Sender: sender, Elapsed: time.Duration(samples) * 100 * time.Millisecond, Bytes: 1e9}
			for i := range samples {
				s.Samples = append(s.Samples, bulk.Sample{
					At: time.Duration(i) * 100 * time.Millisecond, Bytes: int64(i)*1e7 + draw.Int64N(1e6), Omitted: i < 10,
					TCP: bulk.TCPInfo{Length: 280, RTT: 20000 + draw.Uint32N(9000), SndCwnd: 100 + draw.Uint32N(900), SndMSS: 1448, SndWnd: draw.Uint32N(9e6), Unacked: draw.Uint32N(500),
						DataSegsOut: uint32(i)*7000 + draw.Uint32N(900), SegsIn: uint32(i)*3000 + draw.Uint32N(900), TotalRetrans: uint32(i) + draw.Uint32N(2), BytesSent: draw.Uint64N(1e12)},
				})
			}
			e.Streams = append(e.Streams, s)
		}
		return e
	}
	for range transfers {
		run.Transfers = append(run.Transfers, record.Transfer{Result: &bulk.Result{Spec: bulk.Spec{Direction: bulk.Forward, Streams: streams, Duration: time.Minute}, Client: end(true), Server: end(false)}})
	}
	return run
}

// However much a run has, its report is a file that every mail server takes, says
// what it leaves out, and is read back.
func TestSizeIsBounded(t *testing.T) {
	for _, test := range []struct {
		name string
		runs []*record.Run
	}{
		{"many samples", []*record.Run{long(1, 8, 1500)}},
		{"many transfers", []*record.Run{long(80, 1, 100)}},
		{"many runs", slices.Repeat([]*record.Run{long(1, 2, 60)}, MostRuns)},
	} {
		page := written(t, test.runs...)
		if len(page) > Most {
			t.Errorf("%s: %d bytes", test.name, len(page))
		}
		if !bytes.Contains(page, []byte("The run that is embedded here has")) {
			t.Errorf("%s: it does not say that samples were left out", test.name)
		}
		read, err := Read(bytes.NewReader(page))
		if err != nil || len(read) != len(test.runs) {
			t.Errorf("%s: %d runs come back: %v", test.name, len(read), err)
		}
	}
}

// Where samples are left out, those that figures are counted from stay: every figure
// of a transfer but the series over time is the same.
func TestThinningKeepsFigures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := long(1, rapid.IntRange(1, 3).Draw(t, "streams"), rapid.IntRange(12, 200).Draw(t, "samples"))
		for i := range run.Transfers[0].Result.Client.Streams {
			run.Transfers[0].Result.Client.Streams[i].Began = time.Second
		}
		every := rapid.IntRange(0, 50).Draw(t, "every")
		full, thin := run.Transfers[0].Result, thinned(run, every, every).Transfers[0].Result
		want, got := full.Figures(bulk.Forward), thin.Figures(bulk.Forward)
		if got.Goodput != want.Goodput || *got.Repeated.Segments != *want.Repeated.Segments || got.SenderACKs.Data != want.SenderACKs.Data || got.SenderACKs.Back != want.SenderACKs.Back {
			t.Fatalf("with every sample %+v, with every %dth %+v", want, every, got)
		}
	})
}

// What cannot be read says why.
func TestReadRefuses(t *testing.T) {
	page := string(written(t, diagnosed(t, "clean-wan")))
	before, element, found := strings.Cut(page, opening)
	if !found {
		t.Fatal("no run is embedded")
	}
	damaged := strings.Replace(page, opening+"\n", opening+"\nAAAA", 1)
	other := &record.Run{Header: record.Header{Schema: "fullbore/run/99"}}
	for want, text := range map[string]string{
		"no run of fullbore is embedded": "<html></html>", "was cut off": before + opening + element[:9], "it is damaged": damaged,
		"larger than 16 MB": strings.Repeat(" ", mostFile+1), "its schema is": string(written(t, other)), "more than 100 runs": strings.Repeat(opening+element, MostRuns+1),
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
	if _, err := Read(strings.NewReader("")); !errors.Is(err, ErrNoRun) {
		t.Errorf("nothing is read with %v", err)
	}
	// 70 MB of blanks are 70 kB packed.
	bomb := &record.Run{Header: record.Header{Schema: record.Schema, Error: strings.Repeat(" ", mostUnpacked+1)}}
	elements, err := pack([]*record.Run{bomb}, func(run *record.Run) *record.Run { return run })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(strings.NewReader(elements)); err == nil || !strings.Contains(err.Error(), "larger than 64 MB") {
		t.Errorf("the error is %v", err)
	}
	for want, runs := range map[string][]*record.Run{"no run": nil, "run 1 is missing": {nil}, "at most 100": make([]*record.Run, MostRuns+1)} {
		if err := Write(new(bytes.Buffer), runs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

// Whatever a file claims to be a run is read without a panic, and what is read can be
// written.
func FuzzRead(f *testing.F) {
	small := diagnosed(f, "clean-wan")
	small.Transfers = long(1, 1, 3).Transfers
	for _, run := range []*record.Run{small, long(1, 2, 4), sweptRun(f, "sweep-grid"), {Header: record.Header{Schema: record.Schema, Kind: record.Tune}, Document: []byte(`{"kept":[{}]}`)}} {
		run.Hosts = nil
		text, err := json.Marshal(run)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"schema":"fullbore/run/1","kind":"compare","document":{"goodput":{},"runs":[{}]},"transfers":[{"result":null},{"result":{"spec":{"direction":"x"}}}],"hosts":[{"side":"near","when":"before","facts":null}]}`))
	f.Add([]byte(`{"schema":"fullbore/run/1","kind":"sweep","document":{"points":[{"factors":{"x":1},"goodput_bps":1e308},{"factors":{"x":2},"ci95":[-1,1e308]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var run record.Run
		if json.Unmarshal(text, &run) != nil {
			return
		}
		var out bytes.Buffer
		if err := Write(&out, []*record.Run{&run, &run}); err != nil {
			return
		}
		audit(t, out.Bytes())
		if _, err := Read(&out); err != nil && run.Schema == record.Schema && !strings.Contains(err.Error(), "no run of fullbore") {
			t.Error(err)
		}
		if err := Markdown(&out, []*record.Run{&run}); err != nil {
			t.Error(fmt.Errorf("as Markdown: %w", err))
		}
		if _, err := Redact([]*record.Run{&run}); err != nil && !strings.Contains(err.Error(), "redact: the runs name") {
			t.Error(err)
		}
	})
}
