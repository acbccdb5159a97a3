// Package task is what a host of a fleet does for others beside sending: it says what limits a path, tunes it, carries out an experiment
// over it, or asks a server of NFS.
package task

import (
	"context"
	"fmt"
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

// all are the tasks of a host.
func (h Host) all() map[job.Kind]peer.Task {
	return map[job.Kind]peer.Task{job.Diagnosis: h.Diagnose, job.Tuning: h.Tune, job.Sweep: h.Sweep, job.Requests: h.Requests}
}

// Leave is what a host that others have do something allows them, as flags of a command line.
type Leave struct {
	AllowChanges     bool `help:"Give leave to tune this host: who has the token, or runs experiments, may change its tunables. What they do not confirm is put back. Interfaces, routes and mounts stay out of it."`
	AllowLinkChanges bool `help:"As --allow-changes, with interfaces, routes and mounts too: some changes take a link down for a moment, and a wrong one can cut this host off until it is put back."`
}

// Changes says whether its tunables may be changed.
func (l *Leave) Changes() bool { return l.AllowChanges || l.AllowLinkChanges }

// Allow has a far end do tasks, and lets it be changed where there is leave for that: what an earlier process left behind is put back first.
func (l *Leave) Allow(ctx context.Context, config *peer.Config) error {
	var own Host
	if l.Changes() {
		changes, err := change.NewManager(change.DefaultDir(), change.Kernel{})
		if err != nil {
			return fmt.Errorf("allow changes: %w", err)
		}
		if err := changes.Expire(ctx); err != nil {
			config.Log.Warn("earlier changes may still be live: see fullbore status", "err", err)
		}
		config.Changes, config.Links, own.Changes = changes, l.AllowLinkChanges, changes
	}
	config.Tasks = own.all()
	return nil
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
