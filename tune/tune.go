// Package tune closes the loop: it measures a path, names what limits it, plans
// changes for both ends, tries each one, measures again, keeps only what helped
// and puts the rest back. Whatever happens, both hosts end either with changes
// that were proven, or as they were.
package tune

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/unit"
)

// Far is the far end as tune needs it: *peer.Client is one.
type Far interface {
	examine.Far
	// Changes sets the far host's tunables; nil when it does not allow that.
	Changes() change.Host
}

// Near is this host.
type Near struct {
	Facts   func(ctx context.Context) (*host.Facts, error)
	Changes change.Host // nil: not allowed here either
}

// Mode says what becomes of the changes that helped.
type Mode string

// The modes of Options.Apply.
const (
	ApplyNone    Mode = "none"    // prove them, then put all back
	ApplyLive    Mode = "live"    // keep until the next boot
	ApplyPersist Mode = "persist" // keep for good
)

// Options of one tuning.
type Options struct {
	Direction bulk.Direction // Forward: this host sends; Reverse: it receives
	Streams   int            // TCP connections of each transfer
	Budget    time.Duration  // of test traffic, over all transfers
	Apply     Mode
	DryRun    bool // change nothing at all: measure, diagnose and plan
	Watch     examine.Watcher
}

// DefaultBudget of test traffic: enough for about twenty transfers on a 150 ms
// path, each long enough to leave slow start.
const DefaultBudget = 90 * time.Second

// MinBudget is what a baseline, one try and its proof need on a short path.
const MinBudget = 15 * time.Second

// confirmWithin is the dead man's deadline of both change sets: longer than any
// single transfer with its set-up, so that only a dead tune reaches it.
const confirmWithin = 30 * time.Second

// Result of one tuning; docs/json.md describes it key by key.
type Result struct {
	Schema      string            `json:"schema"` // "fullbore/tune/1"
	Direction   bulk.Direction    `json:"direction"`
	From        string            `json:"from"` // sending host
	To          string            `json:"to"`   // receiving host
	Path        *path.Estimate    `json:"path"`
	Before      Figure            `json:"before"`
	After       Figure            `json:"after"`
	Gain        float64           `json:"gain"` // factor on goodput
	GainCI95    [2]float64        `json:"gain_ci95"`
	Proof       *Proof            `json:"proof,omitempty"`     // the gain in runs made only to prove it; absent if no change got that far
	Verdict     diagnose.Finding  `json:"verdict"`             // of the path as it was found
	Remaining   *diagnose.Finding `json:"remaining,omitempty"` // what limits now, if changes were kept
	Steps       []Step            `json:"steps"`               // that were tried, in their order, each on top of those that helped
	Apply       Mode              `json:"apply"`               // what became of the kept changes; none: proven, then put back
	Kept        []Outcome         `json:"kept"`
	PutBack     []Outcome         `json:"put_back"`
	Advice      []Advice          `json:"advice"`
	Latency     LatencyPair       `json:"latency_under_load_ms"`
	TestSeconds float64           `json:"test_seconds"`
	TestBytes   int64             `json:"test_bytes"`
	ChangeSets  []ChangeSet       `json:"change_sets,omitempty"`
	Interrupted string            `json:"interrupted,omitempty"` // why it ended early; then nothing is kept
	NotUndone   string            `json:"not_undone,omitempty"`  // what could not be put back immediately after that, and by when it will be
}

// ResultSchema is the version of the JSON contract.
const ResultSchema = "fullbore/tune/1"

// Figure is the goodput of one configuration over its runs.
type Figure struct {
	Goodput unit.Rate   `json:"goodput_bps"` // median of the runs
	Runs    []unit.Rate `json:"runs_bps"`
	Retrans float64     `json:"retransmitted_share"` // of the bytes sent, median of the runs
}

