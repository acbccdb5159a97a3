package web

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
	"github.com/fullbore/fullbore/web/live"
	"github.com/fullbore/fullbore/web/task"
)

// began is when the runs of tests began.
var began = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// numbered is an identifier that is the same in each run of the tests.
func numbered(n int) string { return fmt.Sprintf("019aa0f1-3c00-7000-8000-%012d", n) }

// diagnosed is a run of a real transfer in the lab.
func diagnosed(t testing.TB, n int, scenario string) *record.Run {
	t.Helper()
	folder := filepath.Join("..", "report", "testdata", "diagnosis")
	x, err := examine.Read(filepath.Join(folder, scenario+".evidence.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(filepath.Join(folder, scenario+".json"))
	if err != nil {
		t.Fatal(err)
	}
	e := &x.Evidence
	return &record.Run{
		Header: record.Header{
			Schema: record.Schema, ID: numbered(n), Kind: record.Diagnose, State: record.Done, Started: began.Add(time.Duration(n) * time.Minute), Ended: began.Add(time.Duration(n)*time.Minute + 12*time.Second),
			Command: []string{"diagnose", "--lab", scenario}, Version: "0.9.0", Scenario: scenario, From: "a", To: "b", Goodput: e.Transfer.Goodput(e.Direction), Verdict: x.Diagnosis.Verdict.Cause, Tags: []string{"lab"},
		},
		Document:  document,
		Events:    []record.Event{{Kind: record.Phase, Text: "probe the path"}, {At: time.Second, Kind: record.Phase, Text: "measure a transfer"}},
		Transfers: []record.Transfer{{At: time.Second, Phase: "measure a transfer", Result: e.Transfer}},
		Hosts:     []record.Host{{Side: record.Near, When: record.Before, At: began, Is: e.SenderHost}, {Side: record.Far, When: record.Before, At: began, Is: e.ReceiverHost}},
	}
}

// tuned is a run of tune between two hosts outside of the lab.
func tuned(t testing.TB, n int) *record.Run {
	t.Helper()
	run, better := diagnosed(t, n, "california-uk"), diagnosed(t, n, "clean-wan")
	var verdict struct{ Verdict json.RawMessage }
	if err := json.Unmarshal(run.Document, &verdict); err != nil {
		t.Fatal(err)
	}
	result := tune.Result{
		Schema: tune.ResultSchema, Direction: bulk.Forward, From: "nas1", To: "nas2", Apply: tune.ApplyLive,
		Before: tune.Figure{Goodput: run.Goodput, Runs: []unit.Rate{run.Goodput, run.Goodput * 1.01}}, After: tune.Figure{Goodput: better.Goodput, Runs: []unit.Rate{better.Goodput, better.Goodput * 0.99}},
		Gain: float64(better.Goodput / run.Goodput), GainCI95: [2]float64{60, 80}, Proof: &tune.Proof{Pairs: 2, Gain: 70},
		Kept:       []tune.Outcome{{Host: "nas2", Tunable: "net.ipv4.tcp_rmem", From: "4096 65536 87380", To: "4096 65536 67108864", Effect: "x 70", Why: "the path holds 17.9 MiB"}},
		ChangeSets: []tune.ChangeSet{{Host: "nas2", ID: "20261120-093214-f03da3", Undo: "fullbore revert 20261120-093214-f03da3"}},
	}
	if err := json.Unmarshal(verdict.Verdict, &result.Verdict); err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	near, far := *run.Hosts[0].Is, *run.Hosts[1].Is
	near.Name, far.Name = "nas1", "nas2"
	after := far
	after.Tunables = maps.Clone(far.Tunables)
	after.Tunables["net.ipv4.tcp_rmem"] = "4096 65536 67108864"
	run.Kind, run.Command, run.Scenario, run.From, run.To, run.Goodput, run.Document, run.Tags = record.Tune, []string{"tune", "nas2"}, "", "nas1", "nas2", better.Goodput, document, []string{"before the move"}
	run.Hosts = []record.Host{{Side: record.Near, When: record.Before, At: run.Started, Is: &near}, {Side: record.Far, When: record.Before, At: run.Started, Is: &far}, {Side: record.Far, When: record.After, At: run.Ended, Is: &after}}
	run.Changes = []record.Change{{Host: "nas2", Tunable: "net.ipv4.tcp_rmem", From: "4096 65536 87380", To: "4096 65536 67108864", Who: record.ByTune}}
	run.Transfers = append(run.Transfers, record.Transfer{At: 30 * time.Second, Phase: "proof", Result: better.Transfers[0].Result})
	return run
}

// swept is a sweep that was stopped.
func swept(t testing.TB, n int) *record.Run {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("..", "report", "html", "testdata", "sweep-grid.json"))
	if err != nil {
		t.Fatal(err)
	}
	return &record.Run{
		Header: record.Header{Schema: record.Schema, ID: numbered(n), Kind: record.Sweep, State: record.Interrupted, Started: began.Add(time.Duration(n) * time.Minute), Ended: began.Add(time.Duration(n)*time.Minute + time.Minute),
			Command: []string{"sweep", "window-rtt", "--lab=clean-lan"}, Version: "0.9.0", Scenario: "clean-lan", From: "here", To: "lab clean-lan", Goodput: 9e8, Tags: []string{}},
		Document: document,
	}
}

// daily are tests of one path, one a day, before and after it was tuned.
func daily(n int) *record.Run {
	goodput := 94e6 + float64(n%5)*1e6
	if n >= 30 {
		goodput = 930e6 + float64(n%7)*3e6
	}
	at := began.AddDate(0, 0, n-61)
	run := &record.Run{Header: record.Header{
		Schema: record.Schema, ID: numbered(1000 + n), Kind: record.Test, State: record.Done, Started: at, Ended: at.Add(10 * time.Second),
		Command: []string{"test", "nas2"}, Version: "0.9.0", From: "nas1", To: "nas2", Goodput: unit.Rate(goodput), Tags: []string{"nightly"},
	}}
	if n == 30 {
		run.Changes = []record.Change{{Host: "nas2", Tunable: "net.ipv4.tcp_rmem", From: "4096 65536 87380", To: "4096 65536 67108864", Who: record.BySomeone}}
	}
	return run
}

// kept is a record with runs of all kinds: 65 in all.
func kept(t testing.TB, more ...*record.Run) string {
	t.Helper()
	place := filepath.Join(t.TempDir(), "record.db")
	store, err := record.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	runs := append([]*record.Run{diagnosed(t, 1, "lossy-wan"), diagnosed(t, 2, "clean-wan"), tuned(t, 3), swept(t, 4)}, more...)
	for i := range 61 {
		runs = append(runs, daily(i))
	}
	for _, run := range runs {
		if _, err := store.Import(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	return place
}

// shownPage is a page that is served, as fullbore page does.
type shownPage struct {
	*Page
	site *httptest.Server
}

// served serves a page over a record. Changes to its configuration come before it starts.
func served(t testing.TB, place string, change ...func(*Config, *AccessOptions)) *shownPage {
	t.Helper()
	config, options := Config{Place: place, Hub: live.NewHub(), Host: "nas1", Log: slog.New(slog.NewTextHandler(t.Output(), nil))}, AccessOptions{Open: true}
	config.Tasks = task.New(task.Options{Program: "false", Observe: config.Hub.Observer})
	for _, c := range change {
		c(&config, &options)
	}
	if config.Access == nil {
		config.Access = NewAccess(options)
	}
	p := New(config)
	site := httptest.NewServer(p)
	t.Cleanup(func() {
		if config.Tasks != nil {
			config.Tasks.Close(func(task.Task) {})
		}
		config.Hub.Close()
		site.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shownPage{p, site}
}

// visitor is a browser without a screen.
type visitor struct {
	t      testing.TB
	page   *shownPage
	client *http.Client
}

// visit opens a page as anyone on this host may.
func (p *shownPage) visit(t testing.TB) *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, p, &http.Client{Jar: jar, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// entered is a visitor with the secret.
func (p *shownPage) entered(t testing.TB) *visitor {
	v := p.visit(t)
	if status, body := v.get("/enter?secret=" + p.Access.Secret()); status != http.StatusOK || !strings.Contains(body, "You are in") {
		t.Fatalf("the secret does not let in: %d %s", status, body)
	}
	return v
}

// do sends a request; headers are in pairs.
func (v *visitor) do(method, address, body string, headers ...string) (*http.Response, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.page.site.URL+address, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer, string(text)
}

func (v *visitor) get(address string, headers ...string) (status int, body string) {
	v.t.Helper()
	answer, body := v.do(http.MethodGet, address, "", headers...)
	return answer.StatusCode, body
}

// post sends a form as a page of ours would.
func (v *visitor) post(address string, form url.Values, headers ...string) (*http.Response, string) {
	v.t.Helper()
	return v.do(http.MethodPost, address, form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", v.page.site.URL, "Sec-Fetch-Site", "same-origin"}, headers...)...)
}
