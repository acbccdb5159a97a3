package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/exposition"
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/sick"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/internal/transcript"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/tune"
)

// kept makes a store of the runs in testdata, and gives what opens it.
func kept(t *testing.T) func(context.Context) (*record.Store, error) {
	t.Helper()
	place := filepath.Join(t.TempDir(), "record.db")
	store, err := record.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	file, err := os.Open("testdata/runs.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	err = record.ReadRuns(file, func(r *record.Run) error {
		_, err := store.Import(t.Context(), r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	keepExperiment(t, store)
	return func(ctx context.Context) (*record.Store, error) { return record.Open(ctx, place) }
}

// keepExperiment keeps what a hub's schedule did once, and that something moved.
func keepExperiment(t *testing.T, store *record.Store) {
	t.Helper()
	const id = "019aab00-0000-7000-8000-000000000000"
	result := fleet.Result{
		Schema: fleet.Schema, Pattern: "pairs", Hosts: []string{"store1", "node1", "node2"}, LeftOut: []fleet.LeftOut{{Host: "node3", Why: "not connected"}},
		Rounds: []fleet.Round{{Flows: []fleet.Flow{{From: 0, To: 1, Goodput: 9e8}, {From: 1, To: 0, Error: "nothing answers"}}}},
		Sick:   &sick.Found{Hosts: []sick.Host{{Host: 2}}},
	}
	document, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	run := &record.Run{
		Header:   record.Header{Schema: record.Schema, ID: id, Kind: record.Fleet, State: record.Done, Started: began, Ended: began.Add(time.Minute), From: "3 hosts", To: "each other", Goodput: 9e8, Tags: []string{"mesh"}},
		Document: document,
		Flows:    []record.Flow{{Run: id, From: "store1", To: "node1", Kind: "transfer", Ended: began, Goodput: 9e8, Bytes: 5e8}},
	}
	if _, err := store.Import(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	shifts := []record.Shift{{Experiment: "mesh", Kind: record.ShiftSends, From: "node2", Since: began, Run: id, Found: time.Now()}, {Experiment: "mesh", Kind: record.ShiftSends, From: "node1", Since: began, Run: id, Found: began.AddDate(-1, 0, 0)}}
	if err := store.KeepShifts(t.Context(), shifts); err != nil {
		t.Fatal(err)
	}
}

// looks gives one snapshot after the other: the first without rates.
type looks struct {
	snapshots []flow.Snapshot
	looked    int
	closed    bool
}

func (l *looks) Look(context.Context) (*flow.Snapshot, error) {
	l.looked++
	return &l.snapshots[min(l.looked, len(l.snapshots))-1], nil
}

func (l *looks) Close() error {
	l.closed = true
	return nil
}

func running() *looks {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	end := netip.MustParseAddrPort
	flows := []flow.Flow{
		{ID: "1", Local: end("198.18.0.1:36200"), Remote: end("198.18.0.2:22"), Process: "ssh", Sends: true, Goodput: 111e6, RTT: 150 * time.Millisecond, Lost: 0.01, Limit: diagnose.Finding{Cause: diagnose.ApplicationWindow}},
		{ID: "2", Local: end("198.18.0.1:443"), Remote: end("203.0.113.7:50000"), Process: "nginx", Goodput: 5e6, Limit: diagnose.Finding{Cause: diagnose.SlowReceiver}},
		{ID: "3", Local: end("198.18.0.1:36300"), Remote: end("198.18.0.3:5432"), Process: "psql", Idle: true, Limit: diagnose.Finding{Cause: diagnose.Unknown}},
	}
	return &looks{snapshots: []flow.Snapshot{{At: at, Flows: flows}, {At: at.Add(time.Second), Over: time.Second, Flows: flows, TimeWait: 2, Hidden: 1}}}
}

func sets() ([]change.Set, error) {
	made := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	return []change.Set{
		{State: change.Live, Created: made.Add(time.Hour), Deadline: made.Add(2 * time.Hour)},
		{State: change.Planned, Created: made, Deadline: made.Add(3 * time.Hour)},
		{State: change.Confirmed, Created: made.AddDate(-1, 0, 0), Deadline: made.AddDate(-1, 0, 0)},
		{State: change.Unreadable, Created: made.AddDate(-2, 0, 0)},
	}, nil
}

func activity() peer.Activity {
	return peer.Activity{Running: 2, Finished: []peer.Tests{
		{Protocol: "fullbore", Done: 10, Failed: 1, Refused: 3, Received: 5e9, Sent: 1e9}, {Protocol: "iperf3", Done: 4, Received: 7}, {Protocol: "ndt7"},
	}}
}

// everything has all parts.
func everything(t *testing.T) Sources {
	return Sources{Record: kept(t), Flows: func() (Looker, error) { return running(), nil }, Changes: sets, Serving: activity}
}

func opened(t *testing.T, s Sources) *Metrics {
	t.Helper()
	m := New(s)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != exposition.ContentType {
		t.Fatalf("%d, %v: %s", w.Code, w.Header(), w.Body)
	}
	return w.Body.String()
}

// varying are the samples that are others every time.
var varying = regexp.MustCompile(`(?m)^(fullbore_(?:build_info|scrape_duration_seconds|record_size_bytes)(?:\{.*\})?) .*$`)

// All that there is to tell of a host, as Prometheus reads it: the last runs of each
// path (a failed one hides no result), flows, change sets and the far end's tests.
func TestMetrics(t *testing.T) {
	t.Parallel()
	text := scrape(t, opened(t, everything(t)))
	if !regexp.MustCompile(`(?m)^fullbore_record_size_bytes [1-9]`).MatchString(text) {
		t.Error("the runs take no room")
	}
	masked := regexp.MustCompile(`(?m)^fullbore_build_info\{.*\}`).ReplaceAllString(varying.ReplaceAllString(text, "$1 0"), "fullbore_build_info{}")
	golden.Check(t, "all.prom", masked)
	promtool(t, text)
}

// promtool has Prometheus's own tool look at it.
func promtool(t *testing.T, text string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	check := exec.CommandContext(t.Context(), program, "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// Metrics are there from the start: of a host that has kept nothing, of one that is told
// not to keep anything, and of a system that shows no flows.
func TestLittleToTell(t *testing.T) {
	for name, test := range map[string]struct {
		sources Sources
		has     string
		not     string
	}{
		"no run yet":      {Sources{Record: func(context.Context) (*record.Store, error) { return nil, nil }}, "\nfullbore_record_runs 0\n", "fullbore_run_"},
		"runs not kept":   {Sources{Record: func(context.Context) (*record.Store, error) { return nil, record.ErrNowhere }}, "fullbore_scrape_error{part=\"record\"} 0\n", "record_runs"},
		"no flows here":   {Sources{Flows: func() (Looker, error) { return nil, fmt.Errorf("watch: %w", host.ErrUnsupported) }}, "fullbore_scrape_error{part=\"flows\"} 0\n", "watch_"},
		"no changes made": {Sources{Changes: func() ([]change.Set, error) { return nil, nil }}, "fullbore_change_sets{state=\"live\"} 0\n", "timestamp"},
		"nothing at all":  {Sources{}, "fullbore_build_info{", "scrape_error"},
	} {
		t.Run(name, func(t *testing.T) {
			text := scrape(t, opened(t, test.sources))
			if !strings.Contains(text, test.has) || strings.Contains(text, test.not) {
				t.Errorf("want %q, and nothing of %q:\n%s", test.has, test.not, text)
			}
			promtool(t, text)
		})
	}
}

// A part that fails is told, in the metrics and once in the log, and takes no other part
// with it; when it is there again, so are its metrics.
func TestPartFails(t *testing.T) {
	t.Parallel()
	var log transcript.Log
	broken := errors.New("the disk\nis gone")
	s := everything(t)
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.Changes = func() ([]change.Set, error) {
		if broken != nil {
			return nil, broken
		}
		return sets()
	}
	m := opened(t, s)
	m.keeps = 0
	for range 3 {
		text := scrape(t, m)
		for _, want := range []string{`fullbore_scrape_error{part="changes"} 1`, `fullbore_scrape_error{part="record"} 0`, "fullbore_run_goodput", "fullbore_watch_flow_limit", "fullbore_serve_tests_total"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
		if strings.Contains(text, "fullbore_change_") {
			t.Error("the part that fails has metrics")
		}
		promtool(t, text)
	}
	if says := log.String(); strings.Count(says, "disk is gone") != 1 {
		t.Errorf("the log has\n%s", says)
	}
	broken = nil
	if text := scrape(t, m); !strings.Contains(text, `fullbore_scrape_error{part="changes"} 0`) || !strings.Contains(text, "fullbore_change_sets{") {
		t.Error("it is not there again")
	}
	log.Await(t, "there again")
}

// A part that hangs is left behind, is not asked again meanwhile, and comes back.
func TestPartHangs(t *testing.T) {
	t.Parallel()
	hang, asked := make(chan struct{}), make(chan struct{}, 10)
	s := everything(t)
	s.Changes = func() ([]change.Set, error) {
		asked <- struct{}{}
		<-hang
		return sets()
	}
	m := opened(t, s)
	m.keeps, m.patience = 0, 3*time.Second // the flows take one
	for range 2 {
		text := scrape(t, m)
		if !strings.Contains(text, `fullbore_scrape_error{part="changes"} 1`) || !strings.Contains(text, "fullbore_run_goodput") || !strings.Contains(text, "fullbore_watch_flow_limit") {
			t.Errorf("while it hangs:\n%s", text)
		}
	}
	if len(asked) != 1 {
		t.Errorf("it was asked %d times", len(asked))
	}
	close(hang)
	for end := time.Now().Add(time.Minute); !strings.Contains(scrape(t, m), `fullbore_scrape_error{part="changes"} 0`); {
		if time.Now().After(end) {
			t.Fatal("it does not come back")
		}
	}
}

// However many ask, the host is looked at once, and all get the same answer; whoever
// asks later gets a new one.
func TestCollectedOnceForMany(t *testing.T) {
	look := running()
	m := opened(t, Sources{Flows: func() (Looker, error) { return look, nil }})
	m.keeps = time.Hour
	texts := make(chan string)
	for range 20 {
		go func() { texts <- string(m.latest()) }()
	}
	first := <-texts
	for range 19 {
		if text := <-texts; text != first {
			t.Error("two answers")
		}
	}
	if look.looked != 2 { // the first look shows no rates
		t.Errorf("looked %d times", look.looked)
	}
	m.keeps = 0
	if scrape(t, m); look.looked != 3 {
		t.Errorf("looked %d times, then", look.looked)
	}
	if err := m.Close(); err != nil || !look.closed {
		t.Errorf("closed: %v, %v", look.closed, err)
	}
}

// However many paths a host has measured, only the latest have series; the others are
// counted.
func TestManyPaths(t *testing.T) {
	const paths = mostPaths + 23
	place := filepath.Join(t.TempDir(), "record.db")
	store, err := record.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range paths {
		started := time.Date(2026, 11, 1, 0, i, 0, 0, time.UTC)
		h := record.Header{
			Schema: record.Schema, ID: fmt.Sprintf("%08x-0000-7000-8000-000000000000", i), Kind: record.Tune, State: record.Done,
			Started: started, Ended: started.Add(time.Second), From: fmt.Sprintf("host%d", i), To: "hub", Goodput: 1e9, Verdict: "healthy",
		}
		document := []byte(`{"path":{"rtt":{"median_ns":1}},"gain":1,"gain_ci95":[1,1],"latency_under_load_ms":{"after":1}}`)
		if _, err := store.Import(t.Context(), &record.Run{Header: h, Document: document}); err != nil {
			t.Fatal(err)
		}
	}
	text := scrape(t, opened(t, Sources{Record: func(ctx context.Context) (*record.Store, error) { return record.Open(ctx, place) }}))
	for name := range map[string]bool{"start_timestamp_seconds": true, "state": true, "end_timestamp_seconds": true, "goodput_bytes_per_second": true, "verdict": true, "rtt_seconds": true, "loaded_rtt_seconds": true, "gain_ratio": true, "gain_lower_ratio": true, "gain_upper_ratio": true} {
		if n := strings.Count(text, "\nfullbore_run_"+name+"{"); n != mostPaths {
			t.Errorf("%s has %d series", name, n)
		}
	}
	if !strings.Contains(text, fmt.Sprintf("fullbore_record_paths %d\n", paths)) || !strings.Contains(text, fmt.Sprintf("fullbore_record_paths_left_out %d\n", paths-mostPaths)) {
		t.Errorf("the others are not counted:\n%s", text)
	}
	if !strings.Contains(text, `from="host122"`) || strings.Contains(text, `from="host22"`) {
		t.Error("those with series are not the latest")
	}
}

// What a tuning prints has its figures where they are looked for.
func TestFiguresOfATuning(t *testing.T) {
	printed, err := json.Marshal(tune.Result{
		Path: &path.Estimate{RTT: path.RTT{Min: 140 * time.Millisecond, Median: 150 * time.Millisecond}},
		Gain: 2.5, GainCI95: [2]float64{2, 3}, Latency: tune.LatencyPair{Before: 160, After: 212.5},
	})
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(t.TempDir(), "record.db")
	r := record.Start(place, record.Header{Kind: record.Tune, From: "a", To: "b"})
	if err := r.End(record.Outcome{State: record.Done, Document: printed}); err != nil {
		t.Fatal(err)
	}
	store, err := record.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	got, err := readFigures(t.Context(), store, &record.Header{ID: r.ID(), Kind: record.Tune})
	if want := (figures{rtt: 0.15, loaded: 0.2125, gain: 2.5, gainLow: 2, gainHigh: 3}); got != want || err != nil {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// Metrics are only read.
func TestOnlyRead(t *testing.T) {
	for method, want := range map[string]int{http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405, http.MethodDelete: 405} {
		w := httptest.NewRecorder()
		opened(t, Sources{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/metrics", bytes.NewReader([]byte("x"))))
		if w.Code != want {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}
