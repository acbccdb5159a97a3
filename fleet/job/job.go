// Package job is what a host of a fleet is asked to do, and what it says of it: the messages, whatever
// carries them.
package job

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/hostport"
)

// Schema is the version of the messages.
const Schema = "fullbore/job/1"

// Kind is what a host is to do.
type Kind string

// The kinds of jobs.
const (
	Transfer  Kind = "transfer"  // send to the other host
	Rehearsal Kind = "rehearsal" // start, and send nothing: there is no other host, no place and no transfer
	Diagnosis Kind = "diagnosis" // say what limits the path to the other host, by transfers that any host may make there
	Tuning    Kind = "tuning"    // tune the path to the other host, on both, with a leave there
	Sweep     Kind = "sweep"     // carry out an experiment over the path to the other host, with a leave there
	Requests  Kind = "nfs"       // ask an NFS server, which is no host of the fleet
)

// kinds is all of them, as errors list them.
const kinds = "transfer, rehearsal, diagnosis, tuning, sweep and nfs"

// Order has a host do something with another one, which is a far end, when it is told to start.
type Order struct {
	Schema string    `json:"schema"`
	Kind   Kind      `json:"kind" enum:"transfer,rehearsal,diagnosis,tuning,sweep,nfs"`
	To     string    `json:"to" maxLength:"300" doc:"The other host: address:port of its far end"`
	Place  Place     `json:"place" doc:"There, for a transfer, which who ordered it has taken: the host that sends needs no token of the other"`
	Spec   bulk.Spec `json:"spec" doc:"Of a transfer"`
	Leave  string    `json:"leave,omitempty" maxLength:"200" doc:"A token of the other host for this job alone: what it may do there ends with it"`
	Task   *Task     `json:"task,omitempty" doc:"Of a tuning, a sweep or nfs"`
	Part   *Part     `json:"part,omitempty" doc:"Of which experiment it is: a host does jobs of one at a time"`
	Keep   bool      `json:"keep,omitempty" doc:"What comes of it stays on the host's disk until it is kept elsewhere"`
}

// Place is one for a transfer at a far end: who has it may send there, once.
type Place struct {
	ID           string        `json:"id" maxLength:"100" doc:"Names the transfer in this API; a secret of who has it"`
	Cookie       string        `json:"cookie" maxLength:"100" doc:"Goes in front of every stream"`
	AttachWithin time.Duration `json:"attach_within_ns" doc:"Streams and start must come within this time"`
}

// Check says what is wrong with an order. It comes over the network.
func (o *Order) Check() error {
	if o.Schema != Schema {
		return fmt.Errorf("an order of schema %q, this host takes %q", o.Schema, Schema)
	}
	if o.Part != nil {
		if err := o.Part.Check(); err != nil {
			return err
		}
	}
	switch {
	case o.Keep && o.Part == nil:
		return errors.New("an order to keep what comes of it that does not say of which experiment it is")
	case o.Kind == Rehearsal:
		return nil
	case o.Kind == Requests:
		return o.Task.check(o.Kind)
	case o.Kind == Diagnosis || o.Kind == Tuning || o.Kind == Sweep:
		if _, _, err := hostport.Parse(o.To, 1); err != nil {
			return err
		}
		return o.Task.check(o.Kind)
	case o.Kind != Transfer:
		return fmt.Errorf("an order of kind %q, this host knows %s", o.Kind, kinds)
	case o.Place.ID == "" || o.Place.Cookie == "":
		return errors.New("an order without a place at the far end")
	case o.Spec.Direction != bulk.Forward:
		return errors.New("who starts sends, as it is its clock that is known: use direction forward")
	case o.Spec.Duration > Longest:
		return fmt.Errorf("%v is longer than a job may be, %v", o.Spec.Duration, Longest)
	}
	if _, _, err := hostport.Parse(o.To, 1); err != nil {
		return err
	}
	return o.Spec.Check()
}

// Limits of a job.
const (
	Longest      = time.Hour
	HeardWithin  = 10 * time.Second      // a job of whose owner nothing was heard for so long ends
	AnswerWithin = 2 * time.Second       // a job that stays in its phase is told of: its owner asks again, which is a sign of it
	AtOnce       = 64                    // that a host keeps
	LeadAtMost   = 3 * time.Second       // until the start that was agreed on: the other end waits for bulk.Patience
	LeadAtLeast  = 25 * time.Millisecond // the same: the other end must hear of it
)

// Phase is where a job stands.
type Phase string

// The phases of a job.
const (
	Connecting Phase = "connecting"
	Ready      Phase = "ready" // its connections are open, and it waits for the start
	Running    Phase = "running"
	Done       Phase = "done" // or failed: then Error says why
)

// Status is how a job stands.
type Status struct {
	ID      string   `json:"id"`
	Phase   Phase    `json:"phase"`
	Error   string   `json:"error,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"` // once it is done, and something was measured
	Finding *Finding `json:"finding,omitempty"` // of a diagnosis, once it is done
	Report  *Report  `json:"report,omitempty"`  // of what takes longer, once it is done
	Doing   string   `json:"doing,omitempty"`   // while it runs, for people
}

