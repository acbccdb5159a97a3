package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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
// the command line: a page would be a way to ask this host which files it has and,
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

// Invalid is an error of whoever made a request.
type Invalid struct {
	Field string // as in JSON, such as "host"; "": all of it
	Err   error
}

func (e *Invalid) Error() string {
	if e.Field == "" {
		return e.Err.Error()
	}
	return e.Field + ": " + e.Err.Error()
}

func (e *Invalid) Unwrap() error { return e.Err }

func invalid(field, format string, args ...any) error {
	return &Invalid{field, fmt.Errorf(format, args...)}
}

// mostJSON bounds a request, in bytes.
const mostJSON = 64 << 10

// Parse reads a request as JSON, and checks it. Errors are [Invalid].
func Parse(text []byte) (Request, error) {
	var r Request
	if len(text) > mostJSON {
		return r, invalid("", "a request of %d bytes: use up to %d", len(text), mostJSON)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&r)
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Request{}, invalid(kind.Field, "it is a %s: use a %s", kind.Value, kind.Type.Kind())
	}
	if err != nil {
		return Request{}, invalid("", "a request as one JSON object is needed: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Request{}, invalid("", "there is more behind the request: send one JSON object")
	}
	return r, r.Check()
}

// changes says whether a task may change this host's tunables. In the lab only those of
// its hosts are changed. Of a sweep, its factors decide; none is let through.
func (r *Request) changes() bool {
	return r.Host != "" && (r.Verb == Tune && !r.DryRun || r.Verb == Sweep)
}

// flags of the command line that a request stands for. Each is one argument, so that no
// value can become a flag of its own.
func (r Request) flags() []string {
	var all []string
	number := func(flag, unit string, n int) {
		if n != 0 {
			all = append(all, fmt.Sprintf("--%s=%d%s", flag, n, unit))
		}
	}
	word := func(flag, text string) {
		if text != "" {
			all = append(all, "--"+flag+"="+text)
		}
	}
	set := func(flag string, is bool) {
		if is {
			all = append(all, "--"+flag)
		}
	}
	word("lab", r.Scenario)
	number("parallel", "", r.Streams)
	if r.Verb == Test {
		number("time", "", r.Seconds)
		set("reverse", r.Direction == bulk.Reverse)
		set("bidir", r.Direction == bulk.Both)
	} else {
		number("budget", "s", r.Seconds)
		word("direction", string(r.Direction))
	}
	word("apply", r.Apply)
	set("dry-run", r.DryRun)
	set("quick", r.Quick)
	set("afresh", r.Afresh)
	for _, tag := range r.Tags {
		word("tag", tag)
	}
	return all
}

// Args is the command line of a request that Check has found good, without the
// program's name. The token is not in it.
func (r Request) Args() []string {
	args := append([]string{string(r.Verb)}, r.flags()...)
	return slices.DeleteFunc(append(args, r.Experiment, r.Host), func(arg string) bool { return strings.TrimSpace(arg) == "" })
}
