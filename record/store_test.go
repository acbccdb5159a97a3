package record

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/postgres"
)

// onBoth runs a test with an empty store of either kind.
func onBoth(t *testing.T, test func(t *testing.T, place string)) {
	t.Run("SQLite", func(t *testing.T) {
		test(t, filepath.Join(t.TempDir(), "state", "record.db"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		test(t, newDatabase(t))
	})
}

// server is one for all tests of the package.
var server struct {
	sync.Mutex
	address   string
	databases int
}

// newDatabase gives the address of an empty database.
func newDatabase(t testing.TB) string {
	t.Helper()
	server.Lock()
	defer server.Unlock()
	if server.address == "" {
		server.address = postgres.Start(lasting{t})
	}
	conn, err := pgx.Connect(t.Context(), server.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	server.databases++
	name := fmt.Sprintf("test%d", server.databases)
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(server.address)
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/" + name
	return address.String()
}

// lasting is a test whose clean-up waits for that of all tests.
type lasting struct{ testing.TB }

var atEnd []func()

func (lasting) Cleanup(f func()) { atEnd = append(atEnd, f) }

func TestMain(m *testing.M) {
	if place := os.Getenv(keepsRuns); place != "" {
		keepRuns(place)
		return
	}
	code := m.Run()
	for _, clean := range slices.Backward(atEnd) {
		clean()
	}
	os.Exit(code)
}

func opened(t *testing.T, place string) *Store {
	t.Helper()
	s, err := Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// aTransfer has two streams, and samples of both ends.
func aTransfer(phase string) Transfer {
	end := func(name string) bulk.End {
		e := bulk.End{Host: name}
		for i := range 2 {
			s := bulk.Stream{ID: i, Bytes: 1 << 30, Elapsed: 10 * time.Second, Sender: name == "a"}
			for j := range 50 {
				s.Samples = append(s.Samples, bulk.Sample{At: time.Duration(j) * 200 * time.Millisecond, Bytes: int64(j) << 20, TCP: bulk.TCPInfo{RTT: uint32(1000 + j%7), SndCwnd: uint32(10 + j)}})
			}
			e.Streams = append(e.Streams, s)
		}
		return e
	}
	return Transfer{Phase: phase, Result: &bulk.Result{
		Spec: bulk.Spec{Direction: bulk.Forward, Streams: 2, Duration: 10 * time.Second}, Client: end("a"), Server: end("b"),
	}}
}

// A run comes back as it was kept: its steps, transfers with all samples, both
// hosts before and after, and its document.
func TestRunComesBack(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		r := Start(place, Header{Kind: Tune, Command: []string{"tune", "b"}, Version: "1", From: "here", To: "198.18.0.2", Tags: []string{"before the upgrade", "lab"}})
		before := &host.Facts{Name: "a", OS: "linux", Version: "6.1", Tunables: map[string]string{"net.core.rmem_max": "212992"}}
		r.Host(Host{Side: Near, When: Before, Is: before})
		r.Event(Phase, "measure as it is now")
		began := time.Now()
		first, second := aTransfer("measure as it is now"), aTransfer("try")
		r.Transfer(began, first)
		r.Event(Result, "3 Mb/s")
		r.Transfer(began, second)
		if err := r.End(Outcome{State: Done, Goodput: 9e8, Verdict: "receiver-buffer", Document: []byte(`{"schema":"fullbore/tune/1"}`), Changes: []Change{{"a", "net.core.rmem_max", "212992", "4000000", ByTune}}}); err != nil {
			t.Fatal(err)
		}

		s := opened(t, place)
		all, err := s.List(t.Context(), Filter{})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d runs, %v", len(all), err)
		}
		h := all[0]
		if h.From != "a" || h.To != "b" || h.State != Done || h.Verdict != "receiver-buffer" || h.Goodput != 9e8 || h.Ended.Before(h.Started) || !cmp.Equal(h.Tags, []string{"before the upgrade", "lab"}) {
			t.Errorf("it is listed as %+v", h)
		}
		for _, name := range []string{h.ID, h.ID[:20], h.ID[len(h.ID)-6:], Latest, strings.ToUpper(h.ID)} {
			if id, err := s.Find(t.Context(), name); id != h.ID || err != nil {
				t.Errorf("%q is %q, %v", name, id, err)
			}
		}
		run, err := s.Load(t.Context(), h.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(run.Header, h) || string(run.Document) != `{"schema":"fullbore/tune/1"}` {
			t.Errorf("loaded as %+v, with %s", run.Header, run.Document)
		}
		if len(run.Events) != 2 || run.Events[0].Text != "measure as it is now" || run.Events[1].Kind != Result {
			t.Errorf("its steps are %+v", run.Events)
		}
		if len(run.Transfers) != 2 {
			t.Fatalf("%d transfers", len(run.Transfers))
		}
		for i, want := range []Transfer{first, second} {
			if d := cmp.Diff(want.Result, run.Transfers[i].Result); d != "" || run.Transfers[i].Phase != want.Phase {
				t.Errorf("transfer %d of %q: %s", i+1, run.Transfers[i].Phase, d)
			}
		}
		if len(run.Hosts) != 1 || !cmp.Equal(run.Hosts[0].Is, before) {
			t.Errorf("its hosts are %+v", run.Hosts)
		}
	})
}

// A run whose process was killed is there, with all that it had written.
func TestKilledRunIsInterrupted(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		long := time.Now().Add(-time.Hour)
		w, err := s.begin(t.Context(), Header{ID: NewID(), Kind: Test, State: Running, Started: long})
		if err != nil {
			t.Fatal(err)
		}
		transfer := aTransfer("")
		if err := w.write(t.Context(), Message{Transfer: &transfer}); err != nil {
			t.Fatal(err)
		}
		if got := state(t, s, w); got != Running {
			t.Errorf("a moment after it wrote it is %s", got)
		}
		if _, err := s.write.Exec(`UPDATE run SET seen = $1`, stamp(long)); err != nil {
			t.Fatal(err)
		}
		if got := state(t, s, w); got != Interrupted {
			t.Errorf("an hour later it is %s", got)
		}
		if run, err := s.Load(t.Context(), w.header.ID); err != nil || len(run.Transfers) != 1 || run.Error == "" {
			t.Errorf("it has %+v, %v", run, err)
		}
		if err := w.beat(t.Context()); err != nil { // it only stood still
			t.Fatal(err)
		}
		if got := state(t, s, w); got != Running {
			t.Errorf("after a sign of life it is %s", got)
		}
	})
}

