package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Round is what ran at the same time.
type Round struct {
	Flows    []Flow    `json:"flows"`
	Again    bool      `json:"again,omitempty"`    // what was suspect was measured once more
	Together *Together `json:"together,omitempty"` // absent: no two flows were active at the same time
	Skew     *Skew     `json:"skew,omitempty"`     // absent: fewer than two started
}

// Flow is one host that sent to another.
type Flow struct {
	From      int     `json:"from"`
	To        int     `json:"to"`
	Error     string  `json:"error,omitempty"` // then nothing else is known
	Goodput   float64 `json:"goodput_bps"`
	LeastRTT  float64 `json:"least_rtt_ms,omitempty"`
	LoadedRTT float64 `json:"loaded_rtt_ms,omitempty"`
	Repeated  float64 `json:"repeated_share"`           // of the bytes
	Resent    int64   `json:"retransmits"`              // segments; -1: not known
	Start     float64 `json:"start_ms"`                 // its first byte, after the instant that was agreed on
	Share     float64 `json:"share,omitempty"`          // of what all got while all were active
	Active    float64 `json:"active_seconds,omitempty"` // from its first byte to its last
}

// Skew is how far apart the flows' first bytes went, behind the first of them.
type Skew struct {
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Bound   float64 `json:"bound_ms"` // the clocks are known so well: the truth is no further off
	Claimed bool    `json:"claimed"`  // that they started together: the bound is small enough for that
}

// mostBound is the bound up to which flows are said to have started together.
const mostBound = 5 * time.Millisecond

// Together is what all came to in the time in which all of them were active.
type Together struct {
	Goodput   float64 `json:"goodput_bps"`
	Seconds   float64 `json:"seconds"`
	Fairness  float64 `json:"fairness"`           // Jain's index: 1 if all get the same, 1/n if one gets all
	FirstDone float64 `json:"first_done_seconds"` // after the instant that was agreed on
	LastDone  float64 `json:"last_done_seconds"`
}

// NewFlow is what a job came to that has ended, as far as its host knows by itself: not when it began, which is of
// that host's clock, and not what share it had.
func NewFlow(of pattern.Flow, status *job.Status) Flow {
	f := Flow{From: of.From, To: of.To, Resent: -1, Error: status.Error}
	if d := status.Finding; d != nil && f.Error == "" {
		f.Goodput = d.Goodput
	}
	if t := status.Report; t != nil && f.Error == "" {
		f.Goodput = t.Goodput
	}
	if o := status.Outcome; o != nil && f.Error == "" {
		f.Goodput, f.LeastRTT, f.LoadedRTT, f.Repeated, f.Resent = o.Goodput, ms(o.LeastRTT), ms(o.LoadedRTT), o.Repeated, o.Retransmits
		if len(o.Arrived) > 0 {
			f.Active = o.Arrived[len(o.Arrived)-1].After.Seconds()
		}
	}
	return f
}

