package climb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/unit"
)

// simulated is a path with a server at its end, by formula: as many requests as the
// latency, the windows and the server allow, times scatter.
type simulated struct {
	rtt      time.Duration
	window   float64 // bytes of each connection, as found; enough for all when raised
	request  float64 // bytes
	most     float64 // requests a second of the server
	thread   float64 // requests a second of each of its threads, where they are counted
	scatter  float64 // standard deviation of a run's logarithm
	chance   *rand.Rand
	fails    func(State) error
	measured int
}

func (s *simulated) Takes() time.Duration { return time.Second }

// truth is the rate without scatter.
func (s *simulated) truth(at State) float64 {
	limits := []float64{float64(at.Depth) / s.rtt.Seconds(), s.most}
	if !at.Windows {
		limits = append(limits, float64(at.Connections)*s.window/s.request/s.rtt.Seconds())
	}
	if at.Threads > 0 {
		limits = append(limits, float64(at.Threads)*s.thread)
	}
	sum := 0.0 // two that are equally low are lower together, as queues have it
	for _, l := range limits {
		sum += math.Pow(l, -soft)
	}
	return math.Pow(sum, -1.0/soft)
}

// soft is how sharply limits meet: 1 would add their times, a high number takes the lowest.
const soft = 6.0

func (s *simulated) Measure(ctx context.Context, at State) (Reading, error) {
	s.measured++
	if s.fails != nil {
		if err := s.fails(at); err != nil {
			return Reading{}, err
		}
	}
	rate := s.truth(at) * math.Exp(s.scatter*s.chance.NormFloat64())
	took := time.Duration(float64(at.Depth) / rate * float64(time.Second))
	return Reading{IOPS: rate, Goodput: unit.Rate(rate * s.request * 8), P50: took, P99: 2 * took}, ctx.Err()
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) }

// steps are what a climb says.
type steps struct{ said []string }

func (s *steps) Phase(text string)  { s.said = append(s.said, ".. "+text) }
func (s *steps) Result(text string) { s.said = append(s.said, "   "+text) }

var (
	one  = State{Connections: 1, Depth: 1}
	most = State{Windows: true, Connections: 16, Depth: 1024}
)

func options(w Watcher) Options {
	return Options{Start: one, Most: most, Budget: 2 * time.Minute, Watcher: w}
}

// What limits is found, raised until nothing more is gained, and named by what is lost
// without it; what brings nothing is not kept.
func TestClimb(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name  string
		path  simulated
		start State
		cause string
		kept  []Setting
	}{
		{"a reader that waits, behind it the window", simulated{rtt: ms, window: 48 << 10, request: 4 << 10, most: 200_000}, one, limit.OneReader, []Setting{Windows, Depth}},
		{"a window that is as low as the requests in flight", simulated{rtt: ms, window: 64 << 10, request: 4 << 10, most: 200_000}, State{Connections: 1, Depth: 16}, limit.Slots, []Setting{Windows, Depth}},
		{"a reader that waits", simulated{rtt: ms, window: 48 << 20, request: 4 << 10, most: 64_000}, one, limit.OneReader, []Setting{Depth}},
		{"the window", simulated{rtt: ms, window: 48 << 10, request: 1 << 20, most: 1200}, State{Connections: 1, Depth: 8}, limit.Window, []Setting{Windows}},
		{"few in flight", simulated{rtt: 10 * ms, window: 48 << 20, request: 4 << 10, most: 50_000}, State{Connections: 1, Depth: 16}, limit.Slots, []Setting{Depth}},
		{"few threads of the server", simulated{rtt: 5 * ms, window: 48 << 20, request: 4 << 10, most: 20_000, thread: 200}, State{Connections: 1, Depth: 64, Threads: 1}, limit.Threads, []Setting{Depth, Threads}},
		{"a reader that waits, behind it the threads", simulated{rtt: 5 * ms, window: 48 << 20, request: 4 << 10, most: 5000, thread: 300}, State{Connections: 1, Depth: 1, Threads: 1}, limit.OneReader, []Setting{Depth, Threads}},
		{"nothing", simulated{rtt: ms, window: 48 << 20, request: 4 << 10, most: 500}, one, diagnose.Healthy, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, w, o := test.path, &steps{}, options(nil)
			path.chance, path.scatter, o.Start, o.Watcher = seeded(1), 0.02, test.start, w
			if o.Most.Threads = 64 * test.start.Threads; o.Most.Threads > 0 {
				o.Budget *= 3
			}
			r, err := Run(t.Context(), &path, o)
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Join(w.said, "\n")
			if r.Verdict.Cause != test.cause || r.Verdict.Says == "" {
				t.Errorf("verdict %+v, want %s\n%s", r.Verdict, test.cause, said)
			}
			var kept []Setting
			for _, k := range r.Kept {
				kept = append(kept, Setting(k.Setting))
			}
			if fmt.Sprint(kept) != fmt.Sprint(test.kept) {
				t.Errorf("kept %v, want %v\n%s", kept, test.kept, said)
			}
			if gain := path.truth(r.to) / path.truth(r.from); math.Abs(math.Log(r.Gain/gain)) > 0.1 || r.GainCI95[0] > r.Gain || r.GainCI95[1] < r.Gain {
				t.Errorf("x %.3g (%.3g), want x %.3g\n%s", r.Gain, r.GainCI95, gain, said)
			}
			if path.truth(r.to) < 0.9*path.truth(o.Most) && r.to != test.start {
				t.Errorf("it ends at %v with %.0f of %.0f\n%s", r.to, path.truth(r.to), path.truth(most), said)
			}
		})
	}
}

