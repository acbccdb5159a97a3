// Package fleet measures between many hosts: who sends to whom at the same instant, what all of them
// came to together, and which host or link is not like the others. What carries its messages to the
// hosts is behind [Host].
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/fleet/sick"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/unit"
)

// Host does jobs: *peer.Client is one.
type Host interface {
	Clock(context.Context) (clock.Reading, error)
	Admit(context.Context, bulk.Spec) (job.Place, error)
	Prepare(context.Context, job.Order) (job.Status, error)
	Status(ctx context.Context, id string, while job.Phase) (job.Status, error) // waits for another phase, up to [job.AnswerWithin]
	Start(ctx context.Context, id string, at clock.Instant) error
	End(ctx context.Context, id string) error
}

// Member is a host of the fleet.
type Member struct {
	Name    string
	Address string // of its far end, as the others reach it: address:port
	Host    Host
}

// Experiment is what to measure.
type Experiment struct {
	Pattern pattern.Pattern
	Kind    job.Kind // of what each flow is; "": a transfer. In a rehearsal all hosts start, and say when, without traffic
	Centre  int      // the place of the one host that the pattern may be about
	Spec    bulk.Spec
	Task    *job.Task     // of kinds that have one
	Lead    time.Duration // from when all are ready to the start, beside what an answer takes; 0: usualLead
	ID      string        // a UUID: of the run that it is kept as; "": a new one
	Name    string        // as people call it, where it has a name
	Keep    Keep          // keeps what comes of each flow; nil: it is in the result only
	LeftOut []LeftOut     // hosts that are not among its members
}

// LeftOut is a host that should take part, and why it does not.
type LeftOut struct {
	Host string `json:"host"`
	Why  string `json:"why"`
}

// Watcher sees how far it is. Its methods are called one after the other.
type Watcher interface {
	Phase(text string)
	Result(text string)
}

// Patterns of results of which none was chosen.
const (
	Rehearsal = "rehearsal" // without traffic
	Requests  = "nfs"       // all hosts ask a server that is none of them
)

// Schema is the version of the result.
const Schema = "fullbore/fleet/1"

// Result is what came of an experiment. Hosts are named by their places in Hosts.
type Result struct {
	Schema  string      `json:"schema"`
	Pattern string      `json:"pattern"`
	Kind    job.Kind    `json:"kind,omitempty"` // absent: transfers
	Hosts   []string    `json:"hosts"`
	Streams int         `json:"streams"` // of each flow
	Seconds float64     `json:"seconds"` // of each round, measured
	Rounds  []Round     `json:"rounds"`
	Mesh    *Mesh       `json:"mesh,omitempty"`    // where each host sent to each other, one at a time
	Sick    *sick.Found `json:"sick,omitempty"`    // as well; confirmed by measuring again
	Causes  []Cause     `json:"causes,omitempty"`  // of what is sick, one for each host and each link
	Reports []Report    `json:"reports,omitempty"` // of tunings, sweeps and NFS requests
	LeftOut []LeftOut   `json:"left_out,omitempty"`
}

// Report is what came of a flow's task; of requests to an NFS server it is of one host, which both ends name.
type Report struct {
	pattern.Flow
	*job.Report
}

// Mesh is what each host (a row) got to each other (a column); 0: not measured.
type Mesh struct {
	Goodput  sick.Matrix `json:"goodput_bps"`
	LeastRTT [][]float64 `json:"least_rtt_ms"`
	Repeated [][]float64 `json:"repeated_share"` // of the bytes
}

// Host is the name of a host.
func (r *Result) Host(i int) string {
	if i < 0 || i >= len(r.Hosts) {
		return "?"
	}
	return r.Hosts[i]
}

// Flow names a flow; in a rehearsal it is a host by itself.
func (r *Result) Flow(from, to int) string {
	if from == to {
		return r.Host(from)
	}
	return r.Host(from) + " to " + r.Host(to)
}

