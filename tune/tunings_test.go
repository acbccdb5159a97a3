package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/plan"
)

// kind is one sort of path, drawn again and again.
type kind struct {
	name  string
	draw  func(w *world, o *Options)
	helps int  // settings that a tuning with enough budget keeps; -1: it depends
	fails bool // an end fails, hangs or dies at some call
}

var kinds = []kind{
	{"nothing helps (one to four settings)", func(w *world, _ *Options) { w.add(1+w.rng.IntN(4), 1) }, 0, false},
	{"one helps, up to two do nothing", func(w *world, _ *Options) { w.add(1, w.gain()); w.add(w.rng.IntN(3), 1) }, 1, false},
	{"one hurts, up to one does nothing", func(w *world, _ *Options) { w.add(1, w.loss()); w.add(w.rng.IntN(2), 1) }, 0, false},
	{"one helps, one hurts", func(w *world, _ *Options) { w.add(1, w.gain()); w.add(1, w.loss()) }, 1, false},
	{"two help, each by itself", func(w *world, _ *Options) { g := w.gain(); w.add(1, g); w.add(1, g) }, 2, false},
	{"two help, only together", func(w *world, _ *Options) {
		w.add(1, w.gain())
		w.add(1, 1)
		w.settings[0].with, w.settings[1].with = w.settings[1].name, w.settings[0].name
	}, 2, false},
	{"one helps, and helps more when doubled", func(w *world, _ *Options) {
		g := w.gain()
		w.add(1, g)
		w.settings[0].gain = []float64{g, g * g, g * g}
	}, 1, false},
	{"one helps, with another nothing arrives", func(w *world, _ *Options) { w.add(1, w.gain()); w.add(1, 1); w.settings[1].fails = true }, 1, false},
	{"one helps, 150 ms away, budgets of 1 to 8 minutes", func(w *world, o *Options) {
		w.rtt, w.beside = 150*time.Millisecond, 850*time.Millisecond
		o.Budget = time.Duration(float64(time.Minute) * math.Exp(w.rng.Float64()*math.Log(8)))
		w.add(1, w.gain())
	}, 1, false},
	{"one helps, budgets of 3 s to 5 minutes", func(w *world, o *Options) {
		o.Budget = time.Duration(float64(3*time.Second) * math.Exp(w.rng.Float64()*math.Log(100)))
		w.add(1, w.gain())
		w.add(w.rng.IntN(2), 1)
	}, 1, false},
	{"an end fails, hangs, dies, or its answer is lost", func(w *world, o *Options) {
		w.add(1, w.gain())
		w.add(w.rng.IntN(2), w.gain())
		w.add(w.rng.IntN(2), w.loss())
		w.fault = fault{1 + w.rng.IntN(120), []string{"fails", "hangs", "dead", "lost"}[w.rng.IntN(4)], []plan.Role{plan.Sender, plan.Receiver}[w.rng.IntN(2)]}
		o.Apply = []Mode{ApplyLive, ApplyPersist, ApplyNone}[w.rng.IntN(3)]
	}, -1, true},
}

// add gives the path settings of a gain.
func (w *world) add(n int, gain float64) {
	for range n {
		role := []plan.Role{plan.Sender, plan.Receiver}[w.rng.IntN(2)]
		name := fmt.Sprint("s", len(w.settings))
		w.settings = append(w.settings, setting{role: role, name: name, gain: []float64{gain}})
		w.end(role).found.Tunables[name] = "0"
	}
}

// gain is 1.1 to 330.
func (w *world) gain() float64 {
	g := 1.1 * math.Exp(w.rng.Float64()*math.Log(10))
	if w.rng.IntN(4) == 0 {
		g *= 30
	}
	w.least = g
	return g
}

// loss is 3 to 64 %.
func (w *world) loss() float64 { return 0.97 * math.Exp(-w.rng.Float64()) }