func state(t *testing.T, s *Store, w *writer) State {
	t.Helper()
	all, err := s.List(t.Context(), Filter{})
	if err != nil || len(all) != 1 || all[0].ID != w.header.ID {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[0].State
}

// Runs are found by host, path, kind, tag, time, and how the name of their scenario begins.
func TestFilter(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		for i, h := range []Header{
			{Kind: Test, From: "a", To: "b", Tags: []string{"x"}},
			{Kind: Tune, From: "b", To: "a", Tags: []string{"x", "it's"}},
			{Kind: Test, From: "a", To: "c", Scenario: "twin-of-a-to-b-0123abcd"},
		} {
			h.ID, h.State, h.Started = fmt.Sprintf("%08x-0000-7000-8000-00000000000%d", i, i), Done, day.AddDate(0, 0, i)
			if _, err := s.begin(t.Context(), h); err != nil {
				t.Fatal(err)
			}
		}
		for want, f := range map[string]Filter{
			"2 1 0": {},
			"2 1":   {Most: 2},
			"1 0":   {Host: "b"},
			"0":     {From: "a", To: "b"},
			"2 0":   {Kind: Test},
			"1":     {Tag: "it's"},
			"1 0 ":  {Tag: "x"},
			"2 1 ":  {Since: day.AddDate(0, 0, 1)},
			"0 ":    {Until: day.AddDate(0, 0, 1)},
			"1 ":    {Host: "a", Kind: Tune, Tag: "x", Since: day, Until: day.AddDate(0, 0, 2), Most: 5},
			"2":     {Begins: "twin-of-a-to-b-"},
			"":      {Host: "nobody"},
			"  ":    {Begins: "of-a-to-b"},
			" ":     {Tag: "' OR 1=1 --"},
		} {
			all, err := s.List(t.Context(), f)
			var got []string
			for _, h := range all {
				got = append(got, h.ID[len(h.ID)-1:])
			}
			if strings.Join(got, " ") != strings.TrimSpace(want) || err != nil {
				t.Errorf("%+v: runs %v, %v, want %s", f, got, err, want)
			}
		}
		for _, name := range []string{"00000", "zzzz", "3", "", "%%%%", "12345678"} {
			if id, err := s.Find(t.Context(), name); !errors.Is(err, ErrNoRun) {
				t.Errorf("%q is %q, %v", name, id, err)
			}
		}
		if _, err := s.Load(t.Context(), "none"); !errors.Is(err, ErrNoRun) {
			t.Error(err)
		}
	})
}