// LatencyPair is the median smoothed RTT of the loaded flow, in ms.
type LatencyPair struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// Step is a set of changes that was tried at once.
type Step struct {
	Idea    string    `json:"idea"`
	Changes []Setting `json:"changes"`
	Before  Figure    `json:"before"` // without it
	After   Figure    `json:"after"`
	Effect  Effect    `json:"effect"`
	Says    string    `json:"says"`
}

// Setting is what one tunable was set to.
type Setting struct {
	Host    string `json:"host"`
	Tunable string `json:"tunable"`
	To      string `json:"to"`
}

// Effect is what was decided about a step.
type Effect string

// A step helps, or is not gone on with.
const (
	Helps  Effect = "helps"
	Hurts  Effect = "hurts"  // goodput is less, or the transfer failed
	Breaks Effect = "breaks" // goodput is more, but something else is worse
	None   Effect = "none"   // no difference that can be measured
)

// Outcome is one change that was tried, and what came of it.
type Outcome struct {
	Host    string `json:"host"`
	Tunable string `json:"tunable"`
	From    string `json:"from"`
	To      string `json:"to"`
	Effect  string `json:"effect"` // as measured
	Why     string `json:"why"`
	Source  string `json:"source"`
}

// Advice is what fullbore would not or could not do itself.
type Advice struct {
	Host     string   `json:"host,omitempty"`
	Says     string   `json:"says"`
	Commands []string `json:"commands,omitempty"` // for that host's administrator
}

// ChangeSet names what undoes the kept changes.
type ChangeSet struct {
	Host      string `json:"host"`
	ID        string `json:"id"`
	Undo      string `json:"undo"`      // command, to be run on that host
	Persisted bool   `json:"persisted"` // it outlives a boot
}

// UntilBoot names the hosts that keep what helped until their next boot only, although
// ApplyPersist was asked for; the advice says why.
func (r *Result) UntilBoot() []string {
	var names []string
	for _, set := range r.ChangeSets {
		if r.Apply == ApplyPersist && !set.Persisted {
			names = append(names, set.Host)
		}
	}
	return names
}

// ErrNotUndone says that a host did not put its changes back when it was asked
// to. It does so by itself once the deadline of its change set passes.
var ErrNotUndone = errors.New("not everything could be put back immediately")

// ErrBudget says that the budget does not even cover a baseline.
var ErrBudget = errors.New("budget is too small")

// Run tunes one direction of the path to far. On an error, or when ctx ends,
// both hosts are as they were, unless the error wraps ErrNotUndone; the result then
// holds what was measured.
func Run(ctx context.Context, near Near, far Far, o Options) (*Result, error) {
	return run(ctx, near, far, o, hooks{examine.Probe, diagnose.Diagnose, plan.Make, plan.Double, plan.Needs})
}

// hooks are the functions that tune probes, diagnoses and plans with. Tests replace
// them, to see what tune decides on simulated paths whose true gains are known.
type hooks struct {
	probe    func(context.Context, examine.Far, bulk.Direction) (*path.Estimate, error)
	diagnose func(*diagnose.Evidence) diagnose.Diagnosis
	plan     func(plan.Input) *plan.Plan
	double   func(plan.Step, plan.Input) *plan.Step
	needs    func(h *host.Facts, c, other plan.Change) bool
}

func run(ctx context.Context, near Near, far Far, o Options, h hooks) (*Result, error) {
	t := &tuning{near: near, far: far, o: o, hooks: h, effects: map[string]string{}, result: &Result{
		Schema: ResultSchema, Direction: o.Direction, Apply: o.Apply,
		Kept: []Outcome{}, PutBack: []Outcome{}, Steps: []Step{}, Advice: []Advice{}, GainCI95: [2]float64{1, 1}, Gain: 1,
	}}
	err := t.run(ctx)
	if err != nil {
		t.result.Interrupted = err.Error()
		if errors.Is(err, context.Canceled) {
			t.result.Interrupted = "stopped by a signal"
		}
		if errors.Is(err, ErrNotUndone) {
			t.result.NotUndone = err.Error()
		}
		t.result.nothingKept()
	}
	return t.result, err
}