// pays says whether the budget pays for finding the gain: docs/tuning-statistics.md
// has the formula.
func (w *world) pays(o Options, helps int) bool {
	run := timing{500 * time.Millisecond, leastMeasured}
	if w.rtt > 75*time.Millisecond {
		run = timing{20 * w.rtt, 20 * w.rtt}
	}
	runs := float64(o.Budget) / float64(run.omit+run.measured+w.beside)
	noise := w.scatter / math.Log(w.least)
	return runs >= float64(8*len(w.settings)+8*helps)+250*float64(helps)*noise*noise
}

// tally is what came of all tunings of one kind.
type tally struct {
	tunings, kept, paid, found, hurt, stated, held, ended int
	broken                                                []string
}

// draws draws one path and tunes it.
func (k *kind) draws(seed uint64) (*world, Options, *Result, error) {
	w := newWorld(seed)
	o := Options{Direction: bulk.Forward, Streams: 1, Budget: DefaultBudget, Apply: ApplyLive, Watch: silent{}}
	w.scatter = 0.01 * math.Exp(w.rng.Float64()*math.Log(30))
	w.drift, w.outliers = 0.002*w.rng.NormFloat64(), 0.05
	w.sampled = w.rng.IntN(2) == 0
	k.draw(w, &o)
	w.rng.Shuffle(len(w.settings), func(i, j int) { w.settings[i], w.settings[j] = w.settings[j], w.settings[i] })
	r, err := run(context.Background(), Near{Facts: w.sender.Facts, Changes: w.sender}, far{w}, o, w.hooks())
	return w, o, r, err
}

// tuneOnce draws one path, tunes it, and counts what came of it.
func (k *kind) tuneOnce(seed uint64, sum *tally) {
	w, o, r, err := k.draws(seed)
	paid := k.helps > 0 && w.pays(o, k.helps)
	kept := w.check(r, err, o, k.fails, seed, sum)
	found := 0
	for _, s := range w.settings {
		_, is := kept[s.name]
		switch {
		case is && s.gain[0] < 1:
			sum.hurt++
		case is && (s.gain[0] > 1 || s.with != ""):
			found++
		}
	}
	if paid {
		sum.paid++
		if found == k.helps {
			sum.found++
		}
	}
}

// check counts what came of a tuning, and holds it to the promises. It gives the
// values that are listed as kept, by their tunables.
func (w *world) check(r *Result, err error, o Options, fails bool, seed uint64, sum *tally) (kept map[string]string) {
	sum.tunings++
	broken := func(format string, args ...any) {
		sum.broken = append(sum.broken, fmt.Sprintf("seed %d: %s", seed, fmt.Sprintf(format, args...)))
	}

	if err != nil {
		sum.ended++
		if !fails && !errors.Is(err, ErrBudget) {
			broken("it ended: %v", err)
		}
		if now := w.values(); now != "" && r.NotUndone == "" {
			broken("it ended with %s, and says nothing of it: %v", now, err)
		}
		if len(r.Kept)+len(r.ChangeSets) > 0 || r.Proof != nil || r.Interrupted == "" {
			broken("it ended and claims %+v", r)
		}
	}
	if w.traffic > o.Budget || math.Abs(r.TestSeconds-w.traffic.Seconds()) > 1e-6 {
		broken("%v of traffic, %.1f s told of, the budget is %v", w.traffic, r.TestSeconds, o.Budget)
	}
	listed := map[Setting]bool{}
	for _, put := range r.PutBack {
		if once := (Setting{put.Host, put.Tunable, put.To}); listed[once] {
			broken("%+v is listed twice as put back", put)
		} else {
			listed[once] = true
		}
		if !w.wasSet(put) || strings.Contains(put.Effect, "NaN") || slices.ContainsFunc(r.Kept, func(o Outcome) bool { return o.Tunable == put.Tunable && o.To == put.To }) {
			broken("%+v is listed as put back", put)
		}
	}
	kept = map[string]string{}
	for _, o := range r.Kept {
		kept[o.Tunable] = o.To
		if !w.wasSet(o) || strings.Contains(o.Effect, "NaN") {
			broken("%+v is listed as kept", o)
		}
	}
	if says := w.wrongSteps(r); says != "" {
		broken("%s", says)
	}
	if p := r.Proof; p != nil {
		sum.stated++
		last := w.runs[slices.IndexFunc(w.runs, func(m measured) bool { return m == w.lastChanged })]
		if truth := last.truth / w.found; p.GainCI95[0] <= truth && truth <= p.GainCI95[1] {
			sum.held++
		}
		if (p.GainCI95[0] > 1) != (len(r.Kept) > 0) && !strings.Contains(fmt.Sprint(r.PutBack), "rise from") {
			broken("proof %+v, kept %v", *p, r.Kept)
		}
	}
	if len(r.Kept) > 0 {
		sum.kept++
	}
	time.Sleep(2 * time.Minute) // what was not confirmed has reverted by then
	for _, h := range []*simulatedHost{w.sender, w.receiver} {
		for name, want := range h.found.Tunables {
			if i := slices.IndexFunc(r.Kept, func(o Outcome) bool { return o.Host == h.name && o.Tunable == name }); i >= 0 && o.Apply != ApplyNone {
				want = r.Kept[i].To
			}
			if now := h.value(name); now != want && !strings.Contains(r.NotUndone, "so it may not revert by itself") {
				broken("%s of %s is %s at the end, kept is %v (%v)", name, h.name, now, kept, err)
			}
		}
	}
	return kept
}