// Where more connections alone lift the window, as the hosts may not be changed, they are
// what is raised.
func TestClimbByConnections(t *testing.T) {
	path := &simulated{rtt: time.Millisecond, window: 48 << 10, request: 64 << 10, most: 100_000, chance: seeded(2), scatter: 0.02}
	o := options(&steps{})
	o.Start.Depth, o.Most.Windows = 16, false
	r, err := Run(t.Context(), path, o)
	if err != nil || r.Verdict.Cause != limit.Connections || r.to.Connections != 16 || r.to.Windows {
		t.Errorf("%+v, %v", r, err)
	}
}

// Of many climbs where nothing can be gained, few keep something; where something can, the
// interval holds the true gain as often as it says.
func TestClimbsAreHonest(t *testing.T) {
	const climbs = 400
	wrong, held, gained := 0, 0, 0
	for i := range uint64(climbs) {
		w := &steps{}
		flat := &simulated{rtt: time.Millisecond, window: 1 << 30, request: 4096, most: 300, chance: seeded(i), scatter: 0.1}
		r, err := Run(t.Context(), flat, options(w))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Kept) > 0 {
			wrong++
		}
		steep := &simulated{rtt: time.Millisecond, window: 1 << 30, request: 4096, most: 3000, chance: seeded(i), scatter: 0.1}
		if r, err = Run(t.Context(), steep, options(w)); err != nil {
			t.Fatal(err)
		}
		if len(r.Kept) > 0 {
			gained++
			if gain := steep.truth(r.to) / steep.truth(r.from); r.GainCI95[0] <= gain && gain <= r.GainCI95[1] {
				held++
			}
		}
	}
	t.Logf("of %d climbs: kept what brings nothing in %d; gained %d, interval holds the true gain in %d", climbs, wrong, gained, held)
	if wrong > climbs/50 || gained < climbs*95/100 || held < gained*92/100 {
		t.Error("it says more than it knows")
	}
}

// The budget is never exceeded by more than the proof's last pair, and one that is too small
// is refused before anything is measured.
func TestClimbBudget(t *testing.T) {
	for budget := fewestRuns * time.Second; budget < time.Minute; budget += time.Second {
		path := &simulated{rtt: time.Millisecond, window: 48 << 10, request: 4 << 10, most: 200_000, chance: seeded(3), scatter: 0.2}
		o := options(&steps{})
		o.Budget = budget
		if _, err := Run(t.Context(), path, o); err != nil {
			t.Fatal(err)
		}
		if took := time.Duration(path.measured) * path.Takes(); took > budget {
			t.Errorf("a budget of %v, %v spent", budget, took)
		}
	}
	path := &simulated{}
	o := options(&steps{})
	o.Budget = (fewestRuns - 1) * time.Second
	if _, err := Run(t.Context(), path, o); !errors.Is(err, ErrBudget) || path.measured > 0 {
		t.Errorf("%v, after %d runs", err, path.measured)
	}
}