// nothingKept is the result of a tuning that ended early: what was measured
// before, and no claim about after.
func (r *Result) nothingKept() {
	r.Kept, r.ChangeSets, r.Remaining, r.Proof = []Outcome{}, nil, nil, nil
	r.After, r.Latency.After, r.Gain, r.GainCI95 = r.Before, r.Latency.Before, 1, [2]float64{1, 1}
}

// tuning is one run of the loop.
type tuning struct {
	near     Near
	far      Far
	o        Options
	hooks    hooks
	hosts    *hosts
	path     *path.Estimate
	meter    *examine.Meter // nil until the path is probed
	reserve  time.Duration  // of the budget, that must be left for what comes later
	proving  time.Duration  // the part of it that is for the proof
	baseline *candidate
	known    []*candidate // every configuration considered
	result   *Result
	// effects of single changes, as leave-one-out measured them, by nameOf
	effects map[string]string
}

// run goes through the phases in order: meet, probe, measure, climb, leave one out,
// prove, keep.
func (t *tuning) run(ctx context.Context) (err error) {
	if err := t.meet(ctx); err != nil {
		return err
	}
	// Whatever goes wrong from here on, both hosts end as they were.
	defer func() {
		if t.meter != nil {
			spent := t.meter.Spent()
			t.result.TestSeconds, t.result.TestBytes = spent.Time.Seconds(), spent.Bytes
		}
		if undo := t.hosts.end(ctx, err == nil && t.o.Apply != ApplyNone); undo != nil {
			err = errors.Join(err, undo)
		}
	}()

	if err := t.probe(ctx); err != nil {
		return err
	}
	if err := t.found(ctx); err != nil {
		return err
	}
	if t.o.DryRun {
		return t.describe(ctx)
	}
	best, err := t.climb(ctx)
	if err != nil {
		return err
	}
	if best, err = t.leaveOneOut(ctx, best); err != nil {
		return err
	}
	if best, err = t.prove(ctx, best); err != nil {
		return err
	}
	return t.keep(ctx, best)
}

// meet learns who both hosts are and what may be changed.
func (t *tuning) meet(ctx context.Context) error {
	t.o.Watch.Phase("look at both hosts")
	here, there, err := examine.Meet(ctx, t.near.Facts, t.far)
	if err != nil {
		return err
	}
	t.hosts = newHosts(t.o.Direction, t.near, here, t.far, there)
	sender, receiver := t.hosts.roles[plan.Sender], t.hosts.roles[plan.Receiver]
	t.result.From, t.result.To = sender.name, receiver.name
	t.o.Watch.Result(fmt.Sprintf("%s sends to %s; changes allowed on %s", sender.name, receiver.name, t.hosts.allowed()))
	return nil
}

// probe measures the path itself.
func (t *tuning) probe(ctx context.Context) error {
	t.o.Watch.Phase("probe the path")
	estimate, err := t.hooks.probe(ctx, t.far, t.o.Direction)
	if err != nil {
		return err
	}
	t.path, t.result.Path = estimate, estimate
	t.meter = examine.NewMeter(t.far, t.rtt(), t.o.Budget, t.o.Watch)
	way := t.way()
	t.o.Watch.Result(fmt.Sprintf("RTT %s, capacity %s, MTU %s, bandwidth-delay product %s",
		unit.Milliseconds(estimate.RTT.Min), way.Capacity, way.MTU, estimate.BDP(way)))
	return nil
}

// way is the direction of the path that is being tuned.
func (t *tuning) way() path.Direction { return *t.path.Way(t.o.Direction == bulk.Reverse) }

// rtt is the path's round-trip time.
func (t *tuning) rtt() time.Duration { return t.path.RTT.Median }

// candidate finds or adds the record of a configuration's measurements.
func (t *tuning) candidate(c config) *candidate {
	for _, known := range t.known {
		if known.config.same(c) {
			return known
		}
	}
	fresh := &candidate{config: c}
	t.known = append(t.known, fresh)
	return fresh
}
