package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/shelf"
)

// jobs are those that others have this host do: to send to another far end. Each ends when
// nothing was heard of its owner for [job.HeardWithin], so that nothing goes on without one.
type jobs struct {
	mu    sync.Mutex
	known map[string]*ownJob
	busy  sync.WaitGroup
	shelf *shelf.Shelf // keeps what comes of parts of experiments; nil: nothing is kept
}

// Task is what a job does that is neither a transfer nor a rehearsal. Of the status that it gives, what came of it is used. When
// its context ends it puts back what it changed, and returns.
type Task func(ctx context.Context, doing *Doing) (job.Status, error)

// Doing is a job for who does it.
type Doing struct {
	Order job.Order
	Far   *Client                     // the other host; nil where there is none
	Begin func(context.Context) error // what takes time before the start is done: waits for that
	Say   func(text string)           // what it does now, for people
}

// ownJob is one of them.
type ownJob struct {
	id     string
	order  job.Order
	task   Task
	shelf  *shelf.Shelf
	cancel context.CancelCauseFunc
	start  chan clock.Instant // gets the instant once
	timer  *time.Timer        // until its owner is taken for dead, and later until it is forgotten

	mu      sync.Mutex
	status  job.Status
	changed chan struct{} // closed when the phase is another one
	told    bool          // when to start
}

var (
	errUnheard   = fmt.Errorf("nothing was heard of who had ordered it for %v", job.HeardWithin)
	errJobEnded  = errors.New("ended early by who had ordered it")
	errNotInTime = errors.New("it was told to start too late, or too far ahead")
)

// create begins a job. It lives as long as ctx at most.
func (js *jobs) create(ctx context.Context, order job.Order, task Task) (job.Status, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if len(js.known) >= job.AtOnce {
		return job.Status{}, problem(ErrBusy, "%d jobs are here, the most at once", len(js.known))
	}
	if other := js.other(order.Part); other != nil {
		return job.Status{}, problem(ErrBusy, "it measures for another experiment: %s", other.longFor())
	}
	if order.Keep {
		if js.shelf == nil {
			return job.Status{}, problem(ErrRefused, "this far end keeps no results: an experiment of which they are to be kept needs an agent there")
		}
		if err := js.shelf.Room(); err != nil {
			return job.Status{}, problem(ErrBusy, "%s", err)
		}
	}
	j := &ownJob{id: randomName(), order: order, task: task, shelf: js.shelf, start: make(chan clock.Instant, 1), changed: make(chan struct{})}
	j.status = job.Status{ID: j.id, Phase: job.Connecting}
	ctx, j.cancel = context.WithCancelCause(ctx)
	j.timer = time.AfterFunc(job.HeardWithin, func() { js.unheard(j) })
	js.known[j.id] = j
	js.busy.Go(func() { j.run(ctx) })
	return j.now(), nil
}

// other is a job that has not ended, of another experiment than a part is of; js.mu is held. Two at the same time would
// measure each other.
func (js *jobs) other(part *job.Part) *ownJob {
	if part == nil {
		return nil
	}
	for _, j := range js.known {
		if p := j.order.Part; p != nil && p.Experiment != part.Experiment && j.now().Phase != job.Done {
			return j
		}
	}
	return nil
}

// longFor is for who has to wait: which experiment it is, and for how long it can go on.
func (j *ownJob) longFor() string {
	p := j.order.Part
	says := fmt.Sprintf("%s to %s of %s", p.From, p.To, cmp.Or(p.Name, "an experiment without a name"))
	if spec := &j.order.Spec; j.order.Kind == job.Transfer {
		says += fmt.Sprintf(", a transfer of %v", (spec.Omit + spec.Duration).Round(time.Second))
	}
	return says
}

// unheard ends a job whose owner is dead, and forgets it.
func (js *jobs) unheard(j *ownJob) {
	j.cancel(errUnheard)
	js.forget(j)
}

func (js *jobs) forget(j *ownJob) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j.timer.Stop()
	delete(js.known, j.id)
}

// by is a job whose owner asks.
func (js *jobs) by(id string) (*ownJob, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j := js.known[id]
	if j == nil || !j.timer.Reset(job.HeardWithin) {
		return nil, problem(ErrGone, "no such job: one of whose owner nothing is heard for %v ends", job.HeardWithin)
	}
	return j, nil
}

// close ends all, and waits.
func (js *jobs) close() {
	js.mu.Lock()
	for _, j := range js.known {
		j.cancel(errStopping)
	}
	js.mu.Unlock()
	js.busy.Wait()
}

func (j *ownJob) now() job.Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.status
}

// past is how the job stands once it is no longer in a phase, or after [job.AnswerWithin].
func (j *ownJob) past(ctx context.Context, phase job.Phase) job.Status {
	enough := time.NewTimer(job.AnswerWithin)
	defer enough.Stop()
	for {
		j.mu.Lock()
		status, changed := j.status, j.changed
		j.mu.Unlock()
		if status.Phase != phase {
			return status
		}
		select {
		case <-changed:
		case <-enough.C:
			return status
		case <-ctx.Done():
			return status
		}
	}
}

func (j *ownJob) is(phase job.Phase) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.enter(phase)
}

