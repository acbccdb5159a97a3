package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
)

// event is one line.
type event struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

func events(t *testing.T, out []byte) []event {
	t.Helper()
	var all []event
	for line := range bytes.Lines(out) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

// The events are the parts of the document.
func TestStream(t *testing.T) {
	for name, spec := range specs() {
		t.Run(name, func(t *testing.T) {
			spec.Streams, spec.Omit = 2, time.Second
			var out bytes.Buffer
			var s *Stream
			r := made{spec: spec}.record(func(r Record) {
				if s == nil {
					r.Result = &bulk.Result{Spec: spec} // it runs: nothing else is known
					s = NewStream(&out, r)
				}
				if err := s.Interval(); err != nil {
					t.Fatal(err)
				}
			})
			r.ServerText, r.FullBore = "all was well", 1
			if err := s.End(r); err != nil {
				t.Fatal(err)
			}

			doc := New(r)
			if spec.Protocol != bulk.UDP {
				doc.Start.MSSDefault = new(1448)
			}
			want := []event{{"start", compact(t, doc.Start)}}
			for _, interval := range doc.Intervals {
				want = append(want, event{"interval", compact(t, interval)})
			}
			want = append(want, event{"server_output_text", compact(t, "all was well")}, event{"fullbore", compact(t, 1)}, event{"end", compact(t, doc.End)})
			if d := cmp.Diff(want, events(t, out.Bytes())); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			if strings.Count(out.String(), "\n") != len(want) {
				t.Error("an event is not one line")
			}
		})
	}
}

func compact(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestStreamOfNothing(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(&out, Record{Result: &bulk.Result{Spec: specs()["tcp-forward"]}})
	if err := s.End(Record{Failed: errors.New("no answer"), ServerJSON: json.RawMessage(`{"a": 1}`)}); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"error","data":"no answer"}
{"event":"server_output_json","data":{"a":1}}
{"event":"end","data":{}}
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

// Each event is written at once, and a reader that went away is told of.
func TestStreamReturnsWhatIsWrongWithTheWriter(t *testing.T) {
	pipe := &broken{left: 1500}
	var s *Stream
	var failed error
	made{spec: specs()["tcp-forward"]}.record(func(r Record) {
		if s == nil {
			s = NewStream(pipe, r)
		}
		if err := s.Interval(); err != nil {
			failed = err
		}
	})
	if !errors.Is(failed, errBroken) {
		t.Errorf("the intervals: %v, want %v", failed, errBroken)
	}
}