// What somebody changed on a host between two runs is found by the second.
func TestChangesFound(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		keep := func(f *host.Facts, after *host.Facts, changes ...Change) string {
			r := Start(place, Header{Kind: Tune, From: "a", To: "b"})
			r.Host(Host{Side: Near, When: Before, Is: f})
			if after != nil {
				r.Host(Host{Side: Near, When: After, Is: after})
			}
			if err := r.End(Outcome{State: Done, Changes: changes}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Millisecond) // the next one is later by its identifier
			return ""
		}
		facts := func(version, rmem string) *host.Facts {
			return &host.Facts{Name: "a", Version: version, Tunables: map[string]string{"net.core.rmem_max": rmem, "net.core.wmem_max": "1"}}
		}
		keep(facts("6.1", "100"), facts("6.1", "200"), Change{"a", "net.core.rmem_max", "100", "200", ByTune})
		keep(facts("6.1", "200"), nil)
		keep(facts("6.6", "300"), nil)
		rows, err := opened(t, place).read.Query(`SELECT tunable, old, new, who FROM change ORDER BY run, n`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got []string
		for rows.Next() {
			var tunable, old, new, who string
			if err := rows.Scan(&tunable, &old, &new, &who); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s -> %s by %s", tunable, old, new, who))
		}
		want := []string{"net.core.rmem_max 100 -> 200 by tune", "version 6.1 -> 6.6 by someone", "net.core.rmem_max 200 -> 300 by someone"}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// Several processes write and read at the same time, the first of them all making
// the store.
func TestSeveralAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 3 {
					r := Start(place, Header{Kind: Test, From: "a", To: "b"})
					r.Transfer(time.Now(), aTransfer(""))
					if err := r.End(Outcome{State: Done}); err != nil {
						t.Error(err)
					}
					s, err := Open(context.Background(), place)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := s.List(context.Background(), Filter{}); err != nil {
						t.Error(err)
					}
					_ = s.Close()
				}
			})
		}
		group.Wait()
		if all, err := opened(t, place).List(t.Context(), Filter{}); len(all) != 24 || err != nil {
			t.Errorf("%d runs, %v", len(all), err)
		}
	})
}

// A store that a newer version has written to is left alone.
func TestNewerStore(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		if _, err := s.write.Exec(`UPDATE store SET version = 1000`); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), place); !errors.Is(err, ErrNewer) {
			t.Error(err)
		}
	})
}

// Where a run cannot be kept, its end says why, and the measurement went on.
func TestNoPlace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "text")
	if err := os.WriteFile(file, []byte("this is no database, but text that is longer than the head of one: "+strings.Repeat("x", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		Nowhere:                           "runs are not kept",
		file:                              "not a database",
		filepath.Join(file, "x.db"):       "not a directory",
		"mysql://server/x":                "use the name of a file, postgres://",
		"postgres://nobody@127.0.0.1:1/x": "refused",
	} {
		r := Start(place, Header{Kind: Test})
		r.Transfer(time.Now(), aTransfer(""))
		if err := r.End(Outcome{State: Done}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", place, err, want)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), "this is no database") {
		t.Errorf("the file was changed: %q, %v", text, err)
	}
}
