package task

import (
	"github.com/fullbore/fullbore/bulk"
)

// Verb is what a task does: a verb of the command line.
type Verb string

// The verbs that a page offers.
const (
	Test     Verb = "test"
	Diagnose Verb = "diagnose"
	Tune     Verb = "tune"
	Sweep    Verb = "sweep"
)

// Request is what somebody asks for. Values that are left out are those of the command line.
//
// Scenarios and experiments are those that are built in, by name. Files are left to
// the command line: a page would be a way to ask this host what its files are and,
// by what errors quote, what is in them.
type Request struct {
	Verb       Verb           `json:"verb" enum:"test,diagnose,tune,sweep"`
	Host       string         `json:"host,omitempty"`       // far end: host, host:port, or of a test iperf3://host, ndt7://host, ndt7s://host
	Scenario   string         `json:"scenario,omitempty"`   // of the lab instead of a far end; of a sweep, instead of its own
	Experiment string         `json:"experiment,omitempty"` // of a sweep
	Direction  bulk.Direction `json:"direction,omitempty"`  // forward, reverse, of a test also both; not of a sweep
	Streams    int            `json:"streams,omitempty"`    // TCP connections of each transfer; not of a sweep
	Seconds    int            `json:"seconds,omitempty"`    // of a test: measured time; of diagnose and tune: test traffic to spend at most
	Apply      string         `json:"apply,omitempty"`      // of tune: none, live, persist
	DryRun     bool           `json:"dry_run,omitempty"`    // of tune: change nothing
	Quick      bool           `json:"quick,omitempty"`      // of diagnose: one transfer only
	Afresh     bool           `json:"afresh,omitempty"`     // of a sweep: begin anew where an earlier one was stopped, instead of going on
	Tags       []string       `json:"tags,omitempty"`       // to find the run by
	Token      string         `json:"token,omitempty"`      // of the far end; Start takes it out, and nothing shows it
}

// Parse reads a request as JSON. Errors are [Invalid].
func Parse(text []byte) (Request, error) { panic("follows") }

// Check says what is wrong, where, and what to do. Errors are [Invalid].
func (r Request) Check() error { panic("follows") }

// Args is the command line, without the program's name. The token is not in it.
func (r Request) Args() []string { panic("follows") }

// Invalid is an error of whoever made a request.
type Invalid struct {
	Field string // as in JSON, such as "host"
	Err   error
}

func (e *Invalid) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *Invalid) Unwrap() error { return e.Err }
