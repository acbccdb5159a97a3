package twin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// seen is what a run shows, with host a as the sender.
type seen struct {
	run           *record.Run
	from, to      string
	direction     bulk.Direction // of the data, as the run has it
	there, back   *path.Direction
	rtt           path.RTT
	a, b          *host.Facts
	verdict       diagnose.Finding
	limits        []diagnose.Finding // the verdict, and what limited after a tuning
	before, after unit.Rate
	moved         []*moved // that moved something, in their order

	base  interval // the round trip of the idle path, in ns
	rates [2]link  // there and back
	depth queued
}

// document is what diagnose and tune print, as far as a twin needs it.
type document struct {
	Direction bulk.Direction    `json:"direction"`
	Path      *path.Estimate    `json:"path"`
	Verdict   diagnose.Finding  `json:"verdict"`
	Remaining *diagnose.Finding `json:"remaining"`
	Goodput   unit.Rate         `json:"goodput_bps"`
	Before    struct {
		Goodput unit.Rate `json:"goodput_bps"`
	} `json:"before"`
	After struct {
		Goodput unit.Rate `json:"goodput_bps"`
	} `json:"after"`
	Kept []json.RawMessage `json:"kept"`
}

// look reads a run, which may come from anywhere.
func look(run *record.Run) (*seen, error) {
	switch {
	case run == nil:
		return nil, ErrNothing
	case run.Kind != record.Diagnose && run.Kind != record.Tune:
		return nil, fmt.Errorf("this is a run of %s: %w", cmp.Or(printable.Line(string(run.Kind)), "no verb"), ErrKind)
	case len(run.Document) == 0:
		return nil, fmt.Errorf("this run has no result, it %s: %w", state(run.State), ErrNothing)
	}
	var d document
	if err := json.Unmarshal(run.Document, &d); err != nil {
		return nil, fmt.Errorf("what %s printed cannot be read: %w", run.Kind, err)
	}
	s := &seen{run: run, from: run.From, to: run.To, direction: bulk.Forward, verdict: d.Verdict}
	if d.Direction == bulk.Reverse {
		s.direction = bulk.Reverse
	}
	s.limits = []diagnose.Finding{d.Verdict}
	if d.Remaining != nil {
		s.limits = append(s.limits, *d.Remaining)
	}
	s.before = sound(max(d.Goodput, d.Before.Goodput))
	if len(d.Kept) > 0 {
		s.after = sound(d.After.Goodput)
	}
	for i := range run.Transfers {
		if m := s.read(&run.Transfers[i]); m != nil {
			s.moved = append(s.moved, m)
		}
	}
	if len(s.moved) == 0 {
		return nil, ErrNothing
	}
	for _, h := range run.Hosts {
		if h.When != record.Before || h.Is == nil {
			continue
		}
		if (h.Side == record.Near) == (s.direction == bulk.Forward) {
			s.a = h.Is
		} else {
			s.b = h.Is
		}
	}
	if err := s.lacksFacts(); err != nil {
		return nil, err
	}
	s.there, s.back = &path.Direction{}, &path.Direction{}
	if d.Path != nil {
		s.there, s.back, s.rtt = d.Path.Way(s.direction == bulk.Reverse), d.Path.Way(s.direction != bulk.Reverse), d.Path.RTT
	}
	if s.rtt.Min <= 0 || s.rtt.Median < s.rtt.Min || s.rtt.Max < s.rtt.Median {
		s.rtt = path.RTT{}
	}
	if s.rtt.Min == 0 && math.IsInf(s.leastRTT(), 1) {
		return nil, fmt.Errorf("neither a probe nor TCP saw a round trip: %w", ErrNothing)
	}
	s.measurePath()
	return s, nil
}

// measurePath brings the figures together that others rest on: rates, then the round
// trip, then the queue.
func (s *seen) measurePath() {
	s.rates[1] = s.linkBack()
	s.rates[0] = s.linkThere()
	s.base = s.roundTrip()
	if full := s.plateau(); full > 0 {
		s.rates[0] = s.rates[0].seenFull(full)
	}
	s.depth = s.queueDepth()
}

// lacksFacts says which host is not known: its settings are half of a twin.
func (s *seen) lacksFacts() error {
	far := s.b
	if s.direction == bulk.Reverse {
		far = s.a
	}
	switch {
	case s.a == nil && s.b == nil:
		return errors.New("this run has no facts of either host: run diagnose again with this version")
	case far == nil:
		return errors.New("this run has no facts of the far end: run diagnose with --token, which its 'fullbore serve' printed")
	case s.a == nil || s.b == nil:
		return errors.New("this run has no facts of this end: run diagnose again")
	}
	return nil
}

func state(s record.State) string {
	switch s {
	case record.Failed, record.Interrupted:
		return "was " + strings.ToLower(string(s))
	case record.Running:
		return "has not ended"
	}
	return "printed none"
}

// has is the finding of one of the causes that limited, as it was found or after a
// tuning; nil if none of them did.
func (s *seen) has(causes ...string) *diagnose.Finding {
	for i := range s.limits {
		if slices.Contains(causes, s.limits[i].Cause) {
			return &s.limits[i]
		}
	}
	return nil
}

// hostHeld says whether a host's processor or program made round trips what they were:
// they tell nothing of queues on the path then.
func (s *seen) hostHeld() bool {
	return s.has(diagnose.SenderCPU, diagnose.ReceiverCPU, diagnose.SlowReceiver) != nil || s.throttled(true) || s.throttled(false)
}

// throttled says whether the quota of its control group stopped host a, or b, for more
// than a tenth of a transfer, whatever the verdict was.
func (s *seen) throttled(a bool) bool {
	return slices.ContainsFunc(s.moved, func(m *moved) bool {
		cpu := s.end(m, a).CPU
		return cpu.Quota > 0 && cpu.Throttled > cpu.Elapsed/10
	})
}

// sound is a rate that can be one, or 0.
func sound(r unit.Rate) unit.Rate {
	if !(r > 0 && r < path.Fastest) {
		return 0
	}
	return r
}
