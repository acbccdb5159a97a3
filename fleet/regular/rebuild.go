package regular

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/record"
)

// rebuild gives a run that ended without a result one of what its hosts have said since.
func (k *keeper) rebuild(ctx context.Context, id string) error {
	run, err := k.store.Load(ctx, id)
	if err != nil {
		return err
	}
	if run.State == record.Running || run.State == record.Done {
		return nil
	}
	was := ""
	for _, e := range k.Schedule.Experiments {
		if slices.Contains(run.Tags, e.Name) {
			was = e.Pattern
		}
	}
	result, err := rebuilt(run.Flows, was)
	if err != nil {
		return err
	}
	o := Outcome(result)
	if o.Document, err = json.Marshal(result); err != nil {
		return err
	}
	o.State, o.Error, o.Ended = run.State, run.Error, run.Ended
	if o.Error == "" {
		o.Error = "the hub was gone before it ended"
	}
	for _, f := range run.Flows {
		if f.Ended.After(o.Ended) {
			o.Ended = f.Ended
		}
	}
	return k.store.Amend(ctx, id, o)
}

// rebuilt is a result of flows alone: what they came to, without how far apart they started, since the hosts' clocks
// are not known any more.
func rebuilt(flows []record.Flow, patternName string) (*fleet.Result, error) {
	r := &fleet.Result{Schema: fleet.Schema, Pattern: patternName, Rounds: []fleet.Round{}}
	place := func(name string) int {
		if i := slices.Index(r.Hosts, name); i >= 0 {
			return i
		}
		r.Hosts = append(r.Hosts, name)
		return len(r.Hosts) - 1
	}
	last := -1
	for i := range flows {
		f := &flows[i]
		if f.Kind != string(job.Transfer) {
			continue
		}
		var status job.Status
		if err := json.Unmarshal(f.Data, &status); err != nil {
			return nil, fmt.Errorf("what %s said: %w", f.From, err)
		}
		if err := status.Check(); err != nil {
			return nil, fmt.Errorf("what %s said: %w", f.From, err)
		}
		if f.Round != last {
			r.Rounds, last = append(r.Rounds, fleet.Round{}), f.Round
		}
		round := &r.Rounds[len(r.Rounds)-1]
		round.Flows = append(round.Flows, fleet.NewFlow(pattern.Flow{From: place(f.From), To: place(f.To)}, &status))
		if o := status.Outcome; o != nil {
			r.Seconds = max(r.Seconds, o.Seconds)
		}
	}
	return r, nil
}
