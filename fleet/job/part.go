package job

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// Part says which part of an experiment a job is.
type Part struct {
	Experiment string `json:"experiment" maxLength:"36" doc:"A UUID: the run that it is kept with"`
	Name       string `json:"name" maxLength:"100" doc:"Of the experiment, as people call it"`
	Round      int    `json:"round" minimum:"0" maximum:"1000000" doc:"Which one, from 0"`
	Flow       int    `json:"flow" minimum:"0" maximum:"1000000" doc:"Of that round, from 0"`
	From       string `json:"from" maxLength:"200" doc:"The host that does it"`
	To         string `json:"to" maxLength:"200"`
}

// mostOfPart bounds its numbers, as its documentation has it.
const mostOfPart = 1_000_000

// Check says what cannot be right in a part, which comes over the network.
func (p *Part) Check() error {
	text := func(s string, most int) bool {
		return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	}
	id, err := uuid.Parse(p.Experiment)
	switch {
	case err != nil || id.String() != p.Experiment:
		return fmt.Errorf("an experiment's identifier is a UUID, not %.50q", p.Experiment)
	case min(p.Round, p.Flow) < 0 || max(p.Round, p.Flow) > mostOfPart:
		return fmt.Errorf("round %d, flow %d: an experiment has no such part", p.Round, p.Flow)
	case !text(p.Name, 100) || !text(p.From, 200) || !text(p.To, 200):
		return errors.New("a part of an experiment with names that cannot be")
	}
	return nil
}

// Key names the part among all that a host keeps.
func (p *Part) Key() string { return fmt.Sprintf("%s.%d.%d", p.Experiment, p.Round, p.Flow) }

// Result is what came of a job whose order says that it is to be kept, as its host has it on its disk.
type Result struct {
	Schema string    `json:"schema"` // Schema
	Part   Part      `json:"part"`
	Kind   Kind      `json:"kind"`
	Ended  time.Time `json:"ended"` // by that host's clock
	Status Status    `json:"status"`
}

// Check says what cannot be right in a result, which comes over the network or from a disk.
func (r *Result) Check() error {
	if r.Schema != Schema {
		return fmt.Errorf("a result of schema %q, this end knows %q", r.Schema, Schema)
	}
	if err := r.Part.Check(); err != nil {
		return err
	}
	return r.Status.Check()
}

// Bytes is how much a job moved from its host to the other one.
func (r *Result) Bytes() int64 {
	switch {
	case r.Status.Finding != nil:
		return r.Status.Finding.Bytes
	case r.Status.Report != nil:
		return r.Status.Report.Bytes
	case r.Status.Outcome != nil && len(r.Status.Outcome.Arrived) > 0:
		return r.Status.Outcome.Arrived[len(r.Status.Outcome.Arrived)-1].Bytes
	}
	return 0
}
