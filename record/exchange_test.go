package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// kept keeps a small run and gives its identifier.
func kept(t *testing.T, place string, tag string) string {
	t.Helper()
	r := Start(place, Header{Kind: Tune, Command: []string{"tune", "b"}, From: "a", To: "b", Tags: []string{tag}})
	r.Event(Phase, "measure")
	r.Host(Host{Side: Far, When: Before, Is: &host.Facts{Name: "b", Tunables: map[string]string{}}})
	r.Transfer(time.Now(), aTransfer("measure"))
	if err := r.End(Outcome{State: Done, Goodput: 1e9, Document: []byte(`{"gain":2}`), Changes: []Change{{"b", "net.core.rmem_max", "1", "2", ByTune}}}); err != nil {
		t.Fatal(err)
	}
	id, err := opened(t, place).Find(t.Context(), Latest)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Runs go from either database to the other and are the same there; those that are
// there already stay as they are.
func TestExportImport(t *testing.T) {
	places := map[string]string{"SQLite": filepath.Join(t.TempDir(), "record.db"), "PostgreSQL": newDatabase(t)}
	for from, to := range map[string]string{"SQLite": "PostgreSQL", "PostgreSQL": "SQLite"} {
		for i := range 3 {
			kept(t, places[from], fmt.Sprint(from, i))
		}
		source, sink := opened(t, places[from]), opened(t, places[to])
		var lines bytes.Buffer
		out := json.NewEncoder(&lines)
		if err := source.Export(t.Context(), Filter{Tag: from + "1"}, func(r *Run) error { return out.Encode(r) }); err != nil {
			t.Fatal(err)
		}
		for again := range 2 {
			read := 0
			err := ReadRuns(bytes.NewReader(lines.Bytes()), func(r *Run) error {
				read++
				added, err := sink.Import(t.Context(), r)
				if added != (again == 0) {
					t.Errorf("%s to %s, time %d: added is %v", from, to, again+1, added)
				}
				want, failed := source.Load(t.Context(), r.ID)
				if failed != nil {
					return failed
				}
				got, failed := sink.Load(t.Context(), r.ID)
				if failed != nil {
					return failed
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s to %s: %s", from, to, d)
				}
				return err
			})
			if err != nil || read != 1 {
				t.Errorf("%d runs, %v", read, err)
			}
		}
	}
}

// What is no export is refused, with the run that it is about.
func TestReadRunsRefuses(t *testing.T) {
	good, err := json.Marshal(Run{Header: Header{Schema: Schema, ID: NewID(), Kind: Test, State: Done, Started: time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"x":                         "run 1: invalid character",
		string(good) + "\n{":        "run 2: unexpected EOF",
		`{"schema":"fullbore/x/1"}`: `run 1: its schema is "fullbore/x/1", not "fullbore/run/1"`,
		strings.Replace(string(good), `"id":"`, `"id":"0`, 1):            "is no UUID",
		strings.Replace(string(good), `"kind":"test"`, `"kind":"x"`, 1):  `its kind "x" is not known`,
		strings.Replace(string(good), `"state":"done"`, `"state":""`, 1): `its state "" is not known`,
		strings.Replace(string(good), `"from":""`, `"from":"\u0000"`, 1): "has a NUL",
	} {
		if err := ReadRuns(strings.NewReader(text), func(*Run) error { return nil }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := ReadRuns(strings.NewReader(""), nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

// FuzzReadRuns: an export may come from anywhere.
func FuzzReadRuns(f *testing.F) {
	r := Run{Header: Header{Schema: Schema, ID: NewID(), Kind: Test, State: Done, Started: time.Now()}, Transfers: []Transfer{aTransfer("x")}}
	text, err := json.Marshal(r)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("{}\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = ReadRuns(bytes.NewReader(text), func(r *Run) error {
			if r.check() != nil {
				t.Error("it was not checked")
			}
			return nil
		})
	})
}

// The newest runs stay, and those since a time; one that still runs does too.
func TestPrune(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		day := time.Now().AddDate(0, 0, -10)
		for i := range 10 {
			h := Header{ID: NewID(), Kind: Test, State: Done, Started: day.AddDate(0, 0, i), Tags: []string{"x"}}
			if i == 0 {
				h.State = Running
			}
			w, err := s.begin(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			transfer := aTransfer("")
			if err := w.write(t.Context(), Message{Transfer: &transfer}); err != nil {
				t.Fatal(err)
			}
		}
		before, err := s.Size(t.Context())
		if err != nil || before == 0 {
			t.Fatalf("%d bytes, %v", before, err)
		}
		for _, step := range []struct {
			keep    Keep
			removed int64
		}{
			{Keep{Newest: 20}, 0},
			{Keep{Newest: 1, Since: day.AddDate(0, 0, 4)}, 3},
			{Keep{Newest: 2}, 4},
			{Keep{}, 2},
		} {
			if removed, err := s.Prune(t.Context(), step.keep); removed != step.removed || err != nil {
				t.Errorf("%+v: %d removed, %v, want %d", step.keep, removed, err, step.removed)
			}
		}
		for table, want := range map[string]int{"run": 1, "part": 1, "series": 4, "tag": 1} {
			var rows int
			if err := s.read.QueryRow(`SELECT COUNT(*) FROM ` + table).Scan(&rows); rows != want || err != nil {
				t.Errorf("%d rows of %s are left, %v, want %d", rows, table, err, want)
			}
		}
	})
}

// A path's trend has its runs, its levels, and what became different on its hosts.
func TestTrend(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		for i := range 24 {
			h := Header{ID: NewID(), Kind: Test, State: Done, Started: day.AddDate(0, 0, i), From: "a", To: "b", Goodput: unit.Rate(1e8 + 1e6*float64(i%3))}
			if i >= 12 {
				h.Goodput *= 9
			}
			switch i {
			case 3:
				h.Scenario = "lan" // in the lab, with hosts of the same names
			case 5:
				h.State = Failed
			}
			w, err := s.begin(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			if i == 12 {
				if err := w.write(t.Context(), Message{End: &Outcome{State: Done, Goodput: h.Goodput, Changes: []Change{{"b", "net.ipv4.tcp_rmem", "1", "2", ByTune}}}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		trend, err := s.Trend(t.Context(), Filter{From: "a", To: "b", Kind: Test}, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(trend.Runs) != 22 || len(trend.Levels) != 2 || trend.Levels[0].Runs != 10 || !trend.Levels[1].Since.Equal(day.AddDate(0, 0, 12)) {
			t.Errorf("%d runs, with the levels %+v", len(trend.Runs), trend.Levels)
		}
		if len(trend.Changes) != 1 || trend.Changes[0].Tunable != "net.ipv4.tcp_rmem" || !trend.Changes[0].At.Equal(day.AddDate(0, 0, 12)) {
			t.Errorf("with the changes %+v", trend.Changes)
		}
		if trend, err := s.Trend(t.Context(), Filter{From: "b", To: "a"}, ""); err != nil || len(trend.Runs)+len(trend.Levels)+len(trend.Changes) != 0 {
			t.Errorf("the way back has %+v, %v", trend, err)
		}
		if _, err := json.Marshal(trend); err != nil {
			t.Error(err)
		}
	})
}