// wrongSteps says what is wrong with the steps of a result: each was set, and can be
// written as JSON even if its transfers failed; all that is kept was part of one that
// helped, and all that was put back of some step.
func (w *world) wrongSteps(r *Result) string {
	if _, err := json.Marshal(r.Steps); err != nil {
		return err.Error()
	}
	in := func(o Outcome, which func(Step) bool) bool {
		return slices.ContainsFunc(r.Steps, func(s Step) bool { return which(s) && slices.Contains(s.Changes, Setting{o.Host, o.Tunable, o.To}) })
	}
	for _, o := range r.Kept {
		if !in(o, func(s Step) bool { return s.Effect == Helps }) {
			return fmt.Sprintf("%+v is kept, the steps are %+v", o, r.Steps)
		}
	}
	for _, o := range r.PutBack {
		if !in(o, func(Step) bool { return true }) {
			return fmt.Sprintf("%+v was put back, the steps are %+v", o, r.Steps)
		}
	}
	for _, s := range r.Steps {
		for _, c := range s.Changes {
			if !w.wasSet(Outcome{Host: c.Host, Tunable: c.Tunable, To: c.To}) {
				return fmt.Sprintf("%+v is a step, and was never set", s)
			}
		}
	}
	return ""
}

// wasSet says whether a change was ever made on a host.
func (w *world) wasSet(o Outcome) bool {
	return (w.sender.name == o.Host && w.sender.applied[o.Tunable+"="+o.To]) || (w.receiver.name == o.Host && w.receiver.applied[o.Tunable+"="+o.To])
}

// most and least are the bounds that a share's count out of n may have by chance,
// three standard deviations off, if the share is as promised.
func most(n int, share float64) int {
	return int(math.Floor(float64(n)*share + 3*math.Sqrt(float64(n)*share*(1-share))))
}

func least(n int, share float64) int { return n - most(n, 1-share) }

