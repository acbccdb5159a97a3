package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/fleet/sick"
)

// simulated is a fleet whose flows get what carries says.
type simulated struct {
	hosts   []*simulatedHost
	carries func(from, to int) float64

	mu       sync.Mutex
	running  int // jobs
	prepared int
}

// simulatedHost has a clock of its own, and is some way off.
type simulatedHost struct {
	fleet *simulated
	name  string
	ahead time.Duration
	way   time.Duration
	late  time.Duration // its first byte goes so long after the instant
	fails func(call string) error

	mu      sync.Mutex
	jobs    map[string]*simulatedJob
	leaves  []string // given, and ended with a minus
	shelved map[string]*job.Result
}

type simulatedJob struct {
	order  job.Order
	status job.Status
	at     clock.Instant // this process's clock
}

func simulate(count int, carries func(from, to int) float64) *simulated {
	s := &simulated{carries: carries}
	for i := range count {
		s.hosts = append(s.hosts, &simulatedHost{fleet: s, name: fmt.Sprintf("h%d", i), ahead: time.Duration(i) * time.Hour, way: 100 * time.Microsecond, jobs: map[string]*simulatedJob{}, shelved: map[string]*job.Result{}})
	}
	return s
}

func (s *simulated) members() (all []Member) {
	for i, h := range s.hosts {
		all = append(all, Member{Name: h.name, Address: fmt.Sprint(i), Host: h})
	}
	return all
}

func (h *simulatedHost) call(name string) error {
	time.Sleep(h.way)
	if h.fails != nil {
		return h.fails(name)
	}
	return nil
}

func (h *simulatedHost) Clock(context.Context) (clock.Reading, error) {
	err := h.call("clock")
	now := clock.Now() + h.ahead
	time.Sleep(h.way)
	return clock.Reading{Received: now, Answered: now}, err
}

func (h *simulatedHost) Admit(context.Context, bulk.Spec) (job.Place, error) {
	return job.Place{ID: h.name, Cookie: "x"}, h.call("admit")
}

func (h *simulatedHost) Prepare(_ context.Context, order job.Order) (job.Status, error) {
	if err := h.call("prepare"); err != nil {
		return job.Status{}, err
	}
	if err := order.Check(); err != nil {
		return job.Status{}, err
	}
	h.fleet.mu.Lock()
	h.fleet.prepared++
	h.fleet.running++
	id := fmt.Sprint(h.fleet.prepared)
	h.fleet.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	j := &simulatedJob{order: order, status: job.Status{ID: id, Phase: job.Connecting}}
	h.jobs[id] = j
	return j.status, nil
}

func (h *simulatedHost) Status(_ context.Context, id string, _ job.Phase) (job.Status, error) {
	if err := h.call("status"); err != nil {
		return job.Status{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.jobs[id]
	if j == nil {
		return job.Status{}, errors.New("no such job")
	}
	switch {
	case j.at == 0:
		j.status.Phase = job.Ready
	case j.order.Kind == job.Rehearsal:
		j.status.Phase, j.status.Outcome = job.Done, &job.Outcome{Began: j.at + h.late + h.ahead, Retransmits: -1}
	case j.order.Kind == job.Diagnosis:
		j.status.Phase, j.status.Finding = job.Done, &job.Finding{Cause: "random-loss", Confidence: 0.9, Says: h.name + " loses to " + j.order.To}
	case j.order.Kind == job.Tuning && j.status.Phase != job.Running:
		j.status.Phase, j.status.Doing = job.Running, "try larger buffers"
	case j.order.Kind == job.Tuning:
		j.status.Phase = job.Done
		j.status.Report, _ = job.NewReport(9e8, 1<<20, nil, "with the leave "+j.order.Leave, "twice as fast")
	case clock.Now() > j.at+j.order.Spec.Duration:
		j.status.Phase, j.status.Outcome = job.Done, h.outcome(j)
	default:
		j.status.Phase = job.Running
	}
	if part := j.order.Part; j.order.Keep && j.status.Phase == job.Done {
		h.shelved[part.Key()] = &job.Result{Schema: job.Schema, Part: *part, Kind: j.order.Kind, Status: j.status}
	}
	return j.status, nil
}

func (h *simulatedHost) Results(context.Context) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.shelved)), h.call("results")
}

func (h *simulatedHost) Result(_ context.Context, key string) (*job.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shelved[key], h.call("result")
}

func (h *simulatedHost) Drop(_ context.Context, key string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.shelved, key)
	return h.call("drop")
}

func (h *simulatedHost) outcome(j *simulatedJob) *job.Outcome {
	var from, to int
	_, _ = fmt.Sscan(h.name[1:], &from)
	_, _ = fmt.Sscan(j.order.To, &to)
	rate := h.fleet.carries(from, to)
	o := &job.Outcome{Began: j.at + h.late + h.ahead, Goodput: rate, Seconds: j.order.Spec.Duration.Seconds(), LeastRTT: 200 * time.Microsecond}
	for d := time.Duration(0); d <= j.order.Spec.Duration; d += j.order.Spec.Duration / 10 {
		o.Arrived = append(o.Arrived, job.Point{After: d, Bytes: int64(rate / 8 * d.Seconds())})
	}
	return o
}

