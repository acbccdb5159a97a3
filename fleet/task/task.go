// Package task is what a host of a fleet does for others beside sending: it says what limits a path, tunes it, carries out an experiment
// over it, or asks a server of NFS.
package task

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer"
)

// Host is what a host lets tasks do with it.
type Host struct {
	Changes change.Host // sets its tunables; nil: it gave no leave for that
}

// All are the tasks of a host.
func (h Host) All() map[job.Kind]peer.Task {
	return map[job.Kind]peer.Task{job.Diagnosis: h.Diagnose, job.Tuning: h.Tune, job.Sweep: h.Sweep, job.Requests: h.Requests}
}

// Changes are those that a host with its leave to be tuned has others make: what an earlier process left
// behind is put back first.
func Changes(ctx context.Context, log *slog.Logger) (*change.Manager, error) {
	changes, err := change.NewManager(change.DefaultDir(), change.Kernel{})
	if err != nil {
		return nil, fmt.Errorf("allow changes: %w", err)
	}
	if err := changes.Expire(ctx); err != nil {
		log.Warn("earlier changes may still be live: see fullbore status", "err", err)
	}
	return changes, nil
}

// diagnosing is how much test traffic a diagnosis may make, as long as what it costs at 150 ms of round trip: both hosts are
// free of other work, and a verdict on a short path is to be as sure.
const diagnosing = 20 * time.Second

// Diagnose says what limits the path to the other host.
func (h Host) Diagnose(ctx context.Context, doing *peer.Doing) (s job.Status, err error) {
	if err := doing.Begin(ctx); err != nil {
		return s, err
	}
	x, err := examine.Run(ctx, host.Collect, doing.Far, examine.Options{Direction: bulk.Forward, Streams: 1, Budget: diagnosing})
	if err != nil {
		return s, err
	}
	v := &x.Diagnosis.Verdict
	s.Finding = &job.Finding{Cause: v.Cause, Confidence: v.Confidence, Says: v.Says, Action: v.Action, Goodput: float64(x.Evidence.Transfer.Goodput(bulk.Forward)), Bytes: x.Spent.Bytes}
	return s, nil
}

// noLeave is the error of a host that gave none.
func noLeave(name string) error {
	return fmt.Errorf("%s gives no leave to be tuned: start its fullbore serve, or agent, with --allow-changes", name)
}

// saying has who asks see how far a task is.
type saying struct{ say func(string) }

func (s saying) Phase(text string)      { s.say(text) }
func (s saying) Result(text string)     { s.say(text) }
func (s saying) Progress(bulk.Progress) {}