// TestTunings tunes drawn paths whose true gains are known: FULLBORE_TUNINGS of
// each kind. What it prints is the table of docs/tuning-statistics.md.
func TestTunings(t *testing.T) {
	n := ofEach(t, 60)
	table := []string{
		"| kind of path | tunings | kept something | the budget pays | of those, all that helps kept | kept what hurts | state an interval | it holds the truth | promise broken |",
		"|---|---|---|---|---|---|---|---|---|",
	}
	var all tally
	for i, k := range kinds {
		var sum tally
		synctest.Test(t, func(*testing.T) {
			for seed := range n {
				k.tuneOnce(uint64(i*1_000_000+seed), &sum)
			}
		})
		for _, text := range sum.broken[:min(3, len(sum.broken))] {
			t.Errorf("%s: %s", k.name, text)
		}
		if k.helps == 0 && sum.kept > most(sum.tunings, 0.01) {
			t.Errorf("%s: something was kept in %d of %d tunings, want at most 1 %%", k.name, sum.kept, sum.tunings)
		}
		if sum.hurt > 0 {
			t.Errorf("%s: what hurts was kept in %d of %d tunings", k.name, sum.hurt, sum.tunings)
		}
		if sum.found < least(sum.paid, 0.95) {
			t.Errorf("%s: what helps was kept in %d of %d tunings that pay, want 95 %%", k.name, sum.found, sum.paid)
		}
		table = append(table, fmt.Sprintf("| %s | %d | %d | %s | %s | %d | %d | %s | %d |", k.name, sum.tunings, sum.kept,
			number(sum.paid), share(sum.found, sum.paid), sum.hurt, sum.stated, share(sum.held, sum.stated), len(sum.broken)))
		all.tunings, all.kept, all.paid, all.found = all.tunings+sum.tunings, all.kept+sum.kept, all.paid+sum.paid, all.found+sum.found
		all.hurt, all.stated, all.held, all.broken = all.hurt+sum.hurt, all.stated+sum.stated, all.held+sum.held, append(all.broken, sum.broken...)
	}
	table = append(table, fmt.Sprintf("| all | %d | %d | %d | %s | %d | %d | %s | %d |", all.tunings, all.kept,
		all.paid, share(all.found, all.paid), all.hurt, all.stated, share(all.held, all.stated), len(all.broken)))
	t.Logf("\n%s", strings.Join(table, "\n"))
	if all.held < least(all.stated, 0.94) || all.held > most(all.stated, 0.96) {
		t.Errorf("the interval holds the truth in %s, want 94 to 96 %%", share(all.held, all.stated))
	}
}

// What the same tunings of each kind of path take: a change of the procedure shows
// here what it costs, or saves, in transfers and in test traffic.
func TestTuningsCost(t *testing.T) {
	var all strings.Builder
	for i, k := range kinds {
		transfers, seconds, pairs, kept := 0, 0.0, 0, 0
		synctest.Test(t, func(*testing.T) {
			for seed := range 15 {
				w, _, r, _ := k.draws(uint64(i*1_000_000 + seed))
				transfers, seconds, kept = transfers+len(w.runs), seconds+r.TestSeconds, kept+len(r.Kept)
				if r.Proof != nil {
					pairs += r.Proof.Pairs
				}
				time.Sleep(2 * time.Minute) // what was not confirmed has reverted by then
			}
		})
		fmt.Fprintf(&all, "%-52s %5d transfers, %4.0f s, %4d pairs, %3d changes kept\n", k.name+":", transfers, seconds, pairs, kept)
	}
	golden.Check(t, "cost.txt", all.String())
}

// ofEach is how many tunings of each kind of path are made, a third of them where
// time is short, unless FULLBORE_TUNINGS says otherwise.
func ofEach(t *testing.T, usual int) int {
	text := os.Getenv("FULLBORE_TUNINGS")
	switch {
	case text != "":
	case testing.Short():
		return usual / 3
	default:
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("FULLBORE_TUNINGS=%s: use the number of tunings of each kind of path", text)
	}
	return n
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func share(n, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(of))
}

// TestTuningsRepeat makes sure that a seed gives the same tuning again.
func TestTuningsRepeat(t *testing.T) {
	var sums [2]tally
	for i := range sums {
		synctest.Test(t, func(*testing.T) { kinds[1].tuneOnce(rand.New(rand.NewPCG(1, 1)).Uint64(), &sums[i]) })
	}
	if fmt.Sprint(sums[0]) != fmt.Sprint(sums[1]) {
		t.Errorf("%+v, then %+v", sums[0], sums[1])
	}
}

