// Package plan turns a path, two hosts and a verdict into ordered changes to
// tunables. It only ever raises, within the hosts' memory.
package plan

import "github.com/fullbore/fullbore/unit"

// Plan is an ordered list of changes for both ends of one direction of a path.
type Plan struct {
	Steps []Step   `json:"steps"` // tried one after the other; each is one idea
	Notes []string `json:"notes"` // what was left alone, and why
}

// Step is a set of changes that only make sense together.
type Step struct {
	Idea      string    `json:"idea"` // "let the receiver's window grow to twice the path's BDP"
	Changes   []Change  `json:"changes"`
	Predicted unit.Rate `json:"predicted_bps"` // goodput if the idea is right; 0: no prediction
	Risk      string    `json:"risk,omitempty"`
}

// Change sets one tunable on one host.
type Change struct {
	Host    string `json:"host"`    // host name, as in host.Facts
	Tunable string `json:"tunable"` // catalogue name
	From    string `json:"from"`
	To      string `json:"to"`
	Why     string `json:"why"`
	Source  string `json:"source"` // title and address
}
