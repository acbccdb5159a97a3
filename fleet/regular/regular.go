// Package regular is regular testing: it runs the experiments of a hub's schedule again and again, keeps what they come to, and tells
// of what moved to another level.
package regular

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/schedule"
	"github.com/fullbore/fullbore/record"
)

// Config is what a schedule needs to be run.
type Config struct {
	Schedule *schedule.Schedule
	Place    string    // of the record
	Command  []string  // as its runs have it
	Hosts    Connected // those that may take part
	Log      *slog.Logger
}

// Connected gives the hosts that are there now, called, and what lets go of them. The error says which are
// there and cannot be used; the others can.
type Connected func(context.Context) (members []fleet.Member, letGo func(), err error)

// Times.
const (
	collectSoon  = 2 * time.Second // what hosts still have on their disks: those that come back, do so soon after a start
	collectEvery = time.Minute     // the same, once nothing has happened for a while
	tryAgain     = time.Minute     // an experiment that could not begin
	endWithin    = 3 * time.Minute // of writing how one ended, while the record's server may be away
)

// keeper runs a schedule, and keeps what comes of it.
type keeper struct {
	Config
	store *record.Store
	said  map[string]string // last warning of each kind: it is not said again and again
}

// planned is an experiment, and when it starts next.
type planned struct {
	*schedule.Experiment
	due time.Time
}

// Run runs the schedule until the context ends. The error is of the record, which it cannot do without.
func Run(ctx context.Context, c Config) error {
	store, err := record.Open(ctx, c.Place)
	if err != nil {
		return fmt.Errorf("keep what experiments come to: %w", err)
	}
	defer func() { _ = store.Close() }()
	k := &keeper{Config: c, store: store, said: map[string]string{}}
	plan := make([]planned, len(c.Schedule.Experiments))
	for i := range plan {
		plan[i].Experiment = &c.Schedule.Experiments[i]
		last, _, err := store.LastOf(ctx, record.Fleet, plan[i].Name)
		if err != nil {
			return err
		}
		plan[i].due = plan[i].Due(last.Started, time.Now(), rand.Float64())
		c.Log.Info("planned", "experiment", plan[i].Name, "next", plan[i].due.Format(time.DateTime))
	}
	for pause := collectSoon; ; pause = min(2*pause, collectEvery) {
		k.tidy(ctx)
		next := &plan[0]
		for i := range plan {
			if plan[i].due.Before(next.due) {
				next = &plan[i]
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(pause, time.Until(next.due))):
		}
		if now := time.Now(); !now.Before(next.due) {
			pause = collectSoon
			next.due = now.Add(min(tryAgain, next.Every))
			if k.experiment(ctx, next.Experiment) && ctx.Err() == nil {
				next.due = next.Due(now, time.Now(), rand.Float64())
				c.Log.Info("planned", "experiment", next.Name, "next", next.due.Format(time.DateTime))
			}
		}
	}
}

// tidy fetches what hosts still have, and tells of what nobody was told yet.
func (k *keeper) tidy(ctx context.Context) {
	members, letGo, err := k.Hosts(ctx)
	if letGo != nil {
		defer letGo()
	}
	if ctx.Err() != nil {
		return
	}
	k.warnOnce("hosts", "not all hosts can be used", err)
	k.collect(ctx, members)
	k.tell(ctx)
}

// warnOnce warns of an error of some kind, unless it is the one that it was before.
func (k *keeper) warnOnce(kind, says string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != k.said[kind] && text != "" {
		k.Log.Warn(says, "err", text)
	}
	k.said[kind] = text
}

// collect keeps what hosts have on their disks, of experiments that ended without them.
func (k *keeper) collect(ctx context.Context, members []fleet.Member) {
	fetched, err := fleet.Collect(ctx, members, k.keep)
	k.warnOnce("collect", "some results stay where they are", err)
	if len(fetched) > 0 {
		k.Log.Info("results fetched that an experiment had left on hosts", "results", len(fetched))
	}
	done := map[string]bool{}
	for _, r := range fetched {
		if id := r.Part.Experiment; !done[id] {
			done[id] = true
			if err := k.rebuild(ctx, id); err != nil {
				k.Log.Warn("results are kept, and not shown with their run", "run", id, "err", err)
			}
		}
	}
}