// A flow that holds its rate has come to it when the bytes lie on a line, but for a
// burst; one that still grows, stands still, or is not sampled has not.
func TestSteadyFrom(t *testing.T) {
	const ms, rtt = time.Millisecond, 100 * time.Millisecond
	curve := func(rate func(at time.Duration) float64) *bulk.Result {
		s := bulk.Stream{ID: 1, Began: 2000 * ms, Elapsed: 2000 * ms}
		bytes := 0.0
		for at := time.Duration(0); at <= 4000*ms; at += 50 * ms {
			s.Samples = append(s.Samples, bulk.Sample{At: at, Bytes: int64(bytes)})
			bytes += rate(at) * 0.05
		}
		return &bulk.Result{Server: bulk.End{Streams: []bulk.Stream{s}}}
	}
	for _, test := range []struct {
		name     string
		rate     func(at time.Duration) float64
		from, to time.Duration
		ok       bool
	}{
		{"from the start", func(time.Duration) float64 { return 1e6 }, 0, 0, true},
		{"after slow start", func(at time.Duration) float64 { return 1e6 * min(1, math.Pow(2, float64(at-1000*ms)/float64(rtt))) }, 700 * ms, 1000 * ms, true},
		{"a window each round trip", func(at time.Duration) float64 { return map[bool]float64{true: 2e6}[at%rtt == 0] }, 0, 0, true},
		{"growing all the time", func(at time.Duration) float64 { return 1e6 * at.Seconds() }, 0, 0, false},
		{"a stop of half a second", func(at time.Duration) float64 { return map[bool]float64{false: 1e6}[at > 2500*ms && at < 3000*ms] }, 0, 0, false},
		{"nothing", func(time.Duration) float64 { return 0 }, 0, 0, false},
	} {
		if at, ok := steadyFrom(curve(test.rate), bulk.Forward, rtt); ok != test.ok || ok && (at < test.from || at > test.to) {
			t.Errorf("%s: %v, %v, want %v to %v, %v", test.name, at, ok, test.from, test.to, test.ok)
		}
	}
	type at struct{ seconds, bytes float64 }
	for _, test := range []struct {
		name    string
		began   float64
		samples []at
		from    float64
		ok      bool
	}{
		{"three samples are enough", 2, []at{{0, 0}, {2, 2}, {4, 4}}, 0, true},
		{"two are not", 2, []at{{0, 0}, {4, 4}}, 0, false},
		{"the rate is that from the beginning of the measured time on", 2, []at{{0, 0}, {1, 1}, {2, 2}, {3, 3.9}, {4, 4}}, 0, true},
		{"it began to hold just with the measured time", 2, []at{{0, 0}, {1, 0}, {2, 5}, {3, 6}, {4, 7}}, 0, false},
		{"it began to hold a sample before", 2, []at{{0, 0}, {1, 5}, {2, 6}, {3, 7}, {4, 8}}, 1, true},
		{"all of the measured time is one instant", 3, []at{{0, 0}, {1, 1}, {4, 2}, {4, 3}}, 0, false},
		{"no sample is of the measured time", 5, []at{{0, 0}, {2, 2}, {4, 4}}, 0, false},
		{"nothing was left out", 0, []at{{0, 0}, {2, 2}, {4, 4}}, 0, false},
	} {
		s := bulk.Stream{ID: 1, Began: time.Duration(test.began * float64(time.Second))}
		for _, a := range test.samples {
			s.Samples = append(s.Samples, bulk.Sample{At: time.Duration(a.seconds * float64(time.Second)), Bytes: int64(a.bytes * 1e6)})
		}
		from, ok := steadyFrom(&bulk.Result{Server: bulk.End{Streams: []bulk.Stream{s}}}, bulk.Forward, rtt)
		if ok != test.ok || ok && from.Seconds() != test.from {
			t.Errorf("%s: %v, %v, want %v s, %v", test.name, from, ok, test.from, test.ok)
		}
	}
	if _, ok := steadyFrom(&bulk.Result{}, bulk.Forward, rtt); ok {
		t.Error("what was not sampled is not steady")
	}
}
