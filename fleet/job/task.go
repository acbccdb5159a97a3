package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// Task is what a job is about that is no transfer. Which of its parts are there follows from the kind.
type Task struct {
	Budget     time.Duration `json:"budget_ns,omitempty" doc:"Of a tuning: test traffic, in time"`
	Apply      string        `json:"apply,omitempty" enum:"none,live,persist" doc:"Of a tuning: what becomes of what helped"`
	Streams    int           `json:"streams,omitempty" minimum:"1" maximum:"256" doc:"Of a tuning: TCP connections"`
	Experiment string        `json:"experiment,omitempty" maxLength:"16384" doc:"Of a sweep: the text of its file"`
	NFS        *NFS          `json:"nfs,omitempty"`
}

// NFS is what to ask a server of NFS.
type NFS struct {
	File        string        `json:"file" maxLength:"8192" doc:"nfs://HOST[:PORT]/EXPORT/FILE"`
	Op          string        `json:"op" enum:"read,write,getattr,null"`
	Writes      float64       `json:"writes,omitempty" minimum:"0" maximum:"1" doc:"Share of a read test's requests that write"`
	Size        int           `json:"size" minimum:"1" maximum:"16777216" doc:"Bytes of a request"`
	Random      bool          `json:"random,omitempty"`
	Depth       int           `json:"depth" minimum:"1" maximum:"4096" doc:"Requests in flight, over all connections"`
	Connections int           `json:"connections" minimum:"1" maximum:"64"`
	Duration    time.Duration `json:"duration_ns"`
	Omit        time.Duration `json:"omit_ns"`
}

// Takes is how long a task of some kind goes on at most once it has started: beside its traffic it sets up, and reads
// settings back.
func (t *Task) Takes(kind Kind) time.Duration {
	switch {
	case t == nil:
		return 0
	case kind == Tuning:
		return 3*t.Budget + time.Minute
	case kind == Sweep:
		return Longest - 2*time.Minute // what a leave for it also takes to begin and to end
	case t.NFS != nil:
		return t.NFS.Omit + t.NFS.Duration
	}
	return 0
}

// check says what is wrong with the task of an order of some kind. What is in an experiment, and in the name of a file, says
// who reads it.
func (t *Task) check(kind Kind) error {
	switch {
	case kind == Diagnosis:
		return nil
	case t == nil:
		return fmt.Errorf("an order of kind %q that does not say what to do", kind)
	case kind == Tuning && (t.Budget <= 0 || t.Budget > Longest/4):
		return fmt.Errorf("a tuning with a budget of %v: use up to %v", t.Budget, Longest/4)
	case kind == Sweep && t.Experiment == "":
		return errors.New("a sweep without an experiment")
	case kind == Requests:
		n := t.NFS
		if n == nil || n.File == "" || n.Size < 1 || n.Connections < 1 || n.Depth < n.Connections {
			return errors.New("requests to NFS of which it is not said what they are")
		}
		if n.Duration <= 0 || n.Omit < 0 || n.Duration+n.Omit > Longest {
			return fmt.Errorf("requests for %v, the first %v not measured: use up to %v together", n.Duration, n.Omit, Longest)
		}
	}
	return nil
}

// Report is what came of a task.
type Report struct {
	Says     []string        `json:"says"` // lines for people
	Goodput  float64         `json:"goodput_bps"`
	Bytes    int64           `json:"bytes"`              // that it moved
	Document json.RawMessage `json:"document,omitempty"` // what the verb prints with --json; absent: it is larger than [MostOfDocument]
}

// Bounds of a report.
const (
	MostLines      = 100
	MostOfLine     = 4000
	MostOfDocument = 512 << 10 // bytes: a message of a hub has 1 MiB
)

// NewReport is one with a verb's document.
func NewReport(goodput float64, bytes int64, document any, says ...string) (*Report, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	r := &Report{Says: says[:min(len(says), MostLines)], Goodput: goodput, Bytes: bytes, Document: text}
	if len(text) > MostOfDocument {
		r.Document = nil
	}
	for i, line := range r.Says {
		if len(line) > MostOfLine {
			r.Says[i] = line[:MostOfLine-4] + "..."
		}
	}
	return r, nil
}

// Check says what cannot be right in a report, which comes over the network.
func (r *Report) Check() error {
	if len(r.Says) > MostLines || len(r.Document) > MostOfDocument || r.Bytes < 0 || !(r.Goodput >= 0) || math.IsInf(r.Goodput, 0) {
		return errors.New("a report that cannot be")
	}
	for _, line := range r.Says {
		if len(line) > MostOfLine {
			return errors.New("a report with a line that does not end")
		}
	}
	return nil
}