func (h *simulatedHost) Start(_ context.Context, id string, at clock.Instant) error {
	if err := h.call("start"); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs[id].at = at - h.ahead
	return nil
}

func (h *simulatedHost) End(_ context.Context, id string) error {
	h.mu.Lock()
	_, there := h.jobs[id]
	delete(h.jobs, id)
	h.mu.Unlock()
	if there {
		h.fleet.mu.Lock()
		h.fleet.running--
		h.fleet.mu.Unlock()
	}
	return h.call("end")
}

// said is a watcher that keeps what it hears.
type said struct{ lines []string }

func (s *said) Phase(text string)  { s.lines = append(s.lines, text) }
func (s *said) Result(text string) { s.lines = append(s.lines, "= "+text) }

func experiment(t *testing.T, name string) Experiment {
	t.Helper()
	p, err := pattern.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return Experiment{Pattern: p, Spec: bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: 20 * time.Millisecond}, Lead: 10 * time.Millisecond}
}

// TestIncast: five send to one at the same instant by their own clocks, and what they come to
// together is the sum of what they get.
func TestIncast(t *testing.T) {
	t.Parallel()
	s := simulate(6, func(from, _ int) float64 { return float64(from) * 1e8 })
	s.hosts[3].late = 2 * time.Millisecond
	r, err := Run(t.Context(), s.members(), experiment(t, "incast"), &said{})
	if err != nil {
		t.Fatal(err)
	}
	round := r.Rounds[0]
	if len(round.Flows) != 5 || r.Mesh != nil || r.Sick != nil {
		t.Errorf("%+v", r)
	}
	if g := round.Together; g == nil || math.Abs(g.Goodput-15e8) > 1e6 || math.Abs(g.Fairness-9.0/11) > 0.01 || g.LastDone-g.FirstDone < 0.0015 {
		t.Errorf("together: %+v", round.Together) // (1+2+3+4+5)^2 / (5 * 55)
	}
	if k := round.Skew; k == nil || math.Abs(k.P99-2) > k.Bound+0.1 || k.P50 > k.Bound+0.1 || k.Bound <= 0 || k.Claimed != (k.Bound <= 5) {
		t.Errorf("skew: %+v", round.Skew)
	}
	if share := round.Flows[4].Share; math.Abs(share-1.0/3) > 0.01 {
		t.Errorf("the last one's share is %v", share)
	}
	if s.running != 0 {
		t.Errorf("%d jobs are left", s.running)
	}
}

// TestMesh: the sick host and the sick link of a mesh are measured again, and named.
func TestMesh(t *testing.T) {
	t.Parallel()
	s := simulate(6, func(from, to int) float64 {
		switch {
		case from == 4 || to == 4:
			return 3e8
		case from == 1 && to == 2:
			return 5e8
		}
		return 9e8
	})
	w := &said{}
	r, err := Run(t.Context(), s.members(), experiment(t, "pairs"), w)
	if err != nil {
		t.Fatal(err)
	}
	if r.Sick == nil || len(r.Sick.Hosts) != 1 || r.Sick.Hosts[0].Host != 4 || r.Sick.Hosts[0].Ways != sick.Both || len(r.Sick.Links) != 1 || r.Sick.Links[0].From != 1 || r.Sick.Links[0].To != 2 {
		t.Errorf("%+v", r.Sick)
	}
	if len(r.Causes) != 2 || (r.Causes[0].From != 4 && r.Causes[0].To != 4) || r.Causes[1].Flow != (pattern.Flow{From: 1, To: 2}) || r.Causes[1].Says != "h1 loses to 2" {
		t.Errorf("%+v", r.Causes)
	}
	again := 0
	for _, round := range r.Rounds {
		if round.Again {
			again++
		}
	}
	if again == 0 || len(r.Rounds) != 10+again || !strings.Contains(strings.Join(w.lines, "\n"), "measure again: ") {
		t.Errorf("%d rounds, %d of them again:\n%s", len(r.Rounds), again, strings.Join(w.lines, "\n"))
	}
	for i, row := range r.Mesh.Goodput {
		for j, v := range row {
			if (v == 0) != (i == j) {
				t.Errorf("from %d to %d: %v", i, j, v)
			}
		}
	}
}

// TestNotDiagnosed: that a host cannot say what it suffers from does not take back that it is sick.
func TestNotDiagnosed(t *testing.T) {
	t.Parallel()
	s := simulate(5, func(from, to int) float64 {
		if from == 1 && to == 3 {
			return 2e8
		}
		return 9e8
	})
	e := experiment(t, "shift")
	w := &said{}
	away := false
	s.hosts[1].fails = func(call string) error {
		if call == "prepare" && strings.Contains(strings.Join(w.lines, "\n"), "diagnose ") {
			away = true
			return errors.New("no such thing here")
		}
		return nil
	}
	r, err := Run(t.Context(), s.members(), e, w)
	if err != nil || !away || len(r.Sick.Links) != 1 || len(r.Causes) != 1 || r.Causes[0].Error != "no such thing here" || r.Causes[0].Finding != nil {
		t.Errorf("%v, %v, %+v", err, r.Sick, r.Causes)
	}
	if s.running != 0 {
		t.Errorf("%d jobs are left", s.running)
	}
}

