package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/fullbore/fullbore/peer"
)

// Leaver is a host that lets another one in for a while, to measure and to change there: *peer.Client is one.
type Leaver interface {
	Leave(ctx context.Context, within time.Duration) (peer.Leave, error)
	EndLeave(ctx context.Context, id string) error
}

// askLeave has the other host let the one that does the job in, for as long as that takes: no host learns another's token.
func (r *runner) askLeave(ctx context.Context, f *flight) (token string, err error) {
	host, ok := r.members[f.To].Host.(Leaver)
	if !ok {
		return "", errors.New("it cannot")
	}
	r.endLeave(ctx, f) // of an order that was not taken
	leave, err := host.Leave(ctx, r.takes()+readyWithin+windUp)
	f.leave = leave.ID
	return leave.Token, err
}

func (r *runner) endLeave(ctx context.Context, f *flight) {
	if f.leave == "" {
		return
	}
	if host, ok := r.members[f.To].Host.(Leaver); ok {
		_ = host.EndLeave(ctx, f.leave) // if it does not hear of it, it ends by itself
	}
	f.leave = ""
}

// hears has the watcher see what a flow does now, if that is another thing than before.
func (r *runner) hears(f *flight, doing string) {
	if doing == "" || doing == f.status.Doing {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	r.watch.Result(r.result.Flow(f.From, f.To) + ": " + doing)
}

// reports adds what tasks that ran at the same time came to.
func (r *runner) reports(flights []*flight) {
	for _, f := range flights {
		if t := f.status.Report; t != nil {
			r.result.Reports = append(r.result.Reports, Report{f.Flow, t})
		}
	}
}