func newRound(flights []*flight, members []Member) Round {
	r := Round{Flows: []Flow{}}
	var active []*flight
	for _, f := range flights {
		flow := NewFlow(f.Flow, &f.status)
		switch {
		case f.err != nil:
			flow = Flow{From: f.From, To: f.To, Resent: -1, Error: f.err.Error()}
		case f.status.Outcome == nil && (f.status.Finding != nil || f.status.Report != nil):
		case f.status.Outcome == nil:
			flow.Error = members[f.From].Name + " does not say what came of it"
		default:
			flow.Start = ms(f.began() - f.startAt)
			active = append(active, f)
		}
		r.Flows = append(r.Flows, flow)
	}
	r.Skew = skewOf(active)
	r.Together = r.together(active)
	return r
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func span(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// began is when the first byte went, by this host's clock.
func (f *flight) began() clock.Instant { return f.offset.Here(f.status.Outcome.Began) }

// lasted is how long bytes arrived.
func (f *flight) lasted() time.Duration {
	if arrived := f.status.Outcome.Arrived; len(arrived) > 0 {
		return arrived[len(arrived)-1].After
	}
	return 0
}

// here is this host's clock when bytes had been arriving for so long: the first one took half a
// round trip.
func (f *flight) here(after time.Duration) clock.Instant {
	return f.began() + f.status.Outcome.LeastRTT/2 + after
}

// skewOf is that of the flows' first bytes.
func skewOf(flights []*flight) *Skew {
	if len(flights) < 2 {
		return nil
	}
	first := slices.MinFunc(flights, func(a, b *flight) int { return cmp.Compare(a.began(), b.began()) })
	var behind, bounds []float64
	for _, f := range flights {
		behind = append(behind, ms(f.began()-first.began()))
		bounds = append(bounds, ms(f.offset.Error(f.began())+first.offset.Error(first.began())))
	}
	bound := slices.Max(bounds)
	return &Skew{stat.Median(behind), stat.Quantile(behind, 0.99), bound, bound <= ms(mostBound)}
}

// together is what all came to from when the last one had begun, and left its omitted time behind, to
// when the first one ended. It gives each its share of that.
func (r *Round) together(active []*flight) *Together {
	if len(active) == 0 {
		return nil
	}
	from, to := clock.Instant(0), clock.Instant(0)
	t := &Together{}
	for i, f := range active {
		begins, ends := f.here(omitted(f.status.Outcome)), f.here(f.lasted())
		if i == 0 {
			from, to = begins, ends
		}
		from, to = max(from, begins), min(to, ends)
		done := (ends - f.startAt).Seconds()
		if i == 0 {
			t.FirstDone, t.LastDone = done, done
		}
		t.FirstDone, t.LastDone = min(t.FirstDone, done), max(t.LastDone, done)
	}
	if to <= from {
		return nil
	}
	t.Seconds = (to - from).Seconds()
	var sum, squares float64
	rates := make([]float64, len(active))
	for i, f := range active {
		rates[i] = 8 * (f.arrivedBy(to) - f.arrivedBy(from)) / t.Seconds
		sum, squares = sum+rates[i], squares+rates[i]*rates[i]
	}
	t.Goodput = sum
	if squares > 0 {
		// R. Jain, D. Chiu, W. Hawe, DEC Research Report TR-301, 1984
		t.Fairness = sum * sum / (float64(len(active)) * squares)
	}
	i := 0
	for k := range r.Flows {
		if r.Flows[k].Error == "" {
			if sum > 0 {
				r.Flows[k].Share = rates[i] / sum
			}
			i++
		}
	}
	return t
}

func omitted(o *job.Outcome) time.Duration { return time.Duration(o.Omitted * float64(time.Second)) }

// arrivedBy is how many bytes had arrived at an instant, between two samples in a straight line.
func (f *flight) arrivedBy(at clock.Instant) float64 {
	arrived := f.status.Outcome.Arrived
	after := at - f.here(0)
	i, _ := slices.BinarySearchFunc(arrived, after, func(p job.Point, d time.Duration) int { return cmp.Compare(p.After, d) })
	switch {
	case len(arrived) == 0:
		return 0
	case i == len(arrived):
		return float64(arrived[i-1].Bytes)
	}
	before := job.Point{}
	if i > 0 {
		before = arrived[i-1]
	}
	if arrived[i].After == before.After {
		return float64(arrived[i].Bytes)
	}
	return float64(before.Bytes) + float64(arrived[i].Bytes-before.Bytes)*float64(after-before.After)/float64(arrived[i].After-before.After)
}

// String is a line for people.
func (r *Round) String() string {
	failed := 0
	for _, f := range r.Flows {
		if f.Error != "" {
			failed++
		}
	}
	text := fmt.Sprintf("%d of %s failed", failed, unit.Count(len(r.Flows), "flow"))
	if len(r.Flows) > 0 && r.Flows[0].From == r.Flows[0].To { // a rehearsal
		text = fmt.Sprintf("%d of %s ready", len(r.Flows)-failed, unit.Count(len(r.Flows), "host"))
	}
	if len(r.Flows) == 1 && failed == 0 && r.Flows[0].Goodput > 0 {
		text = unit.Rate(r.Flows[0].Goodput).String()
	} else if r.Together != nil {
		text = fmt.Sprintf("%v together", unit.Rate(r.Together.Goodput))
		if failed > 0 {
			text += fmt.Sprintf(", %d of %d failed", failed, len(r.Flows))
		}
	}
	if s := r.Skew; s != nil {
		text += fmt.Sprintf("; started within %s (± %s)", unit.Milliseconds(span(s.P99)), unit.Milliseconds(span(s.Bound)))
	}
	return text
}
