package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/unit"
)

// Keep keeps results. When it returns nil, they are all kept for good; of one that was kept before nothing
// changes. The host that sends has a result on its disk before it tells of it, and removes it once it is kept:
// whoever dies meanwhile, it is there, and [Collect] finds it.
type Keep func(context.Context, []*job.Result) error

// Shelf is a host that has results on its disk until they are kept elsewhere: *peer.Client is one.
type Shelf interface {
	Results(context.Context) (keys []string, err error)
	Result(ctx context.Context, key string) (*job.Result, error)
	Drop(ctx context.Context, key string) error
}

// dropping is how many hosts are told at a time that what they have is kept.
const dropping = 32

// number says of flights that run together which part of the experiment each is.
func (r *runner) number(flights []*flight) {
	for i, f := range flights {
		f.part = job.Part{Experiment: r.ID, Name: r.Name, Round: r.ran, Flow: i, From: r.members[f.From].Name, To: r.members[f.To].Name}
	}
	r.ran++
}

// keep keeps what came of flights, and has their hosts remove it. What cannot be kept now stays there.
func (r *runner) keep(ctx context.Context, flights []*flight) {
	if r.Keep == nil {
		return
	}
	var results []*job.Result
	var ended []*flight
	for _, f := range flights {
		if f.status.Phase == job.Done {
			status := f.status
			status.ID = ""
			results = append(results, &job.Result{Schema: job.Schema, Part: f.part, Kind: f.kind, Ended: time.Now().UTC(), Status: status})
			ended = append(ended, f)
		}
	}
	if len(results) == 0 {
		return
	}
	if err := r.Keep(ctx, results); err != nil {
		r.watch.Result(fmt.Sprintf("%s not kept yet: %v; the hosts have them, and are asked for them later", unit.Count(len(results), "result"), err))
		return
	}
	eachOf(ended, dropping, func(f *flight) {
		if shelf, ok := r.members[f.From].Host.(Shelf); ok {
			_ = shelf.Drop(ctx, f.part.Key()) // else it is found there later, and is kept already
		}
	})
}

// Collect keeps what hosts have on their disks of experiments of which nobody asked them any more, and has them
// remove it. It gives the results that it fetched, of which some may have been kept before; errors
// name the hosts whose results are there still.
func Collect(ctx context.Context, members []Member, keep Keep) (fetched []*job.Result, err error) {
	var failed []error
	for _, m := range members {
		shelf, ok := m.Host.(Shelf)
		if !ok {
			continue
		}
		results, err := collect(ctx, m.Name, shelf, keep)
		fetched = append(fetched, results...)
		if err != nil {
			failed = append(failed, fmt.Errorf("results of %s: %w", m.Name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return fetched, errors.Join(failed...)
}

// collect fetches all of one host, whose own they are, whatever they say. One that cannot be had is no reason
// to leave the others there.
func collect(ctx context.Context, name string, shelf Shelf, keep Keep) (fetched []*job.Result, err error) {
	keys, err := shelf.Results(ctx)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, key := range keys {
		result, err := shelf.Result(ctx, key)
		if err == nil {
			result.Part.From = name
			if err = keep(ctx, []*job.Result{result}); err == nil {
				fetched = append(fetched, result)
				err = shelf.Drop(ctx, key)
			}
		}
		if err != nil {
			failed = append(failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return fetched, errors.Join(failed...)
}
