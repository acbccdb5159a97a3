package experiment

import (
	"time"

	"github.com/fullbore/fullbore/nfs"
)

// Requests is one of several runs of requests to a file.
type Requests struct {
	Began   time.Time          `json:"began"`
	IOPS    float64            `json:"iops"`
	Goodput float64            `json:"goodput_bps"`
	Latency nfs.LatencySummary `json:"latency_ms"`
	CPU     float64            `json:"cpu_us_per_request,omitempty"`
}

// RequestsDocument is what 'nfs test --json' prints (docs/json.md): of several runs the last
// one's, with all of them beside it.
type RequestsDocument struct {
	*nfs.Document
	Runs   []Requests      `json:"runs,omitempty"` // if there were several
	Repeat *RequestsRepeat `json:"repeat,omitempty"`
	Error  string          `json:"error,omitempty"` // why there are not more
}

// NewRequests is the summary of one run.
func NewRequests(began time.Time, d *nfs.Document) Requests {
	return Requests{Began: began, IOPS: d.IOPS, Goodput: d.Goodput, Latency: d.Latency, CPU: d.CPU}
}

// EnoughRequests says whether the runs so far, at least one, are enough: that goes by their
// requests a second.
func (p Repetition) EnoughRequests(runs []Requests) bool { return p.enough(Rates(runs)) }

// RequestsRepeat is the summary of several runs of the same requests.
type RequestsRepeat struct {
	Repeated
	IOPS    Middle  `json:"iops"`
	Goodput *Middle `json:"goodput_bps,omitempty"` // absent of requests that move no data
	Latency struct {
		P50 Middle `json:"p50"`
		P99 Middle `json:"p99"`
	} `json:"latency_ms"` // of each run's
}

// RepeatRequests sums up several runs; nil if there are none.
func (p Repetition) RepeatRequests(runs []Requests) *RequestsRepeat {
	if len(runs) == 0 {
		return nil
	}
	r := &RequestsRepeat{Repeated: p.repeated(Rates(runs)), IOPS: *middle(Rates(runs))}
	var goodputs, halves, most []float64
	for _, run := range runs {
		goodputs, halves, most = append(goodputs, run.Goodput), append(halves, run.Latency.P50), append(most, run.Latency.P99)
	}
	r.Latency.P50, r.Latency.P99 = *middle(halves), *middle(most)
	if runs[0].Goodput > 0 {
		r.Goodput = middle(goodputs)
	}
	return r
}

// Rates are the requests a second of each run.
func Rates(runs []Requests) []float64 {
	var all []float64
	for _, r := range runs {
		all = append(all, r.IOPS)
	}
	return all
}