// Flows counts the flows of all rounds that were measured, and those that failed.
func (r *Result) Flows() (measured, failed int) {
	for i := range r.Rounds {
		for k := range r.Rounds[i].Flows {
			if r.Rounds[i].Flows[k].Error != "" {
				failed++
			} else {
				measured++
			}
		}
	}
	return measured, failed
}

// Check says what cannot be right in a result that was read.
func (r *Result) Check() error {
	n := len(r.Hosts)
	known := func(of string, hosts ...int) error {
		for _, i := range hosts {
			if i < 0 || i >= n {
				return fmt.Errorf("%s names host %d of %d", of, i, n)
			}
		}
		return nil
	}
	var wrong []error
	if r.Schema != Schema {
		wrong = append(wrong, fmt.Errorf("it is of schema %q, this is %q", r.Schema, Schema))
	}
	for _, round := range r.Rounds {
		for _, f := range round.Flows {
			wrong = append(wrong, known("a flow", f.From, f.To))
		}
	}
	if r.Mesh != nil {
		for _, m := range [][][]float64{r.Mesh.Goodput, r.Mesh.LeastRTT, r.Mesh.Repeated} {
			if len(m) != n || slices.ContainsFunc(m, func(row []float64) bool { return len(row) != n }) {
				wrong = append(wrong, fmt.Errorf("its mesh is not of %d hosts", n))
			}
		}
	}
	if r.Sick != nil {
		if r.Mesh == nil {
			wrong = append(wrong, errors.New("something is sick of a mesh that is not there"))
		}
		for _, h := range r.Sick.Hosts {
			wrong = append(wrong, known("what is sick", h.Host))
		}
		for _, l := range r.Sick.Links {
			wrong = append(wrong, known("what is sick", l.From, l.To))
		}
	}
	for _, c := range r.Causes {
		wrong = append(wrong, known("a cause", c.From, c.To))
	}
	for _, t := range r.Reports {
		if wrong = append(wrong, known("a report", t.From, t.To)); t.Report == nil {
			wrong = append(wrong, errors.New("a report of nothing"))
		}
	}
	return errors.Join(wrong...)
}

// How long hosts may take.
const (
	readyWithin = 20 * time.Second      // to connect
	windUp      = 30 * time.Second      // beyond a transfer's own time
	poll        = 50 * time.Millisecond // of a host that answers at once
	busyPause   = 3 * time.Second       // before one that measures for others is asked again
	usualLead   = time.Second           // what tells a far end of the start may be lost, and is then sent again after 200 ms and more
)

// ErrNobody says that no flow of an experiment came to a result.
var ErrNobody = errors.New("no flow came to a result")

// Run runs an experiment. A flow that fails does so alone: it is in the result with its error. When
// the context ends, all jobs do.
func Run(ctx context.Context, members []Member, e Experiment, watch Watcher) (*Result, error) {
	e.Kind = cmp.Or(e.Kind, job.Transfer)
	rounds, err := e.rounds(len(members))
	if err != nil {
		return nil, err
	}
	r := &runner{members: members, Experiment: e, watch: watch, result: &Result{Schema: Schema, Pattern: e.name(), Streams: e.Spec.Streams, Seconds: e.Spec.Duration.Seconds()}}
	r.Lead, r.ID = cmp.Or(e.Lead, usualLead), cmp.Or(e.ID, uuid.NewString())
	r.result.LeftOut = e.LeftOut
	if e.Kind != job.Transfer {
		r.result.Kind = e.Kind
	}
	for _, m := range members {
		r.result.Hosts = append(r.result.Hosts, m.Name)
	}
	for i, round := range rounds {
		what := fmt.Sprintf("round %d of %d: %s", i+1, len(rounds), r.says(round))
		switch e.Kind {
		case job.Rehearsal:
			what = "rehearse with " + unit.Count(len(members), "host")
		case job.Requests:
			what = fmt.Sprintf("ask %s from %s", e.Task.NFS.File, unit.Count(len(members), "host"))
		case job.Diagnosis, job.Tuning, job.Sweep:
			what = fmt.Sprintf("%s, round %d of %d: %s", e.Kind, i+1, len(rounds), r.says(round))
		}
		r.watch.Phase(what)
		if err := r.round(ctx, round); err != nil {
			return r.result, err
		}
	}
	if e.Pattern.Mesh && e.Kind == job.Transfer {
		if err := r.confirm(ctx); err != nil {
			return r.result, err
		}
		if err := r.causes(ctx); err != nil {
			return r.result, err
		}
	}
	if !r.came {
		return r.result, fmt.Errorf("%w: %s", ErrNobody, r.firstError())
	}
	return r.result, nil
}

