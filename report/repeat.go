package report

import (
	"fmt"
	"io"
	"strings"
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

// NewRun is what a transfer came to.
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
	for _, d := range directions(r) {
		all = append(all, r.Figures(d))
	}
	return all
}

// Repeat is what several runs of the same transfer come to.
type Repeat struct {
	Runs    int     `json:"runs"`
	UntilCI float64 `json:"until_ci,omitempty"` // share of goodput's typical value that its interval was to lie within
	Settled *bool   `json:"settled,omitempty"`  // whether it does
	Summary
}

// Summary is the middle of several runs. CPU time is in seconds for each 10^9
// bytes received, of this process and of all the host's work; what an end does
// not tell is absent.
type Summary struct {
	Goodput       Middle  `json:"goodput_bps"`
	ClientProcess *Middle `json:"client_process_s_per_gb,omitempty"`
	ClientHost    *Middle `json:"client_host_s_per_gb,omitempty"`
	ServerProcess *Middle `json:"server_process_s_per_gb,omitempty"`
	ServerHost    *Middle `json:"server_host_s_per_gb,omitempty"`
}

// Middle is the median of several runs, and the 95 % interval of their typical
// value (see stat.Typical); one run has none.
type Middle struct {
	Median   float64        `json:"median"`
	Interval *stat.Interval `json:"interval_95,omitempty"`
}

// Summarise gives the middle of runs, of which there is at least one.
func Summarise(runs []Run) Summary {
	s := Summary{Goodput: *middle(Goodputs(runs))}
	for _, m := range measures {
		*m.middle(&s) = middle(m.values(runs))
	}
	return s
}

func middle(x []float64) *Middle {
	if len(x) == 0 {
		return nil
	}
	m := &Middle{Median: stat.Median(x)}
	if len(x) > 1 {
		interval := stat.Typical(x)
		m.Interval = &interval
	}
	return m
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

// measure is one of the measures of processor time.
type measure struct {
	end, of string // as documents name them: "client", "process"
	name    string
	middle  func(*Summary) **Middle
	get     func(*Run) *float64
}

var measures = []measure{
	{"client", "process", "this end's process", func(s *Summary) **Middle { return &s.ClientProcess },
		func(r *Run) *float64 { return perGB(r.ClientCPU, false) }},
	{"client", "host", "this end's whole host", func(s *Summary) **Middle { return &s.ClientHost },
		func(r *Run) *float64 { return perGB(r.ClientCPU, true) }},
	{"server", "process", "the far end's process", func(s *Summary) **Middle { return &s.ServerProcess },
		func(r *Run) *float64 { return perGB(r.ServerCPU, false) }},
	{"server", "host", "the far end's whole host", func(s *Summary) **Middle { return &s.ServerHost },
		func(r *Run) *float64 { return perGB(r.ServerCPU, true) }},
}

func perGB(c *bulk.Cost, host bool) *float64 {
	switch {
	case c == nil:
		return nil
	case host:
		return c.HostPerGB
	}
	return c.ProcessPerGB
}

// values are those of the runs that count; none if a run does not tell.
func (m *measure) values(runs []Run) []float64 {
	var x []float64
	for i := range runs {
		if runs[i].WarmUp {
			continue
		}
		v := m.get(&runs[i])
		if v == nil {
			return nil
		}
		x = append(x, *v)
	}
	return x
}

// Line writes one run, as it ends.
func (r *Run) Line(w io.Writer, name string) {
	columns := []string{fmt.Sprintf("%-9s  %11s", name, r.Goodput)}
	for _, m := range measures {
		if v := m.get(r); v != nil && m.of == "process" {
			columns = append(columns, fmt.Sprintf("%.3g CPU-s/GB by %s", *v, m.name))
		}
	}
	fmt.Fprintln(w, strings.Join(columns, "  "))
}

// Repeated writes what several runs came to.
func Repeated(w io.Writer, r *Repeat) {
	t := &table{w: w}
	rate := func(v float64) string { return unit.Rate(v).String() }
	t.row("goodput", fmt.Sprintf("%s (%s)", r.Goodput.write(rate), unit.Count(r.Runs, "run")))
	if r.Settled != nil && !*r.Settled {
		t.text(fmt.Sprintf("not settled: the interval was to lie within %s", unit.Percent(r.UntilCI)))
	}
	label := "CPU"
	for _, m := range measures {
		if v := *m.middle(&r.Summary); v != nil {
			t.row(label, fmt.Sprintf("%s: %s", m.name, v.write(cpuSeconds)))
			label = ""
		}
	}
}

func cpuSeconds(v float64) string { return fmt.Sprintf("%.3g CPU-s/GB", v) }

func (m *Middle) write(value func(float64) string) string {
	if m.Interval == nil {
		return value(m.Median)
	}
	return fmt.Sprintf("median %s, 95 %% interval %s to %s", value(m.Median), value(m.Interval.Low), value(m.Interval.High))
}