// experiment runs one, and says whether it began.
func (k *keeper) experiment(ctx context.Context, e *schedule.Experiment) bool {
	members, letGo, err := k.Hosts(ctx)
	if letGo != nil {
		defer letGo()
	}
	k.warnOnce("hosts", "not all hosts can be used", err)
	members, left, err := k.takePart(ctx, e, members)
	if err != nil {
		k.warnOnce(e.Name, "experiment "+e.Name+" does not begin", err)
		return false
	}
	recorder := record.Start(k.Place, header(k.Command, e))
	if err := recorder.Begun(ctx); err != nil {
		k.warnOnce(e.Name, "experiment "+e.Name+" does not begin: it could not be kept", err)
		return false
	}
	k.warnOnce(e.Name, "", nil)
	k.Log.Info("begins", "experiment", e.Name, "hosts", len(members), "run", recorder.ID())
	look(ctx, members, recorder)
	x, err := experimentOf(e, members)
	x.ID, x.Name, x.Keep, x.LeftOut = recorder.ID(), e.Name, k.keep, left
	var result *fleet.Result
	if err == nil {
		result, err = fleet.Run(ctx, members, x, steps{recorder})
	}
	if e := recorder.EndWithin(outcome(ctx, result, err), endWithin); e != nil {
		k.Log.Warn("its run is not all kept", "experiment", e, "err", e)
	}
	switch {
	case ctx.Err() != nil:
		return true
	case err != nil:
		k.Log.Warn("failed", "experiment", e.Name, "err", err)
	default:
		k.Log.Info("ended", "experiment", e.Name, "says", strings.Join(headlines(result), "; "))
	}
	if err := k.findShifts(ctx, e, recorder.ID()); err != nil {
		k.Log.Warn("its levels could not be looked at", "experiment", e.Name, "err", err)
	}
	return true
}

// findShifts looks whether something moved to another level with the newest run.
func (k *keeper) findShifts(ctx context.Context, e *schedule.Experiment, run string) error {
	measured, err := k.store.Again(ctx, e.Name, lookBack)
	if err != nil {
		return err
	}
	known, err := k.store.Shifts(ctx, e.Name, mostKnown)
	if err != nil {
		return err
	}
	found := newShifts(e.Name, run, time.Now().UTC(), measured, known)
	for _, s := range found {
		k.Log.Warn("another level", "experiment", e.Name, "says", s.String())
	}
	return k.store.KeepShifts(ctx, found)
}

// mostKnown is how many shifts are looked back at: those of as many runs as levels are of, and of all ways.
const mostKnown = 10_000

// steps keeps what an experiment does.
type steps struct{ *record.Recorder }

func (s steps) Phase(text string)  { s.Event(record.Phase, text) }
func (s steps) Result(text string) { s.Event(record.Result, text) }

// outcome is what the record lists of a run, with its document.
func outcome(ctx context.Context, result *fleet.Result, failed error) record.Outcome {
	o := Outcome(result)
	o.State = record.Done
	if result != nil {
		var err error
		o.Document, err = json.Marshal(result)
		failed = cmp.Or(failed, err)
	}
	if failed != nil {
		o.State, o.Error = record.Failed, failed.Error()
	}
	if ctx.Err() != nil {
		o.State, o.Error = record.Interrupted, "the hub was stopped"
	}
	return o
}

// headlines are what a log says of a result.
func headlines(r *fleet.Result) (all []string) {
	measured, failed := r.Flows()
	all = append(all, fmt.Sprintf("%d of %d flows measured", measured, measured+failed))
	for i := range r.Causes {
		all = append(all, r.Flow(r.Causes[i].From, r.Causes[i].To)+": "+r.Causes[i].String())
	}
	return all
}
