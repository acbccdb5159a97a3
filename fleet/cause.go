package fleet

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/fleet/sick"
)

// Cause is what limits a sick host or link, as the host that sends diagnosed it.
type Cause struct {
	pattern.Flow
	Error string `json:"error,omitempty"` // then nothing else is known
	*job.Finding
}

// diagnosing is how long a diagnosis may take: 20 s of traffic at 150 ms of RTT, and as much beside it.
const diagnosing = time.Minute

// mostCauses bounds how many are diagnosed, one after the other: the worst come first.
const mostCauses = 16

// causes has what is sick diagnosed, with nothing beside it: a sick host with another one that is not.
func (r *runner) causes(ctx context.Context) error {
	if r.result.Sick == nil {
		return nil
	}
	for _, flow := range r.suspicious(r.result.Sick) {
		if len(r.result.Causes) == mostCauses {
			break
		}
		r.watch.Phase("diagnose " + r.says(pattern.Round{flow}))
		finding, err := r.diagnose(ctx, flow)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c := Cause{Flow: flow, Finding: finding}
		if err != nil {
			c.Error = err.Error()
		}
		r.result.Causes = append(r.result.Causes, c)
		r.watch.Result(c.String())
	}
	return nil
}

// findings adds what diagnoses that ran at the same time came to.
func (r *runner) findings(flights []*flight) {
	for _, f := range flights {
		if f.kind != job.Diagnosis {
			continue
		}
		c := Cause{Flow: f.Flow, Finding: f.status.Finding}
		if f.err != nil {
			c.Error, c.Finding = f.err.Error(), nil
		}
		r.result.Causes = append(r.result.Causes, c)
	}
}

// String is a line for people.
func (c *Cause) String() string {
	if c.Finding == nil {
		return cmp.Or(c.Error, "nothing was found")
	}
	return examine.Sure(&diagnose.Finding{Cause: c.Cause, Confidence: c.Confidence}) + ": " + c.Says
}

// suspicious are the flows to diagnose: each sick link, and of each sick host the flow in its worse
// direction that is like most of its others.
func (r *runner) suspicious(found *sick.Found) (flows []pattern.Flow) {
	ill := map[int]bool{}
	for _, h := range found.Hosts {
		ill[h.Host] = true
	}
	for _, h := range found.Hosts {
		best, off := pattern.Flow{From: -1}, math.Inf(1)
		for other := range r.members {
			flow := pattern.Flow{From: h.Host, To: other}
			if h.Ways == sick.Receives {
				flow = pattern.Flow{From: other, To: h.Host}
			}
			got := r.result.Mesh.Goodput[flow.From][flow.To]
			if other == h.Host || ill[other] || got <= 0 || h.Median <= 0 {
				continue
			}
			if d := math.Abs(math.Log(got / h.Median)); d < off {
				best, off = flow, d
			}
		}
		if best.From >= 0 {
			flows = append(flows, best)
		}
	}
	for _, l := range found.Links {
		flows = append(flows, l.Flow)
	}
	return flows
}

// diagnose has a host say what limits its path to another.
func (r *runner) diagnose(ctx context.Context, flow pattern.Flow) (*job.Finding, error) {
	f := &flight{Flow: flow, kind: job.Diagnosis}
	r.number([]*flight{f})
	defer r.part(ctx, []*flight{f})
	if err := r.prepare(ctx, f); err != nil {
		return nil, err
	}
	host := r.members[f.From].Host
	offset, err := clock.Ask(ctx, clock.Now, host.Clock)
	if err != nil {
		return nil, err
	}
	if err := host.Start(ctx, f.id, offset.There(clock.Now()+r.Lead+4*offset.Bound)); err != nil {
		return nil, err
	}
	err = r.follow(ctx, f, job.Done, 0, diagnosing)
	r.keep(ctx, []*flight{f})
	return f.status.Finding, err
}
