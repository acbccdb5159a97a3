package experiment

import (
	"github.com/fullbore/fullbore/stat"
)

// Summary is the middle of several runs. CPU time is in seconds for each 10^9
// bytes received, of this process and of all the host's work; what an end does
// not report is absent.
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

// Summarise gives the median and interval of at least one run.
func Summarise(runs []Run) Summary {
	s := Summary{Goodput: *middle(Goodputs(runs))}
	for _, m := range Measures {
		*m.place(&s) = middle(m.values(runs))
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

// Measure is one of the measures of processor time, in seconds for each 10^9 bytes
// received.
type Measure struct {
	End  string `json:"end"` // "client", "server"
	Of   string `json:"of"`  // "process", "host": all of its work
	Name string `json:"-"`   // for people
}

// Measures are all there are, in the order in which they are reported.
var Measures = []Measure{
	{"client", "process", "this end's process"},
	{"client", "host", "this end's whole host"},
	{"server", "process", "the far end's process"},
	{"server", "host", "the far end's whole host"},
}

// Value is what a run took; nil: that end does not report it.
func (m Measure) Value(r *Run) *float64 {
	cost := r.ClientCPU
	if m.End == "server" {
		cost = r.ServerCPU
	}
	switch {
	case cost == nil:
		return nil
	case m.Of == "host":
		return cost.HostPerGB
	}
	return cost.ProcessPerGB
}

// Middle is what several runs took; nil: that end does not report it.
func (m Measure) Middle(s *Summary) *Middle { return *m.place(s) }

func (m Measure) place(s *Summary) **Middle {
	switch {
	case m.End == "server" && m.Of == "host":
		return &s.ServerHost
	case m.End == "server":
		return &s.ServerProcess
	case m.Of == "host":
		return &s.ClientHost
	}
	return &s.ClientProcess
}

// values are those of the runs that count; none if a run lacks it.
func (m Measure) values(runs []Run) []float64 {
	var x []float64
	for i := range runs {
		if runs[i].WarmUp {
			continue
		}
		v := m.Value(&runs[i])
		if v == nil {
			return nil
		}
		x = append(x, *v)
	}
	return x
}
