package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/version"
)

// recordFlags say whether and how a run is kept.
type recordFlags struct {
	NoRecord bool     `name:"no-record" help:"Do not keep this run (see 'fullbore history')."`
	Tag      []string `name:"tag" sep:"none" placeholder:"TAG" help:"Keep this run with a tag, to find it by; can be given again."`

	scenario string // of the lab, where this process owns it
}

func (f *recordFlags) checkTags() error {
	if err := record.CheckTags(f.Tag); err != nil {
		return usageError("--tag: %w", err)
	}
	return nil
}

// keeper keeps one run of a verb. All its methods do nothing where runs are not kept.
type keeper struct {
	recorder *record.Recorder
	app      *app

	mu    sync.Mutex
	step  string                      // its phase
	sides map[record.Side]*host.Facts // as found
}

// keep begins to keep a run between this host and a far end.
func (f *recordFlags) keep(app *app, kind record.Kind, d bulk.Direction, far peer.Hello) *keeper {
	k := &keeper{app: app, sides: map[record.Side]*host.Facts{}}
	if f.NoRecord {
		return k
	}
	place, err := record.Place()
	if err != nil {
		k.warn(err)
		return k
	}
	if place == record.Nowhere {
		return k
	}
	name, _ := os.Hostname() // a transfer tells it too
	tags := slices.Clone(f.Tag)
	slices.Sort(tags)
	h := record.Header{
		Kind: kind, Command: withoutSecrets(app.args), Version: version.String(), Far: far.Version,
		From: name, To: far.Host, Tags: slices.Compact(tags), Scenario: f.scenario,
	}
	if d == bulk.Reverse {
		h.From, h.To = h.To, h.From
	}
	k.recorder = record.Start(place, h)
	return k
}

// id is that of the run; "" where it is not kept.
func (k *keeper) id() string {
	if k.recorder == nil {
		return ""
	}
	return k.recorder.ID()
}

// ofScenario sets the lab's scenario of the run that is kept next.
func (f *recordFlags) ofScenario(scenario string) *recordFlags {
	own := *f
	own.scenario = scenario
	return &own
}

// withoutSecrets is a command line without the token in it.
func withoutSecrets(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--token" && i+1 < len(args) {
			args[i+1] = "..."
		}
		if strings.HasPrefix(arg, "--token=") {
			args[i] = "--token=..."
		}
	}
	return args
}

func (k *keeper) warn(err error) {
	_, _ = fmt.Fprintf(k.app.stderr, "fullbore: this run is not kept: %s\n", printable.Line(err.Error()))
}

// watching adds to a monitor that the run's steps are kept.
func (k *keeper) watching(m report.Monitor) report.Monitor {
	if k.recorder == nil {
		return m
	}
	return &keptSteps{m, k}
}

type keptSteps struct {
	report.Monitor
	keeper *keeper
}

func (s *keptSteps) Phase(text string) {
	s.keeper.mu.Lock()
	s.keeper.step = text
	s.keeper.mu.Unlock()
	s.keeper.recorder.Event(record.Phase, text)
	s.Monitor.Phase(text)
}

func (s *keptSteps) Progress(p bulk.Progress) {
	s.keeper.recorder.Progress(p)
	s.Monitor.Progress(p)
}

func (s *keptSteps) Result(text string) {
	s.keeper.recorder.Event(record.Result, text)
	s.Monitor.Result(text)
}

// phase keeps a step of a run that no monitor watches, and result what came of it.
func (k *keeper) phase(text string)  { k.event(record.Phase, text) }
func (k *keeper) result(text string) { k.event(record.Result, text) }

func (k *keeper) event(kind record.EventKind, text string) {
	if k.recorder != nil {
		k.recorder.Event(kind, text)
	}
}

// progress adds to what watches a transfer that those are told who watch the run.
func (k *keeper) progress(watch func(bulk.Progress)) func(bulk.Progress) {
	if k.recorder == nil {
		return watch
	}
	return func(p bulk.Progress) {
		k.recorder.Progress(p)
		watch(p)
	}
}

// transfer keeps a transfer that began at a time and has ended.
func (k *keeper) transfer(began time.Time, r *bulk.Result, err error) {
	if k.recorder == nil || r == nil && err == nil {
		return
	}
	k.mu.Lock()
	t := record.Transfer{Phase: k.step, Result: r}
	k.mu.Unlock()
	if err != nil {
		t.Error = err.Error()
	}
	k.recorder.Transfer(began, t)
}

// facts keeps what a host is like when it is first asked.
func (k *keeper) facts(side record.Side, f *host.Facts) {
	if k.recorder == nil || f == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sides[side] == nil {
		k.sides[side] = f
		k.recorder.Host(record.Host{Side: side, When: record.Before, Is: f})
	}
}

// near collects this host's facts, and keeps them.
func (k *keeper) near(ctx context.Context) (*host.Facts, error) {
	f, err := host.Collect(ctx)
	k.facts(record.Near, f)
	return f, err
}

// after keeps what both hosts are like at the end of a run that may have changed them.
func (k *keeper) after(ctx context.Context, far *peer.Client) {
	if k.recorder == nil {
		return
	}
	for side, collect := range map[record.Side]func(context.Context) (*host.Facts, error){record.Near: host.Collect, record.Far: far.Facts} {
		if k.sides[side] == nil {
			continue
		}
		if f, err := collect(ctx); err == nil { // else what was found before has to do
			k.recorder.Host(record.Host{Side: side, When: record.After, Is: f})
		}
	}
}

// far is a far end whose transfers and facts are kept.
func (k *keeper) far(c *peer.Client) *keptFar { return &keptFar{c, k} }

type keptFar struct {
	*peer.Client
	keeper *keeper
}

func (f *keptFar) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	began := time.Now()
	r, err := f.Client.Transfer(ctx, spec, watch)
	f.keeper.transfer(began, r, err)
	return r, err
}

func (f *keptFar) Facts(ctx context.Context) (*host.Facts, error) {
	facts, err := f.Client.Facts(ctx)
	f.keeper.facts(record.Far, facts)
	return facts, err
}

// end writes what the run came to, with its document, and says if it could not be
// kept.
func (k *keeper) end(o record.Outcome, document any, failed error) {
	if k.recorder == nil {
		return
	}
	o.State = record.Done
	if failed != nil {
		o.State, o.Error = record.Failed, failed.Error()
	}
	if k.app.ctx.Err() != nil {
		o.State = record.Interrupted
	}
	var err error
	if document != nil {
		o.Document, err = json.Marshal(document)
	}
	if err := errors.Join(err, k.recorder.End(o)); err != nil {
		k.warn(err)
	}
}
