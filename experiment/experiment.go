// Package experiment runs transfers several times, one setting again and again or
// several in turns, until enough is known, and summarises the runs.
package experiment

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Run is one of several runs of a transfer.
type Run struct {
	Began     time.Time      `json:"began"`
	Variant   string         `json:"variant,omitempty"` // of a comparison: "A" or "B"
	WarmUp    bool           `json:"warm_up,omitempty"` // it does not count
	Goodput   unit.Rate      `json:"goodput_bps"`       // both directions together
	ClientCPU *bulk.Cost     `json:"client_cpu,omitempty"`
	ServerCPU *bulk.Cost     `json:"server_cpu,omitempty"`
	Figures   []bulk.Figures `json:"figures"` // of each direction, without series
}

// NewRun is the summary of one transfer.
func NewRun(began time.Time, r *bulk.Result) Run {
	run := Run{Began: began, ClientCPU: r.Cost(&r.Client), ServerCPU: r.Cost(&r.Server)}
	for _, f := range Figures(r) {
		run.Goodput += f.Goodput
		for _, acks := range []**bulk.ACKs{&f.SenderACKs, &f.ReceiverACKs} {
			if *acks != nil {
				short := **acks
				short.Series = nil
				*acks = &short
			}
		}
		run.Figures = append(run.Figures, f)
	}
	return run
}

// Figures are those of each direction of a transfer.
func Figures(r *bulk.Result) []bulk.Figures {
	var all []bulk.Figures
	for _, d := range r.Spec.Directions() {
		all = append(all, r.Figures(d))
	}
	return all
}

// Goodputs are those of the runs that count, in bit/s.
func Goodputs(runs []Run) []float64 {
	var x []float64
	for _, r := range runs {
		if !r.WarmUp {
			x = append(x, float64(r.Goodput))
		}
	}
	return x
}

// Repetition says how often a transfer is run.
type Repetition struct {
	Times   int     // exactly, or
	UntilCI float64 // until goodput is known to within this share
}

// Several says that there can be more than one run.
func (p Repetition) Several() bool { return p.Times > 1 || p.UntilCI > 0 }

// Enough says whether the runs so far, at least one, are enough.
func (p Repetition) Enough(runs []Run) bool { return p.enough(Goodputs(runs)) }

// enough goes by what each run came to.
func (p Repetition) enough(came []float64) bool {
	if p.UntilCI > 0 {
		return len(came) >= stat.MostRuns || stat.Settled(came, p.UntilCI)
	}
	return len(came) >= p.Times || !p.Several()
}

// Repeat is the summary of several runs of the same transfer.
type Repeat struct {
	Repeated
	Summary
}

// Repeated is how often something was run, and whether that was enough.
type Repeated struct {
	Runs    int     `json:"runs"`
	UntilCI float64 `json:"until_ci,omitempty"` // share of the typical result that its interval was to lie within
	Settled *bool   `json:"settled,omitempty"`  // whether it does
}

// repeated says it of what each run came to.
func (p Repetition) repeated(came []float64) Repeated {
	r := Repeated{Runs: len(came), UntilCI: p.UntilCI}
	if p.UntilCI > 0 {
		settled := stat.Settled(came, p.UntilCI)
		r.Settled = &settled
	}
	return r
}

// Repeat sums up several runs; nil if there are none.
func (p Repetition) Repeat(runs []Run) *Repeat {
	if len(runs) == 0 {
		return nil
	}
	return &Repeat{p.repeated(Goodputs(runs)), Summarise(runs)}
}