// Check says what cannot be right in how a job stands, which comes over the network.
func (s *Status) Check() error {
	if s.Outcome != nil {
		if err := s.Outcome.Check(); err != nil {
			return err
		}
	}
	if s.Finding != nil {
		if err := s.Finding.Check(); err != nil {
			return err
		}
	}
	if s.Report != nil {
		return s.Report.Check()
	}
	return nil
}

// Finding is what a diagnosis came to.
type Finding struct {
	Cause      string  `json:"cause"`      // as `fullbore diagnose --explain` lists them
	Confidence float64 `json:"confidence"` // 0 to 1
	Says       string  `json:"says"`
	Action     string  `json:"action,omitempty"`
	Goodput    float64 `json:"goodput_bps"`
	Bytes      int64   `json:"bytes,omitempty"` // that its transfers moved
}

// Check says what cannot be right in a finding, which comes over the network.
func (f *Finding) Check() error {
	const longest = 4000
	if f.Cause == "" || max(len(f.Cause), len(f.Says), len(f.Action)) > longest || !(f.Confidence >= 0 && f.Confidence <= 1) || !(f.Goodput >= 0) || math.IsInf(f.Goodput, 0) || f.Bytes < 0 {
		return errors.New("a finding that cannot be")
	}
	return nil
}

// Outcome is what came of a transfer. Instants are of the clock of the host that sent.
type Outcome struct {
	Began       clock.Instant `json:"began_ns"` // the first byte
	Goodput     float64       `json:"goodput_bps"`
	Seconds     float64       `json:"seconds"` // measured, behind the omitted ones
	Omitted     float64       `json:"omitted_seconds"`
	LeastRTT    time.Duration `json:"least_rtt_ns,omitempty"`
	LoadedRTT   time.Duration `json:"loaded_rtt_ns,omitempty"` // median of the smoothed ones
	Retransmits int64         `json:"retransmits"`             // segments sent again in the measured time; -1: not known
	Repeated    float64       `json:"repeated_share"`          // of the bytes
	Congestion  string        `json:"congestion,omitempty"`
	Arrived     []Point       `json:"arrived"` // at the receiver, from its first byte on
}

// Point is how much has arrived after a time.
type Point struct {
	After time.Duration `json:"after_ns"`
	Bytes int64         `json:"bytes"`
}

// MostPoints is how many an outcome has.
const MostPoints = 2000

// Check says what cannot be right in an outcome, which comes over the network.
func (o *Outcome) Check() error {
	for _, v := range []float64{o.Goodput, o.Seconds, o.Omitted, o.Repeated} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("an outcome with %v", v)
		}
	}
	if len(o.Arrived) > MostPoints || o.Began < 0 || o.LeastRTT < 0 || o.LoadedRTT < 0 || o.Retransmits < -1 {
		return errors.New("an outcome that cannot be")
	}
	last := Point{}
	for _, p := range o.Arrived {
		if p.After < last.After || p.Bytes < last.Bytes {
			return errors.New("an outcome of which less has arrived later")
		}
		last = p
	}
	return nil
}

// NewOutcome is what a transfer that this host sent came to.
func NewOutcome(r *bulk.Result) *Outcome {
	if r.Client.First.IsZero() {
		return nil
	}
	f := r.Figures(bulk.Forward)
	o := &Outcome{
		Began: clock.At(r.Client.First), Goodput: float64(f.Goodput), Seconds: f.Received.Seconds, Omitted: r.Spec.Omit.Seconds(),
		LeastRTT: f.LeastRTT, Retransmits: -1, Congestion: f.Connection.Congestion, Arrived: arrived(&r.Server, r.Spec.Omit),
	}
	if f.LoadedRTT != nil {
		o.LoadedRTT = f.LoadedRTT.Median
	}
	if f.Repeated != nil && f.Repeated.Segments != nil {
		o.Retransmits = *f.Repeated.Segments
		if f.Repeated.Share != nil {
			o.Repeated = *f.Repeated.Share
		}
	}
	return o
}

// arrived is what came on all streams, from the first byte on.
func arrived(end *bulk.End, omitted time.Duration) (points []Point) {
	first := time.Duration(math.MaxInt64)
	at := map[time.Duration]int64{} // all streams are sampled at the same instants
	for _, s := range end.Streams {
		if s.Sender {
			continue
		}
		first = min(first, max(0, s.Began-omitted))
		for _, sample := range s.Samples {
			at[sample.At] += sample.Bytes
		}
	}
	instants := slices.Sorted(maps.Keys(at))
	step := max(1, (len(instants)+MostPoints-1)/MostPoints)
	for i, bytes := 0, int64(0); i < len(instants); i += step {
		bytes = max(bytes, at[instants[i]]) // a stream that has ended has no more samples
		points = append(points, Point{max(0, instants[i]-first), bytes})
	}
	return points
}