// A budget that ends before each setting was taken back still leaves a verdict.
func TestClimbVerdictOfTries(t *testing.T) {
	path := &simulated{rtt: time.Millisecond, window: 48 << 10, request: 64 << 10, most: 1e5, chance: seeded(6), scatter: 0.02}
	o := options(&steps{})
	o.Start.Depth, o.Budget = 16, 16*time.Second
	r, err := Run(t.Context(), path, o)
	if err != nil || r.Verdict.Cause != limit.Window || len(r.Kept) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What seemed to help and is not proven is put back, and then nothing is said to be healthy.
func TestClimbUnproven(t *testing.T) {
	r := newResult()
	r.from, r.to = one, one
	r.unproven(one, State{Connections: 1, Depth: 2}, "x 1.1 (95 %: x 0.9 to x 1.3)")
	r.conclude()
	if r.Verdict.Cause != diagnose.Unknown || !strings.Contains(r.Verdict.Says, "is not proven: x 1.1") || len(r.PutBack) != 1 || len(r.Kept) != 0 {
		t.Errorf("%+v", r)
	}
}

// Where requests fail in a state, it is not gone on with; where the hosts cannot be changed
// or the user ends it, nothing is.
func TestClimbFails(t *testing.T) {
	refused := errors.New("the server closed the connection")
	path := &simulated{rtt: time.Millisecond, window: 1 << 30, request: 4096, most: 1e6, chance: seeded(4), scatter: 0.02, fails: func(s State) error {
		if s.Depth > 64 {
			return refused
		}
		return nil
	}}
	w := &steps{}
	r, err := Run(t.Context(), path, options(w))
	if err != nil || r.to.Depth != 64 || !strings.Contains(strings.Join(w.said, "\n"), "requests failed: the server closed") {
		t.Errorf("%+v, %v\n%s", r, err, strings.Join(w.said, "\n"))
	}

	path.fails = func(s State) error {
		if s.Windows {
			return fmt.Errorf("%w: refused", ErrHosts)
		}
		return nil
	}
	if _, err := Run(t.Context(), path, options(w)); !errors.Is(err, ErrHosts) {
		t.Errorf("%v", err)
	}
	path.fails = func(State) error { return refused }
	if _, err := Run(t.Context(), path, options(w)); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	path.fails = func(s State) error {
		if s.Depth > 1 {
			cancel()
		}
		return ctx.Err()
	}
	if _, err := Run(ctx, path, options(w)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Where nothing helped, the laws name what holds requests back, and what to do about it
// elsewhere; but no setting that was raised in vain. Where something helped, they say what is
// next.
func TestClimbSaysWhatRemains(t *testing.T) {
	full := simulated{rtt: time.Millisecond, window: 48 << 20, request: 4 << 10, most: 500, scatter: 0.02}
	waits := full
	waits.most = 64_000
	threads := limit.Finding{Cause: limit.Threads, Says: "Requests wait for a thread.", Action: "give the server more threads"}
	for _, test := range []struct {
		name    string
		path    simulated
		found   limit.Finding
		cause   string
		advised string
	}{
		{"threads", full, threads, limit.Threads, "give the server more threads; that is nothing that 'nfs tune' can change"},
		{"raised in vain", full, limit.Finding{Cause: limit.Slots, Says: "They do not wait."}, diagnose.Healthy, ""},
		{"a full path", full, limit.Finding{Cause: limit.Path, Says: "The path is full."}, diagnose.Healthy, "The path is full."},
		{"what is next", waits, threads, limit.OneReader, "what holds requests back now is nfs-threads: Requests wait for a thread. To do: give the server more threads"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, o, asked := test.path, options(&steps{}), State{}
			path.chance = seeded(5)
			o.Limits = func(_ context.Context, s State) ([]limit.Finding, error) {
				asked = s
				return []limit.Finding{test.found}, nil
			}
			r, err := Run(t.Context(), &path, o)
			if err != nil {
				t.Fatal(err)
			}
			if asked != r.to || r.Verdict.Cause != test.cause {
				t.Errorf("verdict %+v, asked at %v after it ended at %v", r.Verdict, asked, r.to)
			}
			if advice := strings.Join(r.Advice, "\n"); !strings.Contains(advice, test.advised) || test.advised == "" && advice != "" {
				t.Errorf("advice: %s", advice)
			}
		})
	}
}

// What could not be looked at is said, and takes nothing from what was found.
func TestClimbWithoutLaws(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"could not be measured: the server is gone": func(*Options) {},
		"was not looked at: --budget was too small": func(o *Options) { o.Budget = 40 * time.Second },
	} {
		path, o := &simulated{rtt: time.Millisecond, window: 48 << 20, request: 4 << 10, most: 64_000, scatter: 0.02, chance: seeded(6)}, options(&steps{})
		o.Limits = func(context.Context, State) ([]limit.Finding, error) { return nil, errors.New("the server is gone") }
		change(&o)
		r, err := Run(t.Context(), path, o)
		if err != nil {
			t.Fatal(err)
		}
		if advice := strings.Join(r.Advice, "\n"); !strings.Contains(advice, want) || r.Verdict.Cause != limit.OneReader || r.Gain < 2 {
			t.Errorf("x %.3g, %+v, advice: %s", r.Gain, r.Verdict, advice)
		}
	}
}

// The requests of a client that reads ahead are its read-ahead, and raised by it.
func TestClimbReadAhead(t *testing.T) {
	path, o := &simulated{rtt: 10 * time.Millisecond, window: 48 << 20, request: 128 << 10, most: 800, scatter: 0.02, chance: seeded(7)}, options(&steps{})
	o.Start.Depth, o.InOrder = 2, 128*unit.KiB
	r, err := Run(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("read_ahead_kb %d on its clients", r.to.Depth*64)
	if advice := strings.Join(r.Advice, "\n"); r.Verdict.Cause != limit.ReadAhead || r.to.Depth < 8 || !strings.Contains(advice, want) {
		t.Errorf("%+v, %v, advice: %s", r.Verdict, r.to, advice)
	}
}