// enter tells who waits for it; j.mu is held.
func (j *ownJob) enter(phase job.Phase) {
	j.status.Phase = phase
	close(j.changed)
	j.changed = make(chan struct{})
}

// run does the job.
func (j *ownJob) run(ctx context.Context) {
	defer j.cancel(nil)
	var status job.Status
	var err error
	switch {
	case j.order.Kind == job.Rehearsal:
		status.Outcome, err = j.rehearse(ctx)
	case j.task != nil:
		status, err = j.do(ctx)
	default:
		status.Outcome, err = j.send(ctx)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	status.ID, status.Phase = j.id, job.Done
	if err != nil {
		status.Error = err.Error()
	}
	if err := j.keep(status); err != nil {
		status.Error = cmp.Or(status.Error, err.Error()) // it is told of, at least
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.status = status
	j.enter(job.Done)
}

// keep has what came of a job on the disk before anybody is told of it, where it is to be kept. Its identifier
// is not in it: it means nothing once the job is forgotten.
func (j *ownJob) keep(status job.Status) error {
	if !j.order.Keep {
		return nil
	}
	status.ID = ""
	return j.shelf.Put(&job.Result{Schema: job.Schema, Part: *j.order.Part, Kind: j.order.Kind, Ended: time.Now().UTC(), Status: status})
}

// ready waits for the instant of the start to be said.
func (j *ownJob) ready(ctx context.Context) (clock.Instant, error) {
	j.is(job.Ready)
	select {
	case at := <-j.start:
		j.is(job.Running)
		return at, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// rehearsed is how long a rehearsal says nothing after its start: answers of the first hosts would be in the way of those that start a little later.
const rehearsed = 200 * time.Millisecond

// rehearse starts, and sends nothing.
func (j *ownJob) rehearse(ctx context.Context) (*job.Outcome, error) {
	at, err := j.ready(ctx)
	if err != nil {
		return nil, err
	}
	woke, err := clock.Until(ctx, at)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(rehearsed):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return &job.Outcome{Began: woke, Retransmits: -1, Arrived: []job.Point{}}, nil
}

// do does a task, with the other host where there is one: as anybody might, or with the leave that it was given there.
func (j *ownJob) do(ctx context.Context) (job.Status, error) {
	doing := &Doing{Order: j.order, Say: j.says, Begin: func(ctx context.Context) error {
		at, err := j.ready(ctx)
		if err == nil {
			_, err = clock.Until(ctx, at)
		}
		return err
	}}
	if j.order.To != "" {
		far, err := Dial(ctx, j.order.To, j.order.Leave)
		if err != nil {
			return job.Status{}, err
		}
		defer func() { _ = far.Close() }()
		doing.Far = far
	}
	return j.task(ctx, doing)
}

// says has who asks see what it does now.
func (j *ownJob) says(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.status.Doing = text[:min(len(text), mostOfDoing)]
}

const mostOfDoing = 500

func (j *ownJob) send(ctx context.Context) (*job.Outcome, error) {
	far, err := Dial(ctx, j.order.To, "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = far.Close() }()
	var at clock.Instant
	result, err := far.TransferAt(ctx, j.order.Spec, Signal{
		Place: j.order.Place,
		Ready: func(ctx context.Context) (err error) {
			at, err = j.ready(ctx)
			return err
		},
		Begin: func(ctx context.Context) error {
			_, err := clock.Until(ctx, at)
			return err
		},
	}, nil)
	return job.NewOutcome(result), err
}

// begin says when to start.
func (j *ownJob) begin(at clock.Instant) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	lead := at - clock.Now()
	switch {
	case j.status.Phase == job.Done:
		return problem(ErrRefused, "the job has ended: %s", j.status.Error)
	case j.status.Phase != job.Ready || j.told:
		return problem(ErrRefused, "the job is not ready, or was told to start already")
	case lead < job.LeadAtLeast || lead > job.LeadAtMost:
		return problem(ErrRefused, "%s: %v from now; it can be %v to %v", errNotInTime, lead, job.LeadAtLeast, job.LeadAtMost)
	}
	j.told = true
	j.start <- at
	return nil
}

// mayJob says whether the caller may have this host send to others.
func (s *Server) mayJob(ctx context.Context) error {
	if err := callerOf(ctx).needOwn("having this host act on others"); err != nil {
		return err
	}
	if !s.allowJobs {
		return problem(ErrRefused, "this far end does no jobs for others: start it with `fullbore serve --allow-jobs`")
	}
	return nil
}

// fitJob is the order within what this far end allows its caller.
func (s *Server) fitJob(ctx context.Context, order job.Order) (job.Order, error) {
	if err := order.Check(); err != nil {
		return order, problem(ErrLimit, "%s", err)
	}
	if order.Kind != job.Transfer && order.Kind != job.Rehearsal && s.tasks[order.Kind] == nil {
		return order, problem(ErrRefused, "this far end does no jobs of kind %q: `fullbore agent` and `fullbore serve` of the same version do", order.Kind)
	}
	if order.Kind != job.Transfer {
		return order, nil
	}
	var err error
	order.Spec, err = s.limits(callerOf(ctx)).fit(order.Spec)
	return order, err
}
