package regular

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/schedule"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// site is far ends on this host that come and go.
type site struct {
	t     *testing.T
	dir   string
	mu    sync.Mutex
	hosts map[string]*farEnd
}

type farEnd struct {
	address, token string
	stop           func()
}

func newSite(t *testing.T, names ...string) *site {
	s := &site{t: t, dir: t.TempDir(), hosts: map[string]*farEnd{}}
	for _, name := range names {
		s.start(name)
	}
	return s
}

// start starts the far end of a host. Its disk is as it was left.
func (s *site) start(name string) {
	s.t.Helper()
	server, err := peer.NewServer(peer.Config{
		Jobs: true, Results: filepath.Join(s.dir, name),
		Facts: func(context.Context) (*host.Facts, error) { return &host.Facts{Name: "hostname", Version: "1"}, nil },
		Tasks: map[job.Kind]peer.Task{job.Diagnosis: func(ctx context.Context, doing *peer.Doing) (job.Status, error) {
			return job.Status{Finding: &job.Finding{Cause: "random-loss", Confidence: 0.9, Says: "it does"}}, doing.Begin(ctx)
		}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	listener, packets, err := peer.Listen(s.t.Context(), "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(ctx, listener, packets); err != nil {
			s.t.Error(err)
		}
	}()
	var once sync.Once
	stop := func() { once.Do(func() { cancel(); <-ended }) }
	s.t.Cleanup(stop)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[name] = &farEnd{listener.Addr().String(), server.TokenString(), stop}
}

// stop takes a host away.
func (s *site) stop(name string) {
	s.mu.Lock()
	h := s.hosts[name]
	delete(s.hosts, name)
	s.mu.Unlock()
	h.stop()
}

func (s *site) connected(ctx context.Context) (members []fleet.Member, letGo func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, h := range s.hosts {
		c, failed := peer.Dial(ctx, h.address, h.token)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		members = append(members, fleet.Member{Name: name, Address: h.address, Host: c})
	}
	return members, func() {
		for _, m := range members {
			_ = m.Host.(*peer.Client).Close()
		}
	}, err
}

// planOf is a schedule of one experiment that is always due.
func planOf(pattern, at string) *schedule.Schedule {
	e := schedule.Experiment{Name: "mesh", Every: 100 * time.Millisecond, Pattern: pattern, At: at, Time: 100 * time.Millisecond}
	e.Complete()
	e.Omit = 0
	return &schedule.Schedule{Experiments: []schedule.Experiment{e}}
}

// log is what a hub says.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// running runs a schedule until the test's end, or until it is stopped.
func running(t *testing.T, s *site, plan *schedule.Schedule, place string) (l *log, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l = &log{}
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{Schedule: plan, Place: place, Command: []string{"hub"}, Hosts: s.connected, Log: slog.New(slog.NewTextHandler(l, nil))})
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return l, stop
}

// wait waits for something.
func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

func opened(t *testing.T, place string) *record.Store {
	t.Helper()
	store, err := record.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// done are the runs that ended so, the newest first.
func done(t *testing.T, store *record.Store, state record.State) []record.Header {
	t.Helper()
	runs, err := store.List(t.Context(), record.Filter{Kind: record.Fleet, State: state})
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// TestAgainAndAgain: an experiment is run each time that it is due, and what each way came to is in the record; a
// host that is gone is left out, which is said, and back once it is there.
func TestAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, "a", "b", "c")
	place := filepath.Join(t.TempDir(), "record.db")
	store := opened(t, place)
	running(t, s, planOf("shift", ""), place)
	wait(t, "two runs", func() bool { return len(done(t, store, record.Done)) >= 2 })
	s.stop("c")
	result := func(h record.Header) (r fleet.Result) {
		if found, err := store.Document(t.Context(), h.ID, 1<<20, &r); err != nil || !found {
			t.Fatal(found, err)
		}
		return r
	}
	wait(t, "a run without c", func() bool { return len(result(done(t, store, record.Done)[0]).Hosts) == 2 })
	r := result(done(t, store, record.Done)[0])
	if len(r.LeftOut) != 1 || r.LeftOut[0] != (fleet.LeftOut{Host: "c", Why: "not connected"}) {
		t.Errorf("left out: %+v", r.LeftOut)
	}
	s.start("c")
	wait(t, "a run with c", func() bool { return len(result(done(t, store, record.Done)[0]).Hosts) == 3 })

	first := done(t, store, record.Done)
	run, err := store.Load(t.Context(), first[len(first)-1].ID)
	if err != nil || len(run.Flows) != 6 || run.Tags[0] != "mesh" || run.Goodput == 0 || len(run.Events) == 0 {
		t.Fatalf("%v: %d flows, %+v", err, len(run.Flows), run.Header)
	}
	for _, f := range run.Flows {
		if f.Error != "" || f.Bytes == 0 || f.Goodput == 0 {
			t.Errorf("%+v", f)
		}
	}
}

// TestFewHosts: what cannot begin is said once, and begins when it can.
func TestFewHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "a")
	place := filepath.Join(t.TempDir(), "record.db")
	l, _ := running(t, s, planOf("incast", "b"), place)
	wait(t, "it says why", func() bool { return l.has("fewer than two hosts can take part") })
	s.start("b")
	store := opened(t, place)
	wait(t, "a run", func() bool { return len(done(t, store, record.Done)) > 0 })
	l.mu.Lock()
	if n := strings.Count(l.text.String(), "fewer than two"); n != 1 {
		t.Errorf("said %d times", n)
	}
	l.mu.Unlock()
}