// TestRehearsal: all hosts start at the same instant, and nothing is asked of a receiver. The exchanges
// after it narrow what is known of the clocks.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	s := simulate(8, func(int, int) float64 { return 0 })
	for i, h := range s.hosts {
		h.fails = func(call string) error {
			if call == "admit" {
				t.Error("a place for a transfer is asked for")
			}
			return nil
		}
		h.late = time.Duration(i) * time.Millisecond
	}
	s.hosts[5].fails = func(string) error { return errors.New("away") }
	e := experiment(t, "pairs")
	e.Kind = job.Rehearsal
	r, err := Run(t.Context(), s.members(), e, &said{})
	if err != nil {
		t.Fatal(err)
	}
	round := r.Rounds[0]
	if r.Pattern != Rehearsal || len(r.Rounds) != 1 || len(round.Flows) != 8 || r.Mesh != nil || round.Together != nil {
		t.Errorf("%+v", r)
	}
	if f := round.Flows[5]; f.Error != "away" || f.From != 5 || f.To != 5 {
		t.Errorf("%+v", f)
	}
	if k := round.Skew; k == nil || math.Abs(k.P99-7) > k.Bound+0.1 || k.Bound > 3 || s.running != 0 {
		t.Errorf("%+v, %d jobs are left", k, s.running)
	}
}

// TestHostsFail: a host that fails at any call costs its own flows only, with the reason in the
// result; and nothing is left running.
func TestHostsFail(t *testing.T) {
	t.Parallel()
	gone := errors.New("connection refused")
	for _, at := range []string{"prepare", "status", "clock", "start"} {
		s := simulate(4, func(int, int) float64 { return 9e8 })
		s.hosts[2].fails = func(call string) error {
			if call == at {
				return gone
			}
			return nil
		}
		r, err := Run(t.Context(), s.members(), experiment(t, "incast"), &said{})
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		failed := 0
		for _, f := range r.Rounds[0].Flows {
			if f.Error != "" {
				failed++
				if f.From != 2 || f.Error != gone.Error() {
					t.Errorf("%s: %+v", at, f)
				}
			} else if f.Goodput != 9e8 {
				t.Errorf("%s: %+v", at, f)
			}
		}
		if failed != 1 || s.running != 0 {
			t.Errorf("%s: %d flows failed, %d jobs are left", at, failed, s.running)
		}
	}
	s := simulate(3, func(int, int) float64 { return 9e8 })
	for _, h := range s.hosts {
		h.fails = func(string) error { return gone }
	}
	if _, err := Run(t.Context(), s.members(), experiment(t, "incast"), &said{}); !errors.Is(err, ErrNobody) || !strings.Contains(err.Error(), "h1 to h0: h0 takes no transfer: connection refused") {
		t.Errorf("%v", err)
	}
}

// TestGivenUp: who gives up leaves no job behind, and has what was measured until then.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := simulate(4, func(int, int) float64 { return 9e8 })
	e := experiment(t, "pairs")
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	w := &givesUp{after: 3, cancel: func() { cancel(enough) }}
	r, err := Run(ctx, s.members(), e, w)
	if !errors.Is(err, enough) || len(r.Rounds) == 0 || len(r.Rounds) > 3 {
		t.Errorf("%d rounds, %v", len(r.Rounds), err)
	}
	if s.running != 0 {
		t.Errorf("%d jobs are left", s.running)
	}
}

type givesUp struct {
	said
	after  int
	cancel func()
}

func (g *givesUp) Phase(text string) {
	g.said.Phase(text)
	if len(g.lines) >= g.after {
		g.cancel()
	}
}

// TestDiagnoseAll: each way is diagnosed, no host in two diagnoses at a time, and each comes back with its cause.
func TestDiagnoseAll(t *testing.T) {
	t.Parallel()
	s := simulate(4, func(_, _ int) float64 { return 1e9 })
	s.hosts[3].fails = func(call string) error {
		if call == "prepare" {
			return errors.New("it does not want to")
		}
		return nil
	}
	e := experiment(t, "shift")
	e.Kind = job.Diagnosis
	r, err := Run(t.Context(), s.members(), e, &said{})
	if err != nil || r.Check() != nil {
		t.Fatal(err, r.Check())
	}
	if r.Pattern != "shift" || r.Sick != nil || len(r.Causes) != 12 {
		t.Errorf("%+v", r)
	}
	for _, round := range r.Rounds {
		busy := map[int]bool{}
		for _, f := range round.Flows {
			if busy[f.From] || busy[f.To] {
				t.Errorf("a host is in two diagnoses: %+v", round.Flows)
			}
			busy[f.From], busy[f.To] = true, true
		}
	}
	for _, c := range r.Causes {
		if failed := c.From == 3; failed != (c.Error != "") || failed == (c.Finding != nil) || !failed && c.Cause != "random-loss" {
			t.Errorf("%+v", c)
		}
	}
}