func (e *Experiment) name() string {
	if e.Kind == job.Rehearsal {
		return Rehearsal
	}
	return e.Pattern.Name
}

// rounds are who does something with whom. In a rehearsal, and to ask a server of NFS, each host has a job with itself; what
// is no transfer has both of its hosts for itself.
func (e *Experiment) rounds(hosts int) ([]pattern.Round, error) {
	if e.Kind == job.Rehearsal || e.Kind == job.Requests {
		var all pattern.Round
		for i := range hosts {
			all = append(all, pattern.Flow{From: i, To: i})
		}
		return []pattern.Round{all}, nil
	}
	rounds, err := e.Pattern.Rounds(hosts, e.Centre)
	if err != nil || e.Kind == job.Transfer {
		return rounds, err
	}
	var apart []pattern.Round
	for _, round := range rounds {
		apart = append(apart, pattern.Apart(round, hosts)...)
	}
	return apart, nil
}

// runner is an experiment that runs.
type runner struct {
	Experiment
	members []Member
	watch   Watcher
	result  *Result
	ran     int  // rounds, and diagnoses
	came    bool // something

	telling sync.Mutex // the watcher, of what single flows do
}

// says names a round's flows, if they are few.
func (r *runner) says(round pattern.Round) string {
	const few = 4
	if len(round) > few {
		return fmt.Sprintf("%d flows at once", len(round))
	}
	var flows []string
	for _, f := range round {
		flows = append(flows, r.members[f.From].Name+" to "+r.members[f.To].Name)
	}
	return strings.Join(flows, ", ")
}

func (r *runner) firstError() string {
	for _, round := range r.result.Rounds {
		for _, f := range round.Flows {
			if f.Error != "" {
				return fmt.Sprintf("%s to %s: %s", r.result.Hosts[f.From], r.result.Hosts[f.To], f.Error)
			}
		}
	}
	return "there are none"
}

// flight is one flow of a round while it runs.
type flight struct {
	pattern.Flow
	kind    job.Kind
	id      string
	status  job.Status
	part    job.Part
	offset  clock.Offset
	startAt clock.Instant
	leave   string // its identifier at the other host; "": none
	err     error
}

