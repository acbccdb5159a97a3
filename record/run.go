// Package record keeps runs: what was measured between which hosts, by which
// command line, with all samples of both ends, and what came of it. A run is
// written as it goes, so that one which was killed is there too.
package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// Schema is the version of a run as JSON: the form in which runs are exported,
// imported, and embedded in a report.
const Schema = "fullbore/run/1"

// Kind is the verb that made a run.
type Kind string

// The verbs that keep their runs.
const (
	Test     Kind = "test"
	Diagnose Kind = "diagnose"
	Tune     Kind = "tune"
	Compare  Kind = "compare"
	Sweep    Kind = "sweep"
	Fleet    Kind = "fleet"
	Watch    Kind = "watch"

	NFSTest     Kind = "nfs-test"
	NFSDiagnose Kind = "nfs-diagnose"
	NFSTune     Kind = "nfs-tune"
)

// Kinds are all of them; what the last one sees has no trend.
var Kinds = []Kind{Test, Diagnose, Tune, Compare, Sweep, NFSTest, NFSDiagnose, NFSTune, Fleet, Watch}

// Verb is the kind as it stands on the command line.
func (k Kind) Verb() string { return strings.Replace(string(k), "-", " ", 1) }

// CountsRequests says that requests a second are what such a run is about, more than their
// payload.
func (k Kind) CountsRequests() bool { return k == NFSTest || k == NFSDiagnose || k == NFSTune }

// State is how far a run came.
type State string

// A run is running, or ended in one of three ways.
const (
	Running     State = "running"
	Done        State = "done"        // with a result
	Failed      State = "failed"      // with an error; what was measured until then is kept
	Interrupted State = "interrupted" // by a signal, or its process was killed
)

// Run is everything kept about one measurement.
type Run struct {
	Header
	Document  json.RawMessage `json:"document,omitempty"`  // what --json would have printed; absent of a run that was killed
	Events    []Event         `json:"events,omitempty"`    // what was done, in its order
	Transfers []Transfer      `json:"transfers,omitempty"` // in their order, with all samples
	Hosts     []Host          `json:"hosts,omitempty"`     // facts and tunables, of either end before and after
	Changes   []Change        `json:"changes,omitempty"`   // that it kept on the hosts, and those that it found since the run before
	Flows     []Flow          `json:"flows,omitempty"`     // of an experiment of many hosts that a hub ran, as their hosts say what came of each
	Shifts    []Shift         `json:"shifts,omitempty"`    // that were found after this run of an experiment
	Predicted *Prediction     `json:"predicted,omitempty"` // by a tuning in the path's twin; found when a run is reported, and not kept with it
}

// Prediction is what a tuning in the path's twin came to.
type Prediction struct {
	Run      string     `json:"id"` // of that tuning
	Started  time.Time  `json:"started"`
	Before   Expected   `json:"before"`
	After    Expected   `json:"after"`
	Gain     float64    `json:"gain"` // factor on goodput
	GainCI95 [2]float64 `json:"gain_ci95"`
	Verdict  string     `json:"verdict"` // cause
	Kept     int        `json:"kept"`    // changes that helped there
}

// Expected is a goodput with the 95 % interval of its runs; without bounds if there was one.
type Expected struct {
	Goodput unit.Rate `json:"goodput_bps"`
	Low     unit.Rate `json:"low_bps,omitempty"`
	High    unit.Rate `json:"high_bps,omitempty"`
}

// Header is what a list of runs shows.
type Header struct {
	Schema   string    `json:"schema"` // Schema
	ID       string    `json:"id"`     // UUID version 7: sorted by it, runs are sorted by time
	Kind     Kind      `json:"kind"`
	State    State     `json:"state"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	Command  []string  `json:"command"`               // the command line, without the program's name and without secrets
	Version  string    `json:"version"`               // of fullbore at this end
	Far      string    `json:"far_version,omitempty"` // of fullbore at the far end, if it is that
	Scenario string    `json:"scenario,omitempty"`    // of the lab, if both hosts are in one
	From     string    `json:"from"`                  // name of the host that sends, or its address where it has none; with both directions, of this one
	To       string    `json:"to"`                    // of the one that receives
	Goodput  unit.Rate `json:"goodput_bps"`           // at the end of the run; 0 if nothing was measured
	IOPS     float64   `json:"iops,omitempty"`        // requests a second, of runs that make any
	Verdict  string    `json:"verdict,omitempty"`     // cause, of a diagnosis
	Tags     []string  `json:"tags"`
	Error    string    `json:"error,omitempty"` // why it failed
}

// Bounds of tags.
const (
	mostTags   = 20
	longestTag = 100 // bytes
)

// CheckTags says what is wrong with the tags of a run, or nil.
func CheckTags(tags []string) error {
	if len(tags) > mostTags {
		return fmt.Errorf("%d tags: use %d at most", len(tags), mostTags)
	}
	for _, tag := range tags {
		if tag == "" || len(tag) > longestTag || strings.ContainsFunc(tag, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return fmt.Errorf("%q: use 1 to %d bytes of text", printable.Fit(printable.Line(tag), 40), longestTag)
		}
	}
	return nil
}

// Event is a step of a run, or what came of it.
type Event struct {
	At   time.Duration `json:"at_ns"` // since the run started
	Kind EventKind     `json:"kind"`
	Text string        `json:"text"`
}

// EventKind distinguishes what is begun from what came of it.
type EventKind string

// A phase is followed by its transfers and its results.
const (
	Phase  EventKind = "phase"  // such as "try: larger receive buffers"
	Result EventKind = "result" // such as "x 2.1 (2.0 to 2.2)"
)

// Transfer is one transfer of a run.
type Transfer struct {
	At     time.Duration `json:"at_ns"`           // when it began, since the run started
	Phase  string        `json:"phase,omitempty"` // that it belongs to
	Error  string        `json:"error,omitempty"` // why it did not come to its end
	Result *bulk.Result  `json:"result"`
}

// Host is what was known of one host at one time.
type Host struct {
	Side Side        `json:"side"`
	When When        `json:"when"`
	At   time.Time   `json:"at"`
	Is   *host.Facts `json:"facts"`
}

// Side is an end of the path, as the one that ran the command sees it.
type Side string

// The two ends, and others.
const (
	Near Side = "near" // where the command ran: bulk.Result's Client
	Far  Side = "far"  // bulk.Result's Server

	// Member is one of many hosts. What it is like is kept once for all runs, and with a run only what changed.
	Member Side = "member"
)

// When facts were collected.
type When string

// Before the first transfer of a run, and after its last.
const (
	Before When = "before"
	After  When = "after"
)