// TestTraffic: a host that has moved what it may is left out.
func TestTraffic(t *testing.T) {
	t.Parallel()
	s := newSite(t, "a", "b", "c")
	place := filepath.Join(t.TempDir(), "record.db")
	store := opened(t, place)
	id := record.NewID()
	const allowed = unit.Size(1 << 40)
	if _, err := store.KeepFlows(t.Context(), "other", []record.Flow{{Run: id, From: "b", To: "elsewhere", Kind: "transfer", Ended: time.Now(), Bytes: int64(allowed) + 1}}); err != nil {
		t.Fatal(err)
	}
	plan := planOf("shift", "")
	plan.Daily = allowed
	running(t, s, plan, place)
	wait(t, "a run", func() bool { return len(done(t, store, record.Done)) > 0 })
	var r fleet.Result
	if _, err := store.Document(t.Context(), done(t, store, record.Done)[0].ID, 1<<20, &r); err != nil || len(r.Hosts) != 2 || len(r.LeftOut) != 1 || !strings.HasPrefix(r.LeftOut[0].Why, "over its traffic: it moved 1024 GiB in 24 h") {
		t.Errorf("%v: %+v", err, r.LeftOut)
	}
}

// TestLateResults: what an experiment left on a host is fetched when that is there again, and shown with its run.
func TestLateResults(t *testing.T) {
	t.Parallel()
	s := newSite(t, "a", "b")
	place := filepath.Join(t.TempDir(), "record.db")
	store := opened(t, place)
	members, letGo, err := s.connected(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A hub that dies before it has kept anything.
	r := record.Start(place, record.Header{Kind: record.Fleet, Tags: []string{"mesh"}})
	if err := r.Begun(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan := planOf("shift", "")
	x, err := experimentOf(&plan.Experiments[0], members)
	if err != nil {
		t.Fatal(err)
	}
	x.ID, x.Name, x.Keep = r.ID(), "mesh", func(context.Context, []*job.Result) error { return errors.New("it is dead") }
	if _, err := fleet.Run(t.Context(), members, x, steps{r}); err != nil {
		t.Fatal(err)
	}
	letGo()
	if err := r.End(record.Outcome{State: record.Interrupted}); err != nil {
		t.Fatal(err)
	}
	s.stop("a")
	s.start("a")
	l, _ := running(t, s, plan, place)
	wait(t, "they are fetched", func() bool { return l.has("results=2") })
	run, err := store.Load(t.Context(), r.ID())
	if err != nil || run.State != record.Interrupted || len(run.Flows) != 2 {
		t.Fatalf("%v: %+v", err, run)
	}
	var result fleet.Result
	if err := json.Unmarshal(run.Document, &result); err != nil || len(result.Rounds) != 1 || len(result.Rounds[0].Flows) != 2 || result.Rounds[0].Flows[1].Goodput == 0 || result.Check() != nil {
		t.Errorf("%v: %s", err, run.Document)
	}
}

// TestWebhook: it is told of a shift once it takes it, with what became different on the host, and not again.
func TestWebhook(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []News
	refuse := 2
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if refuse--; refuse >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var n News
		text, err := io.ReadAll(r.Body)
		if err = errors.Join(err, json.Unmarshal(text, &n)); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v: %s", err, text)
		}
		told = append(told, n)
	}))
	t.Cleanup(hook.Close)
	place := filepath.Join(t.TempDir(), "record.db")
	store := opened(t, place)
	began := time.Now()
	for i, size := range []string{"1", "2"} {
		r := record.Start(place, record.Header{Kind: record.Fleet, Tags: []string{"mesh"}})
		r.Host(record.Host{Side: record.Member, When: record.Before, Is: &host.Facts{Name: "a", Version: fmt.Sprint(i), Tunables: map[string]string{"x": size}}})
		if err := r.End(record.Outcome{State: record.Done}); err != nil {
			t.Fatal(err)
		}
	}
	shift := record.Shift{Experiment: "mesh", Kind: record.ShiftSends, From: "a", Since: began, Run: record.NewID(), Found: time.Now(), Before: 9e8, After: 5e8}
	if err := store.KeepShifts(t.Context(), []record.Shift{shift}); err != nil {
		t.Fatal(err)
	}
	plan := planOf("shift", "")
	plan.Webhook = hook.URL
	l, _ := running(t, newSite(t, "a", "b"), plan, place)
	wait(t, "it is told", func() bool { mu.Lock(); defer mu.Unlock(); return len(told) > 0 })
	runs := len(done(t, store, record.Done))
	wait(t, "two more runs", func() bool { return len(done(t, store, record.Done)) >= runs+2 })
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 1 || told[0].Kind != record.ShiftSends || told[0].From != "a" || !strings.HasPrefix(told[0].Says, "what a sends: 500 Mb/s instead of 900 Mb/s") || len(told[0].Changes) != 2 || told[0].Changes[1].Tunable != "x" {
		t.Errorf("%+v", told)
	}
	if !l.has("answers 503 Service Unavailable") {
		t.Error("nobody heard that it was not told")
	}
}

// TestNoRecord: without a record nothing is begun.
func TestNoRecord(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Config{Schedule: planOf("shift", ""), Place: "/proc/nowhere/record.db", Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "keep what experiments come to") {
		t.Error(err)
	}
}