// round runs flows at the same time, and adds what came of them.
func (r *runner) round(ctx context.Context, round pattern.Round) error {
	flights := make([]*flight, len(round))
	for i, f := range round {
		flights[i] = &flight{Flow: f, kind: r.Kind}
	}
	r.number(flights)
	defer r.part(ctx, flights)
	each(flights, func(f *flight) { f.err = r.prepare(ctx, f) })
	r.synchronise(ctx, flights)
	at := clock.Now() + r.Lead
	for _, f := range flights {
		if f.err == nil {
			at = max(at, clock.Now()+r.Lead+4*f.offset.Bound)
		}
	}
	each(flights, func(f *flight) {
		if f.err == nil {
			f.startAt = at
			f.err = r.members[f.From].Host.Start(ctx, f.id, f.offset.There(at))
		}
	})
	each(flights, func(f *flight) {
		if f.err == nil {
			f.err = r.follow(ctx, f, job.Done, at-clock.Now()+r.takes(), windUp)
		}
	})
	if r.Kind == job.Rehearsal {
		r.narrow(ctx, flights)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.keep(ctx, flights)
	r.findings(flights)
	r.reports(flights)
	done := newRound(flights, r.members)
	r.result.Rounds = append(r.result.Rounds, done)
	r.enter(&done)
	r.watch.Result(done.String())
	return nil
}

// takes is how long a flow goes on once it has started.
func (r *runner) takes() time.Duration {
	switch r.Kind {
	case job.Diagnosis:
		return diagnosing
	case job.Tuning, job.Sweep, job.Requests:
		return r.Task.Takes(r.Kind)
	}
	return r.Spec.Omit + r.Spec.Duration
}

// each does something for all flights that can wait for each other, and waits.
func each(flights []*flight, do func(*flight)) { eachOf(flights, len(flights), do) }

// eachOf does so with no more than some of them at a time.
func eachOf(flights []*flight, atOnce int, do func(*flight)) {
	var all errgroup.Group
	all.SetLimit(max(1, atOnce))
	for _, f := range flights {
		all.Go(func() error {
			do(f)
			return nil
		})
	}
	_ = all.Wait()
}

// prepare has the sender connect, and waits until it has. One that measures for another experiment is asked
// again for as long as it does so for one that nobody leads any more.
func (r *runner) prepare(ctx context.Context, f *flight) error {
	for since := time.Now(); ; {
		err := r.prepareOnce(ctx, f)
		if !errors.Is(err, peer.ErrBusy) || time.Since(since) > job.HeardWithin {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *runner) prepareOnce(ctx context.Context, f *flight) (err error) {
	from, to := &r.members[f.From], &r.members[f.To]
	order := job.Order{Schema: job.Schema, Kind: f.kind, To: to.Address, Spec: r.Spec, Task: r.Task, Part: &f.part, Keep: r.Keep != nil}
	switch f.kind {
	case job.Transfer:
		if order.Place, err = to.Host.Admit(ctx, r.Spec); err != nil {
			return fmt.Errorf("%s takes no transfer: %w", to.Name, err)
		}
	case job.Requests:
		order.To = ""
	case job.Tuning, job.Sweep:
		if order.Leave, err = r.askLeave(ctx, f); err != nil {
			return fmt.Errorf("%s gives no leave: %w", to.Name, err)
		}
	}
	if f.status, err = from.Host.Prepare(ctx, order); err != nil {
		return err
	}
	f.id = f.status.ID
	return r.follow(ctx, f, job.Ready, 0, readyWithin)
}

// follow asks until a job is in a phase, which takes some time, and may take so much more. One that
// failed is an error, also where something was measured before it did. A host that does not answer for a
// while is asked again: its job goes on for so long too.
func (r *runner) follow(ctx context.Context, f *flight, phase job.Phase, takes, more time.Duration) error {
	heard := time.Now()
	for due := heard.Add(takes); ; {
		asked := time.Now()
		status, err := r.members[f.From].Host.Status(ctx, f.id, f.status.Phase)
		pause := poll - time.Since(asked)
		switch {
		case err != nil && (!away(err) || time.Since(heard) > job.HeardWithin):
			return err
		case err != nil:
			pause = 10 * poll
		default:
			r.hears(f, status.Doing)
			heard, f.status = time.Now(), status
		}
		switch {
		case f.status.Error != "":
			return errors.New(f.status.Error)
		case f.status.Phase == phase:
			return nil
		case f.status.Phase == job.Done:
			return errors.New("the job ended before it began")
		case time.Since(due) > more:
			return fmt.Errorf("it is still %s after %v", f.status.Phase, (takes + more).Round(time.Second))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// away says whether an error is of the way to a host, and not the host's answer.
func away(err error) bool { return errors.Is(err, peer.ErrUnreachable) || errors.Is(err, peer.ErrLost) }

// synchronise measures how far the clocks of all hosts that are to send are ahead, right before they are.
func (r *runner) synchronise(ctx context.Context, flights []*flight) {
	var senders []*flight
	first := map[int]*flight{}
	for _, f := range flights {
		if f.err == nil && first[f.From] == nil {
			first[f.From] = f
			senders = append(senders, f)
		}
	}
	r.askClocks(senders, func(f *flight) { f.offset, f.err = clock.Ask(ctx, clock.Now, r.members[f.From].Host.Clock) })
	for _, f := range flights {
		if of := first[f.From]; f.err == nil && of != nil {
			f.offset, f.err = of.offset, of.err
		}
	}
}

// Bounds of asking for clocks.
const (
	askWithin = time.Second // all hosts, if each exchange takes as long as those with the first one
	mostAsked = 256         // at a time
)

// askClocks asks hosts for their clocks: one, and the others as many at a time as it takes to be done soon
// (Little's law), and no more. An exchange that waits for others here, or in one queue with them, says less.
func (r *runner) askClocks(hosts []*flight, ask func(*flight)) {
	if len(hosts) == 0 {
		return
	}
	ask(hosts[0])
	roundTrip := 2 * hosts[0].offset.Bound
	atOnce := int(time.Duration(len(hosts)*clock.Exchanges) * roundTrip / askWithin)
	eachOf(hosts[1:], min(mostAsked, max(2, atOnce)), ask)
}

// narrow asks for the clocks again. After a rehearsal nothing is in the way; after a transfer too much
// time has gone by for it to say more than the exchanges before.
func (r *runner) narrow(ctx context.Context, flights []*flight) {
	r.askClocks(slices.DeleteFunc(slices.Clone(flights), func(f *flight) bool { return f.err != nil }), func(f *flight) {
		after, err := clock.Ask(ctx, clock.Now, r.members[f.From].Host.Clock)
		if err == nil {
			f.offset, err = clock.Narrow(f.offset, after, f.startAt)
		}
		f.err = err
	})
}

// part ends what still runs, and has hosts forget what came of the rest.
func (r *runner) part(ctx context.Context, flights []*flight) {
	each(flights, func(f *flight) {
		if f.id != "" {
			_ = r.members[f.From].Host.End(ctx, f.id) // if it does not hear of it, it ends by itself
		}
		r.endLeave(ctx, f)
	})
}

// enter puts what a round came to into the mesh.
func (r *runner) enter(round *Round) {
	n := len(r.members)
	if r.Pattern.Mesh && r.Kind != job.Rehearsal && r.result.Mesh == nil {
		r.result.Mesh = &Mesh{sick.NewMatrix(n), sick.NewMatrix(n), sick.NewMatrix(n)}
	}
	for _, f := range round.Flows {
		if f.Error != "" {
			continue
		}
		r.came = true
		if m := r.result.Mesh; m != nil {
			m.Goodput[f.From][f.To], m.LeastRTT[f.From][f.To], m.Repeated[f.From][f.To] = f.Goodput, f.LeastRTT, f.Repeated
		}
	}
}

// confirm measures again what seems to be sick before it says that it is: with half as much beside it
// as there was, and what still seems so then alone.
func (r *runner) confirm(ctx context.Context) error {
	if r.result.Mesh == nil {
		return nil
	}
	found := sick.Find(r.result.Mesh.Goodput)
	for _, most := range []int{len(r.members) / 4, 1} {
		suspects := found.Suspects(len(r.members))
		if len(suspects) == 0 {
			break
		}
		for _, round := range pattern.Apart(suspects, most) {
			r.watch.Phase("measure again: " + r.says(round))
			if err := r.round(ctx, round); err != nil {
				return err
			}
			r.result.Rounds[len(r.result.Rounds)-1].Again = true
		}
		found = sick.Find(r.result.Mesh.Goodput)
	}
	r.result.Sick = &found
	return nil
}
